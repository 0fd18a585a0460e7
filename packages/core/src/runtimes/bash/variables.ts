/** The variables and functions of a shell, as `declare` prints them. */
import type { Guest } from '../../engine/guest.ts';
import type { Variable } from '../../results/variable.ts';
import { MAX_VARIABLES } from '../language.ts';
import { copyToGuest } from '../memory/copy-to-guest.ts';
import { callForking } from '../programs/suspendable-program.ts';
import { OWN_VARIABLE } from './own-variables.ts';

/** Prints variables and functions as declarations. */
const LIST = 'builtin declare -p; builtin declare -F';
/** `declare -ax NAME=VALUE`, or `declare -f NAME` for a function. */
const DECLARATION = /^declare -(\S+) ([A-Za-z_][^\s=]*)(?:=(.*))?$/;
const MAX_LIST_BYTES = 2 ** 20;
const MAX_TEXT = 200;

/** By attribute of `declare`. */
const TYPES: Readonly<Record<string, string>> = { f: 'function', A: 'map', a: 'array', i: 'integer' };

function variableOf(line: string): Variable | undefined {
  const [, flags, name, value = ''] = DECLARATION.exec(line) ?? [];
  if (flags === undefined || name === undefined || OWN_VARIABLE.test(name)) return undefined;
  const type = [...flags].map((flag) => TYPES[flag]).find((found) => found !== undefined) ?? 'string';
  return { name: name.slice(0, MAX_TEXT), type, repr: value.slice(0, MAX_TEXT) };
}

/** Lists the variables of a shell that is not used afterwards. */
export function variablesOf(guest: Guest): Variable[] {
  const program = copyToGuest(guest, new TextEncoder().encode(LIST), 'malloc');
  const printed = callForking(guest, 'bash_output', [program]) >>> 0;
  const bytes = guest.view.all.subarray(printed, printed + MAX_LIST_BYTES);
  const end = bytes.indexOf(0);
  const text = new TextDecoder().decode(end < 0 ? bytes : bytes.subarray(0, end));
  return text
    .split('\n')
    .flatMap((line) => variableOf(line) ?? [])
    .slice(0, MAX_VARIABLES);
}
