/** Where a run ended. Names and values come from the guest and are capped here, each and together. */
import { oneLine } from '../../analysis/quote-guest-text.ts';
import type { ProgramState, Variables } from '../../analysis/run-profile-schema.ts';
import { STOPPED_AT_MAX } from '../../schema/report-limits.ts';
import type { StoppedAt } from '../../schema.ts';

const cap = (text: string) => oneLine(text, STOPPED_AT_MAX.text);

/** The first variables, with texts of limited length, each and together. */
export function limitVariables(variables: Variables): Variables {
  const limited: Record<string, string> = {};
  let room: number = STOPPED_AT_MAX.total;
  let count = 0;
  for (const [name, value] of Object.entries(variables)) {
    const [shownName, shown] = [cap(name), cap(value)];
    room -= shownName.length + shown.length;
    if (room < 0 || ++count > STOPPED_AT_MAX.names) break;
    limited[shownName] = shown;
  }
  return limited;
}

/** The place of a state that was read from the memory of the guest. */
export function stoppedAtState(state: ProgramState | undefined): StoppedAt | undefined {
  const frame = state?.stack[0];
  if (state === undefined || frame === undefined) return undefined;
  const { file, line, function: name } = frame;
  return {
    file: cap(file),
    line,
    function: cap(name),
    variables: withoutAddresses(state.variables[0] ?? {}),
  };
}

/** Addresses of objects are for the analysis only. */
export function withoutAddresses(variables: Variables): Record<string, string> {
  const texts = Object.entries(variables);
  return Object.fromEntries(texts.map(([name, text]) => [name, text.replace(/ #\d+>$/, '>')]));
}

/** The place that a boot script reports for an uncaught exception. Undefined if it does not match the schema. */
export function parseStoppedAt(value: unknown): StoppedAt | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { file, line, function: name, variables } = value as Record<string, unknown>;
  if (typeof file !== 'string' || typeof name !== 'string' || !isLine(line)) return undefined;
  const texts = Object.entries(Object(variables) as object).slice(0, STOPPED_AT_MAX.names);
  const shown = texts.filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  const variablesShown = limitVariables(Object.fromEntries(shown));
  return { file: cap(file), line, function: cap(name), variables: variablesShown };
}

const isLine = (line: unknown): line is number => Number.isSafeInteger(line) && (line as number) >= 0;
