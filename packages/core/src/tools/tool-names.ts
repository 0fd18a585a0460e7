/** Names of tools as identifiers that are valid in every language, and suggestions for names that do not exist. */
import { similarNames } from '../schema/similar-names.ts';

/** Reserved words of the languages, and names with a special meaning on every object. */
const RESERVED = new Set(
  (
    'False None True and as assert async await break class continue def del elif else except finally for from global if ' +
    'import in is lambda nonlocal not or pass raise return try while with yield ' +
    'case catch const debugger default delete do enum export extends false function implements instanceof interface let ' +
    'new null package private protected public static super switch this throw true typeof var void arguments eval ' +
    'constructor prototype then'
  ).split(' '),
);
/** Functions of the object `tools` itself. */
const TOP_LEVEL_RESERVED = new Set(['call', 'search_tools', 'describe_tool']);

/** An identifier for a name, different from those in `taken`. */
export function identifierFor(name: string, taken: ReadonlySet<string>, isTopLevel: boolean): string {
  // Names with two leading underscores have special meanings.
  let identifier = name.replace(/[^A-Za-z0-9_]/g, '_').replace(/^__+/, '_');
  if (/^[0-9]/.test(identifier)) identifier = `_${identifier}`;
  if (RESERVED.has(identifier) || (isTopLevel && TOP_LEVEL_RESERVED.has(identifier))) identifier += '_';
  let unique = identifier;
  for (let i = 2; taken.has(unique); i++) unique = `${identifier}_${i}`;
  return unique;
}

/** Whether a program might call tools, judging by its text. */
export const mentionsTools = (code: string) => /tool/i.test(code);

/** The names that are most similar to one that does not exist; also compares the parts after the namespace. */
export function suggestTools(wanted: string, names: readonly string[]): string[] {
  const whole = similarNames(wanted, names, 3);
  if (whole.length > 0) return whole;
  const lastPart = (name: string) => name.slice(name.lastIndexOf('.') + 1);
  const similar = new Set(similarNames(lastPart(wanted), new Set(names.map(lastPart)), 3));
  return names.filter((name) => similar.has(lastPart(name))).slice(0, 3);
}
