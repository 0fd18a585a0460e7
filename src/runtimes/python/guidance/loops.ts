/** Finds the loops of a Python program by indentation. Strings that look like loops are found too; they are never executed. */
import type { SourceLoop } from '../../../analysis/source-loop.ts';

const MAX_SOURCE_CHARS = 65_536;
const HEAD = /^(\s*)(?:async\s+)?(while|for)\b(.*?):\s*(\S.*)?$/;
/** Length of the longest line that can be the head of a loop. */
const MAX_HEAD_CHARS = 500;
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
/** Calls that raise no exception that a program handles. */
const HARMLESS_CALL = /\b(?:print|len|str|repr|append)\(/g;
/** A call, an index or a division: a `try` around the loop can handle its exception. */
const MAY_RAISE = /[\w)\]][([]|[/%]/;
const BLOCK =
  /^(?:async\s+)?(def|class|if|elif|else|for|while|try|except|finally|with|match|case)\b(?:\s+(\w+))?/;

/** What the lines of a block contain: the number of lines with each. */
interface Contents {
  readonly leaves: number;
  readonly yields: number;
  readonly awaits: number;
  /** `await` of something that is ready. */
  readonly emptyAwaits: number;
  readonly mayRaise: number;
}

/** An indented block, and the line of its last statement. */
interface Block {
  readonly keyword: string;
  /** The name of a function. */
  readonly name: string;
  readonly index: number;
  readonly indent: number;
  readonly parent: Block | undefined;
  lastIndex: number;
}

/** The loops of a program, outer loops before the loops that they contain. */
export function pythonLoops(source: string): SourceLoop[] {
  const code = source.slice(0, MAX_SOURCE_CHARS);
  const lines = code.split('\n');
  const hasTimers = LATER.test(code);
  const { blocks, innermost } = blocksOf(lines);
  /** The program raises exceptions and handles some, not necessarily in the same function. */
  const isRaised = /\braise\b/.test(code) && [...blocks.values()].some(({ keyword }) => keyword === 'try');
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
    const range = iterated === undefined ? undefined : rangeOf(iterated);
    const isAlwaysTrue = keyword === 'while' && ALWAYS_TRUE.test(rest.trim());
    const isLeft = body.leaves + body.yields + body.awaits > 0;
    const isCaught = isInTry(block.parent, block.indent, isRaised);
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
        range: range && { name: names, bound: range.bound },
        start: range?.start,
        isInfinite: isAlwaysTrue && !isLeft && !(isCaught && body.mayRaise > 0),
        isAwaiting: body.emptyAwaits > 0 && body.awaits === 0,
        isOpen: isLeft || body.emptyAwaits > 0 || (isCaught && body.mayRaise > 0),
        isCaught,
      },
    ];
  });
  const isEndless = (iterated: string, isCaught: boolean) => {
    const mayRaise = generators.get(/^(\w+)\(/.exec(iterated)?.[1] ?? '');
    return ENDLESS_ITERATOR.test(iterated) || (mayRaise !== undefined && !(isCaught && mayRaise));
  };
  const loops = statements.map(({ isOpen, isCaught, ...loop }) => ({
    ...loop,
    isInfinite:
      loop.isInfinite || (loop.items !== undefined && !isOpen && isEndless(loop.items.collection, isCaught)),
  }));
  const isEndlessAt = (iterated: string, index: number) =>
    isEndless(iterated, isInTry(innermost[index], indentOf(lines[index]!), isRaised));
  return [...loops, ...endlessExpressions(lines, isEndlessAt)].sort((a, b) => a.line - b.line);
}

const indentOf = (text: string) => text.search(/\S/);

/** The blocks of a program, by the index of their first line. */
function blocksOf(lines: readonly string[]): {
  readonly blocks: ReadonlyMap<number, Block>;
  /** For each line, the last block that starts before it, or one around that block. */
  readonly innermost: readonly (Block | undefined)[];
} {
  const blocks = new Map<number, Block>();
  const innermost: (Block | undefined)[] = [];
  let [inner, last]: [Block | undefined, number] = [undefined, 0];
  /** Blocks whose end is not found yet. A line of a string can end one too early, so `inner` is kept apart. */
  const open: Block[] = [];
  for (const [index, text] of lines.entries()) {
    const indent = indentOf(text);
    innermost.push(inner);
    if (indent < 0) continue;
    while (open.length > 0 && open.at(-1)!.indent >= indent) open.pop()!.lastIndex = last;
    last = index;
    const found = BLOCK.exec(text.slice(indent, indent + MAX_HEAD_CHARS));
    if (found === null) continue;
    while (inner !== undefined && inner.indent >= indent) inner = inner.parent;
    const block: Block = {
      keyword: found[1]!,
      name: found[2] ?? '',
      index,
      indent,
      parent: inner,
      lastIndex: index,
    };
    blocks.set(index, block);
    open.push(block);
    inner = block;
  }
  for (const block of open) block.lastIndex = last;
  return { blocks, innermost };
}

/** Whether code with an indentation is in a `try`, or in a function that a `try` may call. */
function isInTry(block: Block | undefined, indent: number, isRaised: boolean): boolean {
  for (let around = block; around !== undefined; around = around.parent)
    if (around.indent < indent && (around.keyword === 'try' || (around.keyword === 'def' && isRaised)))
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
      mayRaise: MAY_RAISE.test(text.replace(HARMLESS_CALL, '')) ? 1 : 0,
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

/** The last word before an offset that decides whether `in` iterates, as after `for`, or tests, as after `if`. */
function wordBefore(text: string, offset: number): string | undefined {
  const words = text.slice(0, offset).match(/\b(?:for|in|if|elif|else|and|or|not|while|return|lambda)\b/g);
  return words?.at(-1);
}

/** The first value and the exclusive bound of `range(bound)`, `range(start, bound)` or `range(start, bound, step)`. */
function rangeOf(iterated: string): { start: string; bound: string } | undefined {
  if (!iterated.startsWith('range(') || !iterated.endsWith(')')) return undefined;
  const [first, second, step, ...more] = iterated.slice('range('.length, -1).split(',');
  if (more.length > 0 || (second !== undefined && /[()]/.test(first!)) || step?.includes('-'))
    return undefined;
  const bound = (second ?? first)!.trim();
  const start = second === undefined ? '0' : first!.trim();
  return /^[^()]+(?:\([\w.]*\))?$/.test(bound) ? { start, bound } : undefined;
}
