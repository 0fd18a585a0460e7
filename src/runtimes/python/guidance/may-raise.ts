/**
 * Whether statements of a Python program can raise an exception that it may handle, as far as its source shows. Functions
 * of the program are followed; all other calls can raise one.
 */
import type { Block } from './blocks.ts';

/** Calls that raise no exception that a program handles. */
const HARMLESS_CALL = /\b(?:print|len|str|repr)\(|\.append\(/g;
/** Attributes of `self` are assumed to exist. */
const OWN_ATTRIBUTE = /\bself\./g;
/** A call, an index, an attribute, a power, or a division unless it is an integer division by a number. */
const MAY_RAISE =
  /[\w)\]][([]|\.[A-Za-z_]|\*\*|(?<!\/)\/(?!\/)|(?:(?<=\/)\/|%)(?!=?\s*[1-9])|^\s*[\w*]+\s*,[\w\s,*]*=[^=,]*$/;
/** Statements and calls that end a function early or from outside. */
const ENDS =
  /\b(?:raise|exit|quit|assert|next|pop|popleft|input|get_nowait|yield|await|import|with|del|class|nonlocal)\b/;
const CALLED = /(?<![\w.])([A-Za-z_]\w*)\(/g;
const DEFINITION = /^\s*def\s+\w+\([^()]*\)[^:]*:\s*(.*)$/;
const MAX_LINES = 200;
const MAX_FUNCTIONS = 20;
const MAX_LINE_CHARS = 500;

/** Whether a line can raise an exception, without regard to the functions that it calls. */
export const mayRaise = (text: string) =>
  MAY_RAISE.test(text.replace(HARMLESS_CALL, ' ').replace(OWN_ATTRIBUTE, 'self '));

/** Returns a function that examines a statement and the lines after `index` up to `lastIndex`. */
export function exceptionFinder(
  lines: readonly string[],
  code: string,
  blocks: ReadonlyMap<number, Block>,
): (index: number, lastIndex: number, statement: string) => boolean {
  /** The functions that were examined, and whether they raise no exception. */
  const examined = new Map<string, boolean>();
  let definitions: ReadonlyMap<string, Block | undefined> | undefined;

  const isHarmless = (name: string): boolean => {
    const known = examined.get(name);
    if (known !== undefined) return known;
    definitions ??= definitionsIn(blocks);
    const block = definitions.get(name);
    if (block === undefined || examined.size >= MAX_FUNCTIONS) return false;
    // A function that calls itself can exceed the recursion limit.
    examined.set(name, false);
    const statement = DEFINITION.exec(lines[block.index]!.slice(0, MAX_LINE_CHARS))?.[1];
    const isDecorated = lines[block.index - 1]?.trimStart().startsWith('@') === true;
    const harmless =
      statement !== undefined &&
      !isDecorated &&
      block.parent?.keyword !== 'class' &&
      isOnlyCalled(code, name) &&
      !raises(block.index, block.lastIndex, statement, ENDS);
    examined.set(name, harmless);
    return harmless;
  };
  const raisesIn = (text: string): boolean => {
    if (text.length > MAX_LINE_CHARS) return true;
    return mayRaise(text) && mayRaise(text.replace(CALLED, (call, name) => (isHarmless(name) ? ' ' : call)));
  };
  /** By line, because the loops around a line contain it too. */
  const known = new Map<number, boolean>();
  const raisesAt = (index: number): boolean => {
    const raised = known.get(index) ?? raisesIn(lines[index]!);
    known.set(index, raised);
    return raised;
  };
  const raises = (index: number, lastIndex: number, statement: string, ends?: RegExp): boolean => {
    if (lastIndex - index > MAX_LINES || raisesIn(statement) || ends?.test(statement)) return true;
    for (let at = index + 1; at <= lastIndex; at++) if (raisesAt(at) || ends?.test(lines[at]!)) return true;
    return false;
  };
  return raises;
}

/** Functions by name; undefined if there are several with the same name. */
function definitionsIn(blocks: ReadonlyMap<number, Block>): ReadonlyMap<string, Block | undefined> {
  const found = new Map<string, Block | undefined>();
  for (const block of blocks.values())
    if (block.keyword === 'def') found.set(block.name, found.has(block.name) ? undefined : block);
  return found;
}

/** Whether a name stands only for the function: nothing assigns it or passes it on. */
function isOnlyCalled(code: string, name: string): boolean {
  const count = (pattern: string) => code.match(new RegExp(pattern, 'g'))?.length ?? 0;
  return count(`\\b${name}\\b`) === count(`(?<![\\w.])${name}\\(`);
}
