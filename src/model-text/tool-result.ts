/**
 * The result of a tool before it becomes a protocol message. Text and structured content each carry every fact, because
 * some clients show the model only one of them.
 */
import type { ContentBlock } from '@modelcontextprotocol/server';
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

/** How much of the beginning and of the end of a long text is shown. */
export function shownChars(maxChars: number): { headChars: number; tailChars: number } {
  return { headChars: Math.ceil(maxChars * 0.6), tailChars: Math.floor(maxChars * 0.4) };
}

export function withGap(head: string, omitted: number, uri: string, tail: string): string {
  return `${head}\n[… ${formatItems(omitted, 'character')} omitted; full text at ${uri} …]\n${tail}`;
}
