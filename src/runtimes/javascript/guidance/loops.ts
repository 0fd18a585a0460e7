/** Finds the loops of a JavaScript program in its tokens. */
import type { SourceLoop } from '../../../analysis/loops.ts';
import { type Token, tokenize } from '../tokenizer.ts';

const MAX_SOURCE_CHARS = 65_536;
/** Words that leave a loop, or let other code run that may end the program. */
const EXITS: ReadonlySet<string> = new Set(['break', 'return', 'throw', 'yield', 'await', 'exit']);
/** Words `for` and `while` that are examined. Each can take a pass over all tokens. */
const MAX_LOOPS = 200;

/** The loops of a program, outer loops before the loops that they contain; none if it cannot be tokenized. */
export function javascriptLoops(source: string): SourceLoop[] {
  const code = source.slice(0, MAX_SOURCE_CHARS);
  const tokens = tokenize(code) ?? [];
  const lineAt = lineCounter(code);
  let examined = 0;
  return tokens.flatMap((token, i) => {
    if (token.kind !== 'word' || (token.text !== 'for' && token.text !== 'while')) return [];
    if (++examined > MAX_LOOPS) return [];
    const open = tokens[i + 1]?.text === 'await' ? i + 2 : i + 1;
    const close = closingOf(tokens, open);
    if (tokens[open]?.text !== '(' || close === undefined) return [];
    const inside = code.slice(tokens[open]!.end, tokens[close]!.start);
    const end = bodyEnd(tokens, close + 1);
    const last = tokens[end] ?? tokens[close]!;
    // Not the end of `do { … } while (true)`, whose body is before the word.
    const isConstant =
      isAlwaysTrue(token.text, inside) && (tokens[i - 1]?.text !== '}' || tokens[close + 1]?.text === '{');
    return [
      {
        line: lineAt(token.start),
        lastLine: lineAt(last.start),
        head: code.slice(token.start, tokens[close]!.end).replace(/\s+/g, ' '),
        ...partsOf(token.text, inside),
        isInfinite: isConstant && !tokens.slice(close + 1, end + 1).some(({ text }) => EXITS.has(text)),
      },
    ];
  });
}

/** `while (true)`, `for (;;)` or `for (…; true; …)`. */
function isAlwaysTrue(keyword: string, inside: string): boolean {
  const condition = keyword === 'while' ? inside : inside.split(';')[1];
  const isOmitted = keyword === 'for' && condition?.trim() === '';
  return isOmitted || ['true', '1'].includes(condition?.trim() ?? '');
}

function partsOf(keyword: string, inside: string): Pick<SourceLoop, 'condition' | 'items'> {
  if (keyword === 'while') return { condition: inside.trim() };
  const of = inside.search(/\sof\s/);
  if (of < 0 || inside.includes(';')) return { condition: inside.split(';')[1]?.trim() ?? '' };
  const names = inside
    .slice(0, of)
    .trim()
    .replace(/^(?:const|let|var)\s+/, '');
  return { condition: '', items: { names, collection: inside.slice(of + 4).trim() } };
}

/** Index of the bracket that closes the one at `open`. */
function closingOf(tokens: readonly Token[], open: number): number | undefined {
  const depth = tokens[open]?.depth;
  for (let i = open + 1; i < tokens.length; i++) {
    const { text, depth: at } = tokens[i]!;
    if (at === depth && (text === ')' || text === '}')) return i;
  }
  return undefined;
}

/** Index of the last token of the statement that starts at `start`. */
function bodyEnd(tokens: readonly Token[], start: number): number {
  const first = tokens[start];
  if (first?.text === '{') return closingOf(tokens, start) ?? start;
  for (let i = start; i < tokens.length; i++) {
    const { text, depth } = tokens[i]!;
    if (depth < (first?.depth ?? 0)) return i - 1;
    if (depth === first?.depth && text === ';') return i;
  }
  return tokens.length - 1;
}

function lineCounter(code: string): (offset: number) => number {
  const starts = [0];
  for (let at = code.indexOf('\n'); at >= 0; at = code.indexOf('\n', at + 1)) starts.push(at + 1);
  return (offset) => {
    let [low, high] = [0, starts.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (starts[middle]! <= offset) low = middle;
      else high = middle - 1;
    }
    return low + 1;
  };
}
