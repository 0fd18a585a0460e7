/** Finds the blocks of a Python program by indentation. Strings that look like blocks are found too. */

/** Length of the longest line that can be the head of a loop. */
export const MAX_HEAD_CHARS = 500;
const BLOCK =
  /^(?:async\s+)?(def|class|if|elif|else|for|while|try|except|finally|with|match|case)\b(?:\s+(\w+))?/;
/** A handler for an exception that no code of a program raises. */
const INTERRUPT_HANDLER = /^except\s+KeyboardInterrupt\s*(?:as\s+\w+\s*)?:/;
const SUPPRESSION = /\b(?:suppress|raises)\(/;

/** An indented block, and the line of its last statement. */
export interface Block {
  readonly keyword: string;
  /** The name of a function. */
  readonly name: string;
  readonly index: number;
  readonly indent: number;
  readonly parent: Block | undefined;
  lastIndex: number;
  /** Exceptions of its statements are handled: a `try` with a handler, or `with suppress(…)`. */
  handles: boolean;
}

export const indentOf = (text: string) => text.search(/\S/);

/** The blocks of a program, by the index of their first line. Every `try` has a handler if `isHandlerHidden`. */
export function indentedBlocks(
  lines: readonly string[],
  isHandlerHidden: boolean,
): {
  readonly blocks: ReadonlyMap<number, Block>;
  /** For each line, the last block that starts before it, or one around that block. */
  readonly innermost: readonly (Block | undefined)[];
} {
  const blocks = new Map<number, Block>();
  const innermost: (Block | undefined)[] = [];
  let [inner, last]: [Block | undefined, number] = [undefined, 0];
  /** Blocks whose end is not found yet. A line of a string can end one too early, so `inner` is kept apart. */
  const open: Block[] = [];
  /** By indentation, those without a handler so far. */
  const tries = new Map<number, Block[]>();
  for (const [index, text] of lines.entries()) {
    const indent = indentOf(text);
    innermost.push(inner);
    if (indent < 0) continue;
    while (open.length > 0 && open.at(-1)!.indent >= indent) open.pop()!.lastIndex = last;
    last = index;
    const head = text.slice(indent, indent + MAX_HEAD_CHARS);
    const found = BLOCK.exec(head);
    if (found === null) continue;
    while (inner !== undefined && inner.indent >= indent) inner = inner.parent;
    const block: Block = {
      keyword: found[1]!,
      name: found[2] ?? '',
      index,
      indent,
      parent: inner,
      lastIndex: index,
      handles: found[1] === 'try' ? isHandlerHidden : found[1] === 'with' && SUPPRESSION.test(head),
    };
    blocks.set(index, block);
    if (block.keyword === 'try') {
      if (!tries.has(indent)) tries.set(indent, []);
      tries.get(indent)!.push(block);
    } else if (block.keyword === 'except' && !INTERRUPT_HANDLER.test(head)) {
      // All of them, because a line of a string can look like the start of a block.
      for (const handled of tries.get(indent) ?? []) handled.handles = true;
      tries.delete(indent);
    }
    open.push(block);
    inner = block;
  }
  for (const block of open) block.lastIndex = last;
  return { blocks, innermost };
}
