/** Finds the loops of a Python program by indentation. Strings that look like loops are found too; they are never executed. */
import type { SourceLoop } from '../../../analysis/source-loop.ts';
import { type Block, indentedBlocks, indentOf, MAX_HEAD_CHARS } from './blocks.ts';
import { exceptionFinder, mayRaise } from './may-raise.ts';

const HEAD = /^(\s*)(?:async\s+)?(while|for)\b(.*?):\s*(\S.*)?$/;
/** Heads that are examined. */
const MAX_LOOPS = 500;
const ENDLESS_ITERATOR =
  /^(?:itertools\.)?(?:count|cycle)\(|^(?:itertools\.)?repeat\([^,]*\)$|^iter\(int,\s*1\)$/;
/** What stands before an iterator that a function consumes or a comprehension iterates over. */
const CONSUMER =
  /\b(?:(?:sum|max|min|list|tuple|set|frozenset|sorted|dict|Counter|deque|join|reduce)\(|in\s)/g;
/** Functions that can stop before an iterator ends. */
const PARTIAL = /\b(?:next|any|all|takewhile|islice|zip|break|raise|batched)\b|\bmaxlen\b/;
/** Awaiting this lets other tasks run and waits for nothing. */
const EMPTY_AWAIT = /\bawait\s+(?:asyncio\.)?sleep\(0(?:\.0*)?\)/g;
/** Calls that can end a task from outside, or continue another one later. */
const LATER = /\b(?:cancel|wait_for|timeout|timeout_at|call_later|call_at)\(|\bsleep\((?!0(?:\.0*)?\))/;
const ALWAYS_TRUE = /^\(?(?:True|1)\)?$/;
/** Statements that leave a loop, and calls that typically end one with an exception. */
const LEAVES = /\b(?:break|return|raise|exit|quit|assert|next|pop|popleft|input|get_nowait)\b/;
/** Calls that end a program, also from a function. */
const EXIT = /\b(?:_?exit|quit|abort)\(|\bSystemExit\b/;
/** Code that can cause a KeyboardInterrupt. */
const INTERRUPT = /\braise\s+KeyboardInterrupt\b|\b(?:interrupt_main|raise_signal|alarm|setitimer|kill)\b/;
/** The first item that a generator expression over a counter yields: the variable and the condition. */
const SEARCH =
  /\bnext\(\s*\(?[^()]{0,200}?\bfor\s+(\w+)\s+in\s+(?:itertools\.)?count\([^()]{0,60}\)\s+if\s+([^()]{1,100})\)/;
const COMPARED = /^(\w+)\s*(<=|>=|<|>|==)\s*(-?[\w.]+(?:\s*\*\*\s*\d+)?)$/;
/** The comparison that holds while a search continues. */
const OPPOSITE: Readonly<Record<string, string>> = { '<': '>=', '<=': '>', '>': '<=', '>=': '<', '==': '!=' };

/** The number of lines of a block that contain each kind of statement. */
interface Contents {
  readonly leaves: number;
  readonly yields: number;
  readonly awaits: number;
  /** `await` of something that is ready. */
  readonly emptyAwaits: number;
  readonly mayRaise: number;
}

/** The loops of a program, outer loops before the loops that they contain. `isShortened`: the end of it is missing. */
export function pythonLoops(code: string, isShortened = false): SourceLoop[] {
  const lines = code.split('\n');
  const hasTimers = LATER.test(code);
  const { blocks, innermost } = indentedBlocks(lines, isShortened || INTERRUPT.test(code));
  const canExit = EXIT.test(code);
  const handling = /\braise\b/.test(code) ? [...blocks.values()].filter(({ handles }) => handles) : [];
  /**
   * The program raises exceptions and handles some of them outside of the given lines, not necessarily in the same
   * function.
   */
  const isHandledOutside = (index: number, lastIndex: number) =>
    handling.length > 0 && (handling[0]!.index < index || handling.at(-1)!.index > lastIndex);
  const raises = exceptionFinder(lines, code, blocks);
  const contentsOf = countContents(lines, hasTimers);
  const definitions = new Map<string, number>();
  for (const { keyword, name } of blocks.values())
    if (keyword === 'def') definitions.set(name, (definitions.get(name) ?? 0) + 1);
  /** Generators that never end, and whether they can raise an exception. */
  const generators = new Map<string, boolean>();
  let examined = 0;
  const statements = lines.flatMap((text, index) => {
    const head = text === '' || text.length > MAX_HEAD_CHARS ? null : HEAD.exec(text);
    const block = head === null ? undefined : blocks.get(index);
    if (head === null || block === undefined || ++examined > MAX_LOOPS) return [];
    const [, , keyword, rest] = head as unknown as [string, string, string, string];
    const body = contentsOf(index, block.lastIndex, head[4] ?? '');
    const inAt = keyword === 'for' ? rest.search(/\sin\s/) : -1;
    const names = inAt < 0 ? '' : rest.slice(0, inAt).trim();
    const iterated = inAt < 0 ? undefined : rest.slice(inAt + 4).trim();
    const range =
      iterated === undefined ? undefined : (rangeOf(iterated) ?? enumeratedRange(names, iterated));
    const isAlwaysTrue = keyword === 'while' && ALWAYS_TRUE.test(rest.trim());
    const isLeft = body.leaves + body.yields + body.awaits > 0;
    const isInTry = isHandled(block.parent, block.indent, isHandledOutside(index, block.lastIndex));
    // Another function can end the program, or raise an exception that is handled outside of the loop.
    const isCaught =
      (isInTry || canExit) && body.mayRaise > 0 && raises(index, block.lastIndex, head[4] ?? '');
    const around = block.parent;
    if (isAlwaysTrue && around?.keyword === 'def' && definitions.get(around.name) === 1) {
      const { yields } = contentsOf(around.index, around.lastIndex, '');
      // A yield outside of the loop can belong to another way through the function, on which it ends.
      if (yields > 0 && body.yields === yields && body.leaves + body.awaits + body.emptyAwaits === 0)
        generators.set(around.name, body.mayRaise > 0);
    }
    return [
      {
        line: index + 1,
        lastLine: block.lastIndex + 1,
        head: text.trim(),
        condition: keyword === 'while' ? rest.trim() : '',
        items: range === undefined && iterated !== undefined ? { names, collection: iterated } : undefined,
        range: range && { name: range.name ?? names, bound: range.bound },
        start: range?.start,
        isInfinite: isAlwaysTrue && !isLeft && !isCaught,
        isAwaiting: body.emptyAwaits > 0 && body.awaits === 0,
        isOpen: isLeft || body.emptyAwaits > 0 || isCaught,
        isInTry,
      },
    ];
  });
  const isEndless = (iterated: string, isInTry: boolean) => {
    const mayFail = generators.get(/^(\w+)\(/.exec(iterated)?.[1] ?? '');
    return ENDLESS_ITERATOR.test(iterated) || (mayFail !== undefined && !(isInTry && mayFail));
  };
  const loops = statements.map(({ isOpen, isInTry, ...loop }) => ({
    ...loop,
    isInfinite:
      loop.isInfinite || (loop.items !== undefined && !isOpen && isEndless(loop.items.collection, isInTry)),
  }));
  const isEndlessAt = (iterated: string, index: number) =>
    isEndless(iterated, isHandled(innermost[index], indentOf(lines[index]!), handling.length > 0));
  return [...loops, ...endlessExpressions(lines, isEndlessAt), ...searches(lines)].sort(
    (a, b) => a.line - b.line,
  );
}

/**
 * Whether a block around code with this indentation handles its exceptions, or a caller of its function possibly does,
 * because the program handles exceptions elsewhere.
 */
function isHandled(block: Block | undefined, indent: number, isHandledElsewhere: boolean): boolean {
  for (let around = block; around !== undefined; around = around.parent)
    if (around.indent < indent && (around.handles || (around.keyword === 'def' && isHandledElsewhere)))
      return true;
  return false;
}

/** Counts what the lines after `index` up to `lastIndex`, and a statement on the line `index`, contain. */
function countContents(
  lines: readonly string[],
  hasTimers: boolean,
): (index: number, lastIndex: number, statement: string) => Contents {
  const contents = (text: string): Contents => {
    const rest = hasTimers ? text : text.replace(EMPTY_AWAIT, '');
    return {
      leaves: LEAVES.test(text) ? 1 : 0,
      yields: /\byield\b/.test(text) ? 1 : 0,
      awaits: /\bawait\b/.test(rest) ? 1 : 0,
      emptyAwaits: rest === text ? 0 : 1,
      mayRaise: mayRaise(text) ? 1 : 0,
    };
  };
  const combine = (a: Contents, b: Contents, sign: 1 | -1): Contents => ({
    leaves: a.leaves + sign * b.leaves,
    yields: a.yields + sign * b.yields,
    awaits: a.awaits + sign * b.awaits,
    emptyAwaits: a.emptyAwaits + sign * b.emptyAwaits,
    mayRaise: a.mayRaise + sign * b.mayRaise,
  });
  /** The contents of all lines up to each one. */
  const totals: Contents[] = [];
  let total: Contents = { leaves: 0, yields: 0, awaits: 0, emptyAwaits: 0, mayRaise: 0 };
  for (const text of lines) {
    if (text !== '') total = combine(total, contents(text), 1);
    totals.push(total);
  }
  return (index, lastIndex, statement) =>
    combine(combine(totals[lastIndex]!, totals[index]!, -1), contents(statement), 1);
}

/** Expressions that iterate over an endless iterator and have no reason to stop, as in `sum(x for x in count())`. */
function endlessExpressions(
  lines: readonly string[],
  isEndless: (iterated: string, index: number) => boolean,
): SourceLoop[] {
  let examined = 0;
  return lines.flatMap((text, index) => {
    if (text === '' || text.length > MAX_HEAD_CHARS) return [];
    if (/^\s*(?:async\s+)?for\b/.test(text) || PARTIAL.test(text)) return [];
    for (const match of text.matchAll(CONSUMER)) {
      if (++examined > MAX_LOOPS) return [];
      const iterated = text.slice(match.index + match[0].length).trimStart();
      const isTest = !match[0].endsWith('(') && wordBefore(text, match.index) !== 'for';
      if (isTest || !isEndless(iterated, index)) continue;
      const collection = iterated.slice(0, iterated.indexOf(')') + 1);
      return [
        {
          line: index + 1,
          lastLine: index + 1,
          head: text.trim(),
          condition: '',
          items: { names: '', collection },
          isInfinite: true,
          isExpression: true,
        },
      ];
    }
    return [];
  });
}

/** Searches that end when a counter meets a condition, as in `next(n for n in count() if n > 10)`. */
function searches(lines: readonly string[]): SourceLoop[] {
  let examined = 0;
  return lines.flatMap((text, index) => {
    if (text.length > MAX_HEAD_CHARS || !text.includes('next(') || ++examined > MAX_LOOPS) return [];
    const search = SEARCH.exec(text);
    const compared = search === null ? null : COMPARED.exec(search[2]!.trim());
    if (compared === null || compared[1] !== search![1]) return [];
    const condition = `${compared[1]} ${OPPOSITE[compared[2]!]} ${compared[3]}`;
    const line = index + 1;
    return [{ line, lastLine: line, head: text.trim(), condition, isInfinite: false, isExpression: true }];
  });
}

/** The last word before an offset that decides whether `in` iterates, as after `for`, or tests, as after `if`. */
function wordBefore(text: string, offset: number): string | undefined {
  const words = text.slice(0, offset).match(/\b(?:for|in|if|elif|else|and|or|not|while|return|lambda)\b/g);
  return words?.at(-1);
}

interface CountedRange {
  readonly start: string;
  readonly bound: string;
  /** The variable that counts, if it is not the only one. */
  readonly name?: string | undefined;
}

/** The index in `for i, item in enumerate(items)`. */
function enumeratedRange(names: string, iterated: string): CountedRange | undefined {
  const enumerated = /^enumerate\(([A-Za-z_]\w*)(?:,\s*(?:start\s*=\s*)?([01]))?\)$/.exec(iterated);
  const name = /^\(?([A-Za-z_]\w*)\s*,/.exec(names)?.[1];
  if (enumerated === null || name === undefined) return undefined;
  return { start: enumerated[2] ?? '0', bound: `len(${enumerated[1]})`, name };
}

/** The first value and the exclusive bound of `range(bound)`, `range(start, bound)` or `range(start, bound, step)`. */
function rangeOf(iterated: string): CountedRange | undefined {
  if (!iterated.startsWith('range(') || !iterated.endsWith(')')) return undefined;
  const [first, second, step, ...more] = iterated.slice('range('.length, -1).split(',');
  if (more.length > 0 || (second !== undefined && /[()]/.test(first!)) || step?.includes('-'))
    return undefined;
  const bound = (second ?? first)!.trim();
  const start = second === undefined ? '0' : first!.trim();
  return /^[^()]+(?:\([\w.]*\))?$/.test(bound) ? { start, bound } : undefined;
}
