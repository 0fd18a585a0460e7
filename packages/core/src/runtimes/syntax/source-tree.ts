/**
 * The syntax tree of a program, for the analysis of failed runs. Bounded for any text: the parser stops at the first error
 * and after a number of steps, and looking at more nodes than `MAX_VISITS` throws. Programs that were compiled have no errors.
 */
import type { Parser, SyntaxNode } from '@lezer/common';
import { requireInstalled } from '../../host/install-folder.ts';

const MAX_CHARS = 262_144;
const MAX_STEPS = 160_000;
const MAX_VISITS = 1_000_000;
const MAX_TEXT = 200;

type LRParser = typeof import('@lezer/python').parser;
const parsers = new Map<string, Parser>();

/** The parser of a language. It is loaded when it is first used, because most runs do not need it. */
function parserOf(language: 'javascript' | 'python', dialect: string): Parser {
  const key = `${language} ${dialect}`;
  let parser = parsers.get(key);
  if (parser === undefined) {
    const loaded = requireInstalled('./runtimes/parsers.cjs') as Record<typeof language, LRParser>;
    parser = loaded[language].configure({ strict: true, ...(dialect !== '' && { dialect }) });
    parsers.set(key, parser);
  }
  return parser;
}

export class SourceTree {
  readonly #lineStarts = [0];
  /** By name, in the order of the source. Without punctuation. */
  readonly #nodes = new Map<string, SyntaxNode[]>();
  #visits = 0;

  private constructor(
    readonly code: string,
    readonly top: SyntaxNode,
  ) {
    for (let at = code.indexOf('\n'); at >= 0; at = code.indexOf('\n', at + 1)) this.#lineStarts.push(at + 1);
    top.cursor().iterate((cursor) => {
      const { name } = cursor;
      if (name < 'A') return;
      const nodes = this.#nodes.get(name);
      if (nodes === undefined) this.#nodes.set(name, [cursor.node]);
      else nodes.push(cursor.node);
    });
  }

  /** What `read` finds in a program; undefined if the program is too long or is not valid. */
  static read<T>(
    [language, dialect = '']: readonly ['javascript' | 'python', string?],
    code: string,
    read: (tree: SourceTree) => T,
  ): T | undefined {
    if (code.length > MAX_CHARS) return undefined;
    try {
      const parse = parserOf(language, dialect).startParse(code);
      for (let step = 0; step < MAX_STEPS; step++) {
        const tree = parse.advance();
        if (tree !== null) return read(new SourceTree(code, tree.topNode));
      }
    } catch (cause) {
      // The program is not valid, or nested too deeply, or too much of it would be visited.
      if (!(cause instanceof SyntaxError || cause instanceof RangeError)) throw cause;
    }
    return undefined;
  }

  text({ from, to }: { readonly from: number; readonly to: number }): string {
    return this.code.slice(from, Math.min(to, from + MAX_TEXT));
  }

  /** The text on one line. */
  line({ from, to }: { readonly from: number; readonly to: number }): string {
    return this.text({ from, to }).replace(/\s+/g, ' ').trim();
  }

  /** The offset of a position, both starting at 1. */
  offset(line: number, column: number): number {
    return (this.#lineStarts[line - 1] ?? this.code.length) + column - 1;
  }

  /** The line of an offset, starting at 1. */
  lineOf(offset: number): number {
    return firstIndex(this.#lineStarts.length, (i) => this.#lineStarts[i]! > offset);
  }

  /** The last line of a node that has text. */
  lastLineOf({ from, to }: SyntaxNode): number {
    let end = to;
    while (end > from && /\s/.test(this.code[end - 1]!)) end--;
    return this.lineOf(Math.max(from, end - 1));
  }

  /** The nodes with these names, in the order of the source, without those inside of nodes with the names in `skipped`. */
  all(names: ReadonlySet<string>, within = this.top, skipped?: ReadonlySet<string>): SyntaxNode[] {
    const found = [...names].flatMap((name) => this.#inside(name, within));
    if (names.size > 1) found.sort((a, b) => a.from - b.from || b.to - a.to);
    this.#visits += found.length;
    if (this.#visits > MAX_VISITS) throw new RangeError('too many nodes');
    if (skipped === undefined) return found;
    const hidden = this.all(skipped, within).filter(({ from, to }) => from > within.from || to < within.to);
    let [next, hiddenUntil] = [0, 0];
    return found.filter(({ from }) => {
      while (next < hidden.length && hidden[next]!.from < from)
        hiddenUntil = Math.max(hiddenUntil, hidden[next++]!.to);
      return from >= hiddenUntil;
    });
  }

  #inside(name: string, { from, to }: SyntaxNode): SyntaxNode[] {
    const nodes = this.#nodes.get(name) ?? [];
    const start = firstIndex(nodes.length, (i) => nodes[i]!.from >= from);
    const end = firstIndex(nodes.length, (i) => nodes[i]!.from >= to);
    // Nodes at the start can also be around the given one.
    return nodes.slice(start, end).filter((node) => node.to <= to);
  }

  /** The last name of a called expression, as in `a.b.name()`. */
  calledName(call: SyntaxNode): string {
    const callee = call.firstChild;
    const name = callee?.name === 'MemberExpression' ? callee.lastChild : callee;
    return name?.name === 'VariableName' || name?.name === 'PropertyName' ? this.text(name) : '';
  }
}

/** The first of the indices below `count` for which a condition holds, from which on it holds for all; or `count`. */
function firstIndex(count: number, holds: (index: number) => boolean): number {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

export function children(node: SyntaxNode): SyntaxNode[] {
  const found: SyntaxNode[] = [];
  for (let child = node.firstChild; child !== null; child = child.nextSibling) found.push(child);
  return found;
}

/** The nodes around a node, innermost first. */
export function* ancestors(node: SyntaxNode): Generator<SyntaxNode> {
  for (let around = node.parent; around !== null; around = around.parent) yield around;
}
