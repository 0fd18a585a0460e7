/** Finds the loops of a Python program by indentation. Strings that look like loops are found too; they are never executed. */
import type { SourceLoop } from '../../../analysis/loops.ts';

const MAX_SOURCE_CHARS = 65_536;
const HEAD = /^(\s*)(?:async\s+)?(while|for)\b(.*?):\s*(\S.*)?$/;
/** Length of the longest line that can be the head of a loop. */
const MAX_HEAD_CHARS = 500;
/** Heads that are examined. Each can take a pass over all lines. */
const MAX_LOOPS = 500;
const ENDLESS_ITERATOR =
  /^(?:itertools\.)?(?:count|cycle)\(|^(?:itertools\.)?repeat\([^,]*\)$|^iter\(int,\s*1\)$/;
const ALWAYS_TRUE = /^\(?(?:True|1)\)?$/;
/** Statements that leave a loop, and calls that typically end one with an exception. */
const EXIT = /\b(?:break|return|raise|yield|await|exit|quit|assert|next|pop|popleft|input|get_nowait)\b/;

/** The loops of a program, outer loops before the loops that they contain. */
export function pythonLoops(source: string): SourceLoop[] {
  const lines = source.slice(0, MAX_SOURCE_CHARS).split('\n');
  let examined = 0;
  return lines.flatMap((text, index) => {
    const head = text.length > MAX_HEAD_CHARS ? null : HEAD.exec(text);
    if (head === null || ++examined > MAX_LOOPS) return [];
    const [, indent, keyword, rest] = head as unknown as [string, string, string, string];
    const lastIndex = lastLineOf(lines, index, indent.length);
    const body = lines.slice(index + 1, lastIndex + 1).join('\n') + (head[4] ?? '');
    const inAt = keyword === 'for' ? rest.search(/\sin\s/) : -1;
    const names = inAt < 0 ? '' : rest.slice(0, inAt).trim();
    const iterated = inAt < 0 ? undefined : rest.slice(inAt + 4).trim();
    const bound = iterated === undefined ? undefined : rangeBound(iterated);
    return [
      {
        line: index + 1,
        lastLine: lastIndex + 1,
        head: text.trim(),
        condition: keyword === 'while' ? rest.trim() : '',
        items: bound === undefined && iterated !== undefined ? { names, collection: iterated } : undefined,
        range: bound === undefined ? undefined : { name: names, bound },
        isInfinite:
          (iterated === undefined ? ALWAYS_TRUE.test(rest.trim()) : ENDLESS_ITERATOR.test(iterated)) &&
          !EXIT.test(body),
      },
    ];
  });
}

/** The exclusive bound of `range(bound)` or `range(start, bound)`. */
function rangeBound(iterated: string): string | undefined {
  if (!iterated.startsWith('range(') || !iterated.endsWith(')')) return undefined;
  const [first, second, ...more] = iterated.slice('range('.length, -1).split(',');
  if (more.length > 0 || (second !== undefined && /[()]/.test(first!))) return undefined;
  const bound = (second ?? first)!.trim();
  return /^[^()]+(?:\([\w.]*\))?$/.test(bound) ? bound : undefined;
}

/** Index of the last line that is indented deeper than the head. */
function lastLineOf(lines: readonly string[], start: number, indent: number): number {
  let last = start;
  for (let i = start + 1; i < lines.length; i++) {
    const text = lines[i]!;
    if (text.trim() === '') continue;
    if (/^\s*/.exec(text)![0].length <= indent) break;
    last = i;
  }
  return last;
}
