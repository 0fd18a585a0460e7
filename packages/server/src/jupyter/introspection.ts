/** Completing and describing the name at the cursor, in a copy of the interpreter: nothing in the session changes. */

import { LANGUAGES, type Session } from '@llm-wasm-sandbox/core/internal';
import * as z from 'zod';

/** Characters of a chain of names and dots. */
const MAX_CHAIN = 500;
const IDENTIFIER_CHAR = /[\p{L}\p{N}_$]/u;

const isPart = (char: string | undefined) => char !== undefined && IDENTIFIER_CHAR.test(char);

/** The chain of names and dots that ends at the cursor. Positions count characters, not UTF-16 units. */
function chainBefore(characters: readonly string[], cursor: number): string {
  const end = Math.min(cursor, characters.length);
  let start = end;
  while (
    start > 0 &&
    end - start < MAX_CHAIN &&
    (isPart(characters[start - 1]) || characters[start - 1] === '.')
  )
    start--;
  return characters.slice(start, end).join('');
}

/** Whether a chain is names with dots between them, so that it can be part of a program. */
const isChain = (text: string) =>
  text.split('.').every((part) => part !== '' && !/^\p{N}/u.test(part) && [...part].every(isPart));

const names = z.array(z.string().max(500)).max(1000);

export async function completions(session: Session, code: string, cursor_pos: number) {
  const characters = [...code];
  const chain = chainBefore(characters, cursor_pos);
  const object = chain.slice(0, Math.max(0, chain.lastIndexOf('.')));
  const prefix = chain.slice(chain.lastIndexOf('.') + 1);
  const cursor_end = Math.min(cursor_pos, characters.length);
  const matches =
    (object === '' && chain.startsWith('.')) || (object !== '' && !isChain(object))
      ? []
      : await matching(session, object, prefix);
  return { matches, cursor_start: cursor_end - [...prefix].length, cursor_end };
}

async function matching(session: Session, object: string, prefix: string): Promise<string[]> {
  const { completionProgram, helpers } = LANGUAGES[session.runtime];
  if (completionProgram !== undefined) {
    const found = names.safeParse(
      await session.inspect((declared) => completionProgram(object, prefix, declared)),
    );
    return found.success ? found.data : [];
  }
  if (object !== '') return [];
  const known = [...(await session.variables()).map((one) => one.name), ...helpers];
  return known.filter((one) => one.startsWith(prefix)).sort();
}

/** What is known of the name at the cursor; undefined if there is none. */
export async function description(
  session: Session,
  code: string,
  cursor_pos: number,
): Promise<string | undefined> {
  const characters = [...code];
  let end = Math.min(cursor_pos, characters.length);
  while (isPart(characters[end])) end++;
  // In a call, the cursor is behind the parenthesis.
  if (characters[end - 1] === '(') end--;
  const chain = chainBefore(characters, end);
  if (!isChain(chain)) return undefined;
  const { descriptionProgram } = LANGUAGES[session.runtime];
  if (descriptionProgram !== undefined) {
    const text = await session.inspect(() => descriptionProgram(chain));
    return typeof text === 'string' ? text : undefined;
  }
  const found = (await session.variables()).find((one) => one.name === chain);
  return found && `Type: ${found.type}\nValue: ${found.repr}`;
}

/** Whether the parser of the language accepts a source, or no further line can complete it. */
export async function isComplete(session: Session, code: string): Promise<boolean> {
  const { parseProgram, isIncomplete } = LANGUAGES[session.runtime];
  const parser = await session.withRuntime(session.runtime);
  return !isIncomplete(await parser.execute(parseProgram(code)), code);
}
