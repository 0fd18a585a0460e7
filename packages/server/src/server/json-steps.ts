/**
 * JSON of any size in steps, so that no message of a client and no answer to one takes the main thread for long. A step handles at
 * most about `STEP_CHARS` characters.
 */
import { randomUUID } from 'node:crypto';

/** Characters of a step. Parsing or writing this many takes less than a millisecond. */
const STEP_CHARS = 64 * 1024;

/** A smaller object is written at once. */
const SMALL_MEMBERS = 32;
const SMALL_CHARS = 1024;

/**
 * The JSON text of a value in parts: joined, they are `JSON.stringify(value, null, indent)`. The value must be data; iterators
 * are written as arrays.
 */
export function* jsonParts(value: unknown, indent = 0): Generator<string, void> {
  let part = '';
  for (const piece of pieces(value, { step: ' '.repeat(indent), line: indent === 0 ? '' : '\n' })) {
    part += piece;
    if (part.length < STEP_CHARS) continue;
    yield part;
    part = '';
  }
  if (part !== '') yield part;
}

/** The JSON text of a short value in UTF-8. */
export const shortJson = (value: object): Buffer => Buffer.from([...jsonParts(value)].join(''));

/** The blanks between the members of arrays and objects: those of a level, and those before the current value. */
interface Layout {
  readonly step: string;
  readonly line: string;
}

const innerOf = ({ step, line }: Layout): Layout => ({ step, line: line + step });

function* pieces(given: unknown, layout: Layout): Generator<string, void> {
  const value = isConvertible(given) ? given.toJSON() : given;
  if (typeof value === 'string') yield* stringPieces(value);
  else if (Array.isArray(value) || isIterator(value)) yield* arrayPieces(value, layout);
  else if (typeof value !== 'object' || value === null || (layout.step === '' && isSmall(value)))
    yield JSON.stringify(value) ?? 'null';
  else yield* objectPieces(value, layout);
}

function isConvertible(value: unknown): value is { toJSON(): unknown } {
  return typeof value === 'object' && value !== null && typeof (value as Date).toJSON === 'function';
}

/** A list that is computed while it is written. */
function isIterator(value: unknown): value is Iterator<unknown> & Iterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.iterator in value && 'next' in value;
}

/** Whether an object has only few and short members, so that it takes no time to write. */
function isSmall(value: object): boolean {
  const members = Object.values(value);
  return members.length <= SMALL_MEMBERS && members.every(isShort);
}

const isShort = (member: unknown) =>
  typeof member === 'string'
    ? member.length <= SMALL_CHARS
    : typeof member !== 'object' && typeof member !== 'function';

function* arrayPieces(items: Iterable<unknown>, layout: Layout): Generator<string, void> {
  const inner = innerOf(layout);
  let separator = '[';
  for (const item of items) {
    yield separator + inner.line;
    yield* pieces(item, inner);
    separator = ',';
  }
  yield separator === '[' ? '[]' : `${layout.line}]`;
}

function* objectPieces(value: object, layout: Layout): Generator<string, void> {
  const inner = innerOf(layout);
  let separator = '{';
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined) continue;
    yield `${separator}${inner.line}${JSON.stringify(name)}${layout.step === '' ? ':' : ': '}`;
    yield* pieces(member, inner);
    separator = ',';
  }
  yield separator === '{' ? '{}' : `${layout.line}}`;
}

function* stringPieces(text: string): Generator<string, void> {
  if (text.length <= STEP_CHARS) return yield JSON.stringify(text);
  yield '"';
  for (let start = 0; start < text.length; ) {
    const end = characterEnd(text, start + STEP_CHARS);
    yield JSON.stringify(text.slice(start, end)).slice(1, -1);
    start = end;
  }
  yield '"';
}

