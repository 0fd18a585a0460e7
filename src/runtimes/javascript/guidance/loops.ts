/** Finds the loops of a JavaScript program in its tokens. */
import type { SourceLoop } from '../../../analysis/source-loop.ts';
import { type Token, tokenize } from '../tokenizer.ts';

/** Words that leave a loop, or let other code run that may end the program. */
const EXITS: ReadonlySet<string> = new Set(['break', 'return', 'throw', 'yield', 'await', 'exit']);
/** Maximum number of `for` and `while` keywords, and of expressions, that are examined. */
const MAX_LOOPS = 200;
/** Maximum length of each part of the source that is examined. */
const MAX_HEAD_CHARS = 2000;
const MAX_SHOWN_CHARS = 200;
/** Words before a parenthesis that is not a call. */
const NO_CALL: ReadonlySet<string> = new Set(
  'if for while switch catch with await return function'.split(' '),
);
/** Objects whose methods throw no exception that a program handles. */
const HARMLESS: ReadonlySet<string> = new Set(['console', 'Math']);

/** The loops of a program, outer loops before the loops that they contain; none if it cannot be tokenised. */
export function javascriptLoops(code: string): SourceLoop[] {
  const tokens = tokenize(code) ?? [];
  const structure = structureOf(tokens);
  const lines = lineCounter(code);
  const generators = endlessGenerators(tokens, structure);
  const isEndlessCall = (name: string, at: number) => {
    const mayThrow = generators.get(name);
    return mayThrow !== undefined && !(mayThrow && structure.isInTry[at]);
  };
  let examined = 0;
  const { heads, calls } = wordsOf(tokens, generators);
  const loops: SourceLoop[] = heads.flatMap((i) => {
    const token = tokens[i]!;
    if (++examined > MAX_LOOPS) return [];
    const open = tokens[i + 1]?.text === 'await' ? i + 2 : i + 1;
    const close = structure.closings[open];
    if (tokens[open]?.text !== '(' || close === undefined) return [];
    const [from, to] = [tokens[open]!.end, tokens[close]!.start];
    const inside = code.slice(from, Math.min(to, from + MAX_HEAD_CHARS));
    const end = structure.bodyEnd(close + 1);
    const last = tokens[end] ?? tokens[close]!;
    // Not the end of `do { … } while (true)`, whose body is before the word.
    const isConstant =
      to - from <= MAX_HEAD_CHARS &&
      isAlwaysTrue(token.text, inside) &&
      (tokens[i - 1]?.text !== '}' || tokens[close + 1]?.text === '{');
    const parts = partsOf(token.text, inside);
    const isEndless =
      isConstant || isEndlessCall(/^([\w$]+)\(/.exec(parts.items?.collection ?? '')?.[1] ?? '', i);
    const isEndedByCall = structure.isInTry[i]! || structure.canExit;
    const mayThrow = isEndedByCall && structure.count('throws', close + 1, end + 1) > 0;
    return [
      {
        line: lines.at(token.start),
        lastLine: lines.at(last.start),
        head: code
          .slice(token.start, Math.min(tokens[close]!.end, token.start + MAX_SHOWN_CHARS))
          .replace(/\s+/g, ' '),
        ...parts,
        isInfinite: isEndless && !mayThrow && structure.count('exits', close + 1, end + 1) === 0,
      },
    ];
  });
  const expressions = calls.flatMap((i) => {
    const token = tokens[i]!;
    if (examined >= MAX_LOOPS || !isEndlessCall(token.text, i)) return [];
    // As in `[...numbers()]` or `Array.from(numbers())`.
    const before = tokens.slice(Math.max(0, i - 4), i).map(({ text }) => text);
    const isConsumed = before.at(-1) === '...' || before.join('') === 'Array.from(';
    if (!isConsumed) return [];
    examined++;
    const line = lines.at(token.start);
    const end = tokens[structure.closings[i + 1] ?? i]!.end;
    return [
      {
        line,
        lastLine: line,
        head: lines.text(line),
        condition: '',
        items: { names: '', collection: code.slice(token.start, Math.min(end, token.start + 100)) },
        isInfinite: true,
        isExpression: true,
      },
    ];
  });
  return [...loops, ...expressions].sort((a, b) => a.line - b.line);
}

/** The indices of the words `for` and `while`, and of the names of endless generators. */
function wordsOf(tokens: readonly Token[], generators: ReadonlyMap<string, boolean>) {
  const [heads, calls]: [number[], number[]] = [[], []];
  for (let i = 0; i < tokens.length; i++) {
    const { kind, text } = tokens[i]!;
    if (kind !== 'word') continue;
    if (text === 'for' || text === 'while') heads.push(i);
    else if (generators.has(text)) calls.push(i);
  }
  return { heads, calls };
}

/** The structure of a program, derived from its tokens in a fixed number of passes. */
interface Structure {
  /** For an opening bracket, the index of the closing one. */
  readonly closings: readonly (number | undefined)[];
  /** Whether a token is in the block of a `try`, or in a function that such a block may call. */
  readonly isInTry: readonly boolean[];
  /** A function of the program can end it. */
  readonly canExit: boolean;
  /** Index of the last token of the statement that starts at an index. */
  readonly bodyEnd: (start: number) => number;
  /** The number of tokens of a kind from an index up to another one. */
  readonly count: (kind: 'exits' | 'leaves' | 'yields' | 'throws', from: number, to: number) => number;
}

function structureOf(tokens: readonly Token[]): Structure {
  const closings: (number | undefined)[] = new Array(tokens.length).fill(undefined);
  const isInTry: boolean[] = [];
  const opened: number[] = [];
  const tries: number[] = [];
  /** The program throws exceptions and handles some, not necessarily in the same function. */
  const isThrown = ['try', 'throw'].every((word) => tokens.some(({ text }) => text === word));
  for (let i = 0; i < tokens.length; i++) {
    const { text, depth, kind } = tokens[i]!;
    while (tries.length > 0 && depth <= tries.at(-1)!) tries.pop();
    isInTry.push(tries.length > 0);
    if (kind !== 'punctuator') continue;
    if (text === '(' || text === '[' || text === '{') opened[depth] = i;
    else if (text === ')' || text === ']' || text === '}') closings[opened[depth]!] = i;
    const previous = tokens[i - 1];
    const isFunction = previous?.text === '=>' || (previous?.text === ')' && !previous.endsBlock);
    if (text === '{' && (previous?.text === 'try' || (isThrown && isFunction))) tries.push(depth);
  }
  const statementEnds: number[] = new Array(tokens.length);
  /** The end of the current statement at each depth. */
  const ends: number[] = [];
  for (let i = tokens.length - 1; i >= 0; i--) {
    const { text, depth } = tokens[i]!;
    ends.length = Math.min(ends.length, depth + 1);
    while (ends.length <= depth) ends.push(i);
    if (text === ';') ends[depth] = i;
    statementEnds[i] = ends[depth]!;
  }
  const sums = sumsOf(tokens);
  return {
    closings,
    isInTry,
    canExit: tokens.some(({ text }) => text === 'exit'),
    bodyEnd: (start) =>
      tokens[start]?.text === '{' ? (closings[start] ?? start) : (statementEnds[start] ?? tokens.length - 1),
    count: (kind, from, to) =>
      sums[kind][Math.min(to, tokens.length)]! - sums[kind][Math.min(from, tokens.length)]!,
  };
}

/** For each kind, the number of tokens before each one. One pass, because a program can have tens of thousands of tokens. */
function sumsOf(tokens: readonly Token[]) {
  const canExit = tokens.some(({ text }) => text === 'exit' || text === 'AbortController');
  const empty = () => new Uint32Array(tokens.length + 1);
  const [exits, leaves, yields, throws] = [empty(), empty(), empty(), empty()];
  for (let at = 0; at < tokens.length; at++) {
    const { kind, text } = tokens[at]!;
    const isLeft = kind === 'word' && EXITS.has(text);
    exits[at + 1] = exits[at]! + (isLeft && isExit(tokens, at, canExit) ? 1 : 0);
    leaves[at + 1] = leaves[at]! + (isLeft && text !== 'yield' ? 1 : 0);
    yields[at + 1] = yields[at]! + (isLeft && text === 'yield' ? 1 : 0);
    throws[at + 1] = throws[at]! + (kind === 'punctuator' && mayThrow(tokens, at) ? 1 : 0);
  }
  return { exits, leaves, yields, throws };
}

/** Whether a token of `EXITS` leaves a loop. Awaiting a constant or a timer does not, unless something else ends the program. */
function isExit(tokens: readonly Token[], at: number, canExit: boolean): boolean {
  const { text } = tokens[at]!;
  if (text !== 'await' || canExit) return true;
  const after = (from: number, to: number) => tokens.slice(at + from, at + to).map((token) => token.text);
  const awaited = tokens[at + 1]?.text ?? '';
  if (/^(?:null|undefined|true|false|\d+)$/.test(awaited)) return false;
  if (awaited === 'Promise') return !/^\.resolve\([\w$]*\)/.test(after(2, 7).join(''));
  // As in `await new Promise((resolve) => setTimeout(resolve, 0))`.
  return !/^new Promise \( (?:\( \w+ \)|\w+) => (?:\{ )?(?:setTimeout|setImmediate|queueMicrotask) \(/.test(
    after(1, 11).join(' '),
  );
}

/** Whether a token is a call, or the property of an item, which can be undefined. */
function mayThrow(tokens: readonly Token[], at: number): boolean {
  const { text } = tokens[at]!;
  if (text !== '.' && text !== '(') return false;
  const previous = tokens[at - 1];
  if (text === '.') return previous?.text === ']';
  if (previous === undefined) return false;
  if (previous.kind !== 'word') return previous.text === ')' || previous.text === ']';
  const isHarmless = tokens[at - 2]?.text === '.' && HARMLESS.has(tokens[at - 3]?.text ?? '');
  return !isHarmless && !NO_CALL.has(previous.text);
}

/**
 * Generator functions that only consist of a loop that never ends and the statements before it, and whether they can throw.
 * A loop under a condition, or a `yield` outside of the loop, can belong to a function that ends.
 */
function endlessGenerators(tokens: readonly Token[], structure: Structure): ReadonlyMap<string, boolean> {
  const found = new Map<string, boolean>();
  const { closings, count } = structure;
  for (let i = 0; i < tokens.length; i++) {
    const isGenerator =
      tokens[i]!.text === 'function' && tokens[i + 1]?.text === '*' && tokens[i + 2]?.kind === 'word';
    if (!isGenerator) continue;
    const open = (closings[i + 3] ?? tokens.length) + 1;
    const close = closings[open];
    if (close === undefined || tokens[open]?.text !== '{' || count('leaves', open, close) > 0) continue;
    for (let at = open + 1; at < close; at = (closings[at] ?? at) + 1) {
      if (!isEndlessStatement(tokens, at)) continue;
      const end = structure.bodyEnd(closings[at + 1]! + 1);
      const yields = count('yields', at, end + 1);
      if (yields > 0 && yields === count('yields', open, close))
        found.set(tokens[i + 2]!.text, count('throws', at, end + 1) > 0);
    }
  }
  return found;
}

/** Whether a statement `while (true)` or `for (;;)` starts at an index and is not under a condition. */
function isEndlessStatement(tokens: readonly Token[], at: number): boolean {
  if (tokens[at]!.text !== 'while' && tokens[at]!.text !== 'for') return false;
  const head = tokens.slice(at, at + 4).map(({ text }) => text);
  if (!/^(?:while \( (?:true|1) \)|for \( ; ;)$/.test(head.join(' '))) return false;
  const { text, endsBlock } = tokens[at - 1]!;
  if (text === '{' || text === ';' || text === '}') return true;
  return tokens[at]!.newlineBefore && text !== 'else' && !(text === ')' && endsBlock);
}

/** `while (true)`, `for (;;)` or `for (…; true; …)`. */
function isAlwaysTrue(keyword: string, inside: string): boolean {
  const condition = keyword === 'while' ? inside : inside.split(';')[1];
  const isOmitted = keyword === 'for' && condition?.trim() === '';
  return isOmitted || ['true', '1'].includes(condition?.trim() ?? '');
}

function partsOf(keyword: string, inside: string): Pick<SourceLoop, 'condition' | 'items' | 'start'> {
  if (keyword === 'while') return { condition: inside.trim() };
  const of = inside.search(/\sof\s/);
  if (of < 0 || inside.includes(';')) {
    const [first, condition, step] = inside.split(';').map((part) => part.trim());
    // The value of the variable that the last part increases.
    const name = /^(?:\+\+)?([\w$]+)\s*(?:\+\+|\+=|$)/.exec(step ?? '')?.[1];
    const start = new RegExp(`(?:^|[\\s,])${name?.replaceAll('$', '\\$')}\\s*=\\s*([^,]{1,60})`).exec(
      first ?? '',
    )?.[1];
    return { condition: condition ?? '', start: name === undefined ? undefined : start?.trim() };
  }
  const names = inside
    .slice(0, of)
    .trim()
    .replace(/^(?:const|let|var)\s+/, '');
  return { condition: '', items: { names, collection: inside.slice(of + 4).trim() } };
}

interface Lines {
  /** The line of an offset. */
  readonly at: (offset: number) => number;
  /** The start of the text of a line. */
  readonly text: (line: number) => string;
}

function lineCounter(code: string): Lines {
  const starts = [0];
  for (let at = code.indexOf('\n'); at >= 0; at = code.indexOf('\n', at + 1)) starts.push(at + 1);
  const at = (offset: number) => {
    let [low, high] = [0, starts.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (starts[middle]! <= offset) low = middle;
      else high = middle - 1;
    }
    return low + 1;
  };
  const text = (line: number) => {
    const start = starts[line - 1]!;
    return code.slice(start, Math.min(starts[line] ?? code.length, start + MAX_SHOWN_CHARS)).trim();
  };
  return { at, text };
}
