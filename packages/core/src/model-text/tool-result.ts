/**
 * The result of a tool before it becomes a protocol message. Text and structured content each carry every fact, because
 * some clients show the model only one of them.
 */
import type { ContentBlock } from '@modelcontextprotocol/server';
import { quotePath } from '../analysis/escape-controls.ts';
import { formatItems } from '../quantities.ts';

const LONE_SURROGATE = /\p{Surrogate}/u;
const LONE_SURROGATES = /\p{Surrogate}/gu;

export interface ToolResult {
  readonly text: string;
  readonly structured?: Record<string, unknown>;
  /** Content blocks after the text: resource links and images. */
  readonly blocks?: readonly ContentBlock[];
}

/**
 * Replaces lone surrogates in JSON data with U+FFFD. Programs can print them and truncation can create them, and strict
 * JSON parsers reject a whole message because of one.
 */
export function replaceLoneSurrogates<T>(data: T): T;
export function replaceLoneSurrogates(data: unknown): unknown {
  if (typeof data === 'string')
    return LONE_SURROGATE.test(data) ? data.replaceAll(LONE_SURROGATES, '\ufffd') : data;
  if (Array.isArray(data)) return data.map((item) => replaceLoneSurrogates(item));
  if (typeof data !== 'object' || data === null) return data;
  return Object.fromEntries(Object.entries(data).map((entry) => replaceLoneSurrogates(entry)));
}

/**
 * Shortens a text to its beginning and end, with a line between them that says how much is missing and where the full
 * text is. `uriOfFullText` is called only if the text is too long.
 */
export function truncateMiddle(
  text: string,
  maxChars: number,
  uriOfFullText: () => string,
): { text: string; uri?: string } {
  if (text.length <= maxChars) return { text };
  const { headChars, tailChars } = shownChars(maxChars);
  const uri = uriOfFullText();
  const omitted = text.length - headChars - tailChars;
  return {
    text: withGap(text.slice(0, headChars), omitted, uri, text.slice(text.length - tailChars)),
    uri,
  };
}

/** The first rows of a list, with at most `maxChars` characters in total. Programs choose the names of files, and their lengths. */
export function firstRows<T>(
  rows: readonly T[],
  { maxRows, maxChars }: { readonly maxRows: number; readonly maxChars: number },
  charsOf: (row: T) => number,
): readonly T[] {
  let chars = 0;
  const end = rows.findIndex((row, i) => {
    chars += charsOf(row);
    return i === maxRows || chars > maxChars;
  });
  return end < 0 ? rows : rows.slice(0, end);
}

/** The length of a path in a list, or of its URI if that is longer. */
export const pathChars = ({ path, uri = '' }: { readonly path: string; readonly uri?: string | undefined }) =>
  Math.max(quotePath(path).length, uri.length);

/** How much of the beginning and of the end of a long text is shown. */
export function shownChars(maxChars: number): { headChars: number; tailChars: number } {
  return { headChars: Math.ceil(maxChars * 0.6), tailChars: Math.floor(maxChars * 0.4) };
}

export function withGap(head: string, omitted: number, uri: string, tail: string): string {
  return `${head}\n[… ${formatItems(omitted, 'character')} omitted; full text at ${uri} …]\n${tail}`;
}