/** An index that does not separate a pair of surrogates. */
function characterEnd(text: string, at: number): number {
  const isPair = (text.charCodeAt(at - 1) & 0xfc00) === 0xd800 && (text.charCodeAt(at) & 0xfc00) === 0xdc00;
  return isPair ? at + 1 : at;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const U = 0x75;

/** A longer string is parsed on its own. */
const LONG_CHARS = 1024;
const MAX_NAME_CHARS = 4096;
const STEP_MEMBERS = 2000;

/** The name of a member has too many characters. */
export class LongNameError extends SyntaxError {
  override readonly message = `the name of a member has more than ${MAX_NAME_CHARS} characters`;
}

/**
 * The value of JSON text whose depth and members are limited. Yields between steps. Throws `SyntaxError`. Long strings are
 * parsed in parts; names of more than 4,096 characters are an error in large texts.
 */
export function* parseJsonSteps(text: string): Generator<undefined, unknown> {
  if (text.length <= STEP_CHARS) return JSON.parse(text);
  const reader = new LongStrings(text);
  const value: unknown = JSON.parse(yield* reader.remove());
  return yield* reader.restored(value);
}

/** Replaces the long strings of a text by marks, which no client can guess. */
class LongStrings {
  readonly #strings: string[] = [];
  readonly #mark = randomUUID();
  /** Where the current step began. */
  #stepStart = 0;

  constructor(readonly text: string) {}

  /** The value with the long strings in place of their marks. */
  *restored(value: unknown): Generator<undefined, unknown> {
    if (this.#strings.length === 0) return value;
    if (typeof value === 'string') return this.#original(value);
    let members = 0;
    const open = [value];
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      if (typeof at !== 'object' || at === null) continue;
      const parent = at as Record<string, unknown>;
      for (const name of Object.keys(parent)) {
        if (++members % STEP_MEMBERS === 0) yield;
        const member = parent[name];
        if (typeof member === 'string') parent[name] = this.#original(member);
        else open.push(member);
      }
    }
    return value;
  }

  #original(value: string): string {
    return value.startsWith(this.#mark) ? this.#strings[Number(value.slice(this.#mark.length))]! : value;
  }

  *remove(): Generator<undefined, string> {
    const { text } = this;
    const kept: string[] = [];
    let start = 0;
    for (let at = 0; at < text.length; at++) {
      yield* this.#pause(at);
      if (text.charCodeAt(at) !== QUOTE) continue;
      const first = at + 1;
      at = stringEnd(text, first, first + LONG_CHARS);
      if (text.charCodeAt(at) === QUOTE) continue;
      const { value, end } = yield* this.#read(first);
      at = end;
      if (isName(text, at)) {
        if (at - first > MAX_NAME_CHARS) throw new LongNameError();
        continue;
      }
      kept.push(text.slice(start, first - 1), `"${this.#mark}${this.#strings.length}"`);
      this.#strings.push(value);
      start = at + 1;
    }
    kept.push(text.slice(start));
    return kept.join('');
  }

  *#pause(at: number): Generator<undefined, void> {
    if (at - this.#stepStart < STEP_CHARS) return;
    this.#stepStart = at;
    yield;
  }

  /** The value of the string at `from`, and the index of the quote that ends it. */
  *#read(from: number): Generator<undefined, { readonly value: string; readonly end: number }> {
    const { text } = this;
    const parts: string[] = [];
    for (let start = from; ; ) {
      const end = stringEnd(text, start, start + STEP_CHARS);
      parts.push(JSON.parse(`"${text.slice(start, end)}"`) as string);
      yield* this.#pause(end);
      if (text.charCodeAt(end) === QUOTE) return { value: parts.join(''), end };
      if (end >= text.length) throw new SyntaxError('a string has no end');
      start = end;
    }
  }
}

/** Whether the string whose last quote is at `end` is the name of a member. */
function isName(text: string, end: number): boolean {
  let at = end + 1;
  while (BLANKS.includes(text.charAt(at)) && at < text.length) at++;
  return text.charAt(at) === ':';
}

const BLANKS = ' \t\r\n';

/** The index of the quote that ends a string; or, from `limit` on, one that separates no escape sequence. */
function stringEnd(text: string, start: number, limit: number): number {
  let at = start;
  while (at < text.length && at < limit) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at;
    if (code !== BACKSLASH) at++;
    else at += text.charCodeAt(at + 1) === U ? 6 : 2;
  }
  return at;
}
