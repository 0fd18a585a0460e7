/**
 * How to ask a session for its variables: a program in its own language, whose result is the answer. It runs in a copy
 * of the session that is thrown away, so what it touches does not matter.
 */
import { z } from 'zod';
import type { RuntimeName } from '../schema.ts';

export const variable = z.object({
  name: z.string().max(200),
  type: z.string().max(200),
  /** A short form of the value. */
  repr: z.string().max(400),
});
export type Variable = z.infer<typeof variable>;

/** Names of one session that are looked at, at most. */
export const MAX_VARIABLES = 200;

/** Up to the length of a variable's name; a longer one is no match, as the word does not end there. */
const IDENTIFIER = '[\\p{ID_Start}$_][\\p{ID_Continue}$]{0,199}(?![\\p{ID_Continue}$])';
const DECLARATION = new RegExp(
  `^\\s*(?:let|const|class|(?:async\\s+)?function\\s*\\*?)\\s+(${IDENTIFIER})`,
  'gmu',
);

/**
 * Names that a program may have declared at its top level. JavaScript cannot list its own, so they are remembered; one
 * that turns out not to exist does no harm.
 */
export function declaredNames(runtime: RuntimeName, code: string): string[] {
  if (runtime === 'python') return [];
  return [...code.matchAll(DECLARATION)].map(([, name]) => name!).slice(0, MAX_VARIABLES);
}

export function variablesProgram(runtime: RuntimeName, names: readonly string[]): string {
  if (runtime === 'python') return `__import__('_sandbox').variables(${MAX_VARIABLES})`;
  const pairs = names.slice(0, MAX_VARIABLES).map((name) => `[${JSON.stringify(name)}, () => ${name}]`);
  return `globalThis[Symbol.for('sandbox.variables')]([${pairs.join(', ')}], ${MAX_VARIABLES})`;
}
