/** Finds the loops of a Python program by indentation. Strings that look like loops are found too; they are never executed. */
import type { SourceLoop } from '../../../analysis/loops.ts';

const MAX_SOURCE_CHARS = 65_536;
const HEAD = /^(\s*)(?:async\s+)?(while|for)\b(.*?):\s*(\S.*)?$/;
const FOR = /^\s+(.+?)\s+in\s+(.+)$/;
const RANGE = /^range\(\s*(?:[^,()]+,\s*)?([^,()]+(?:\([\w.]*\))?)\s*\)$/;
const ENDLESS_ITERATOR =
  /^(?:itertools\.)?(?:count|cycle)\(|^(?:itertools\.)?repeat\([^,]*\)$|^iter\(int,\s*1\)$/;
const EXIT = /\b(?:break|return|raise|exit|quit)\b/;

/** The loops of a program, outer loops before the loops that they contain. */
export function pythonLoops(source: string): SourceLoop[] {
  const lines = source.slice(0, MAX_SOURCE_CHARS).split('\n');
  return lines.flatMap((text, index) => {
    const head = text.length > 500 ? null : HEAD.exec(text);
    if (head === null) return [];
    const [, indent, keyword, rest] = head as unknown as [string, string, string, string];
    const lastIndex = lastLineOf(lines, index, indent.length);
    const body = lines.slice(index + 1, lastIndex + 1).join('\n') + (head[4] ?? '');
    const loop = keyword === 'for' ? FOR.exec(rest) : null;
    const iterated = loop?.[2]?.trim();
    const bound = iterated === undefined ? undefined : RANGE.exec(iterated)?.[1];
    return [
      {
        line: index + 1,
        lastLine: lastIndex + 1,
        head: text.trim(),
        condition: keyword === 'while' ? rest.trim() : '',
        items:
          bound === undefined && iterated !== undefined
            ? { names: loop![1]!, collection: iterated }
            : undefined,
        range: bound === undefined ? undefined : { name: loop![1]!.trim(), bound },
        isInfinite: iterated !== undefined && ENDLESS_ITERATOR.test(iterated) && !EXIT.test(body),
      },
    ];
  });
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
