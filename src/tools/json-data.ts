/**
 * JSON text of arguments and results. Depth, members and bytes are bounded in both directions, and a value that JSON cannot
 * represent exactly is an error, never a different value.
 */
import { formatBytes, formatCount } from '../quantities.ts';

const MAX_JSON_DEPTH = 64;
const MAX_JSON_MEMBERS = 200_000;

/** Data that was rejected. */
export class JsonDataError extends Error {
  constructor(
    readonly what: 'arguments' | 'result',
    message: string,
  ) {
    super(message);
  }
}

/** Parses the arguments of a call, which must be an object. Throws `JsonDataError`. */
export function parseArguments(text: string, maxBytes: number): Record<string, unknown> {
  const bytes = Buffer.byteLength(text);
  if (bytes > maxBytes)
    throw new JsonDataError(
      'arguments',
      `The arguments are ${formatBytes(bytes)} long; the limit is ${formatBytes(maxBytes)}.`,
    );
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new JsonDataError('arguments', 'The arguments are not valid JSON.');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new JsonDataError(
      'arguments',
      'The arguments must be an object with a property for each argument.',
    );
  checkParsed(value, 0, { members: MAX_JSON_MEMBERS });
  checkIntegers(text);
  return value as Record<string, unknown>;
}

/** Rejects structures that are too large, and keys that change the prototype of an object into which a tool merges them. */
function checkParsed(value: unknown, depth: number, budget: { members: number }): void {
  if (typeof value !== 'object' || value === null) return;
  if (depth >= MAX_JSON_DEPTH) throw tooDeep('arguments');
  for (const [key, member] of Object.entries(value)) {
    if (--budget.members < 0) throw tooManyMembers('arguments');
    const isPrototype =
      key === '__proto__' ||
      (key === 'constructor' && typeof member === 'object' && member !== null && 'prototype' in member);
    if (isPrototype && !Array.isArray(value))
      throw new JsonDataError('arguments', `The arguments contain the key "${key}", which is not allowed.`);
    checkParsed(member, depth + 1, budget);
  }
}

/** JSON.parse rounds integers beyond 2^53, such as large identifiers from other systems. */
function checkIntegers(text: string): void {
  if (!/\d{16}/.test(text)) return;
  let isInString = false;
  for (let at = 0; at < text.length; at++) {
    const c = text[at]!;
    if (isInString) {
      if (c === '\\') at++;
      else if (c === '"') isInString = false;
    } else if (c === '"') isInString = true;
    else if (c >= '0' && c <= '9') {
      let end = at + 1;
      while (end < text.length && isNumberCharacter(text.charCodeAt(end))) end++;
      checkInteger(text.slice(at, end));
      at = end;
    }
  }
}

const isNumberCharacter = (c: number) =>
  (c >= 48 && c <= 57) || c === 43 || c === 45 || c === 46 || c === 69 || c === 101;

function checkInteger(literal: string): void {
  if (literal.length < 16 || !/^\d+$/.test(literal)) return;
  if (literal.length <= 309 && BigInt(Number(literal)) === BigInt(literal)) return;
  throw new JsonDataError(
    'arguments',
    `The number ${literal.slice(0, 40)} cannot be represented exactly. Pass it as a string.`,
  );
}

/**
 * Checks the depth, the members and the text of a result before a schema checks it. Accepts values that are not JSON data,
 * which a schema may convert. Throws `JsonDataError`; getters may throw their own errors.
 */
export function checkResultSize(value: unknown, maxBytes: number): void {
  let members = MAX_JSON_MEMBERS;
  let rest = maxBytes;
  const take = (count: number) => {
    rest -= count;
    if (rest < 0) throw tooLarge(maxBytes);
  };
  const visit = (data: unknown, depth: number) => {
    if (typeof data === 'string') take(data.length);
    if (typeof data !== 'object' || data === null) return;
    if (depth >= MAX_JSON_DEPTH) throw tooDeep('result');
    if (ArrayBuffer.isView(data)) return take(data.byteLength);
    const names = Array.isArray(data) ? undefined : Object.keys(data);
    members -= names?.length ?? (data as unknown[]).length;
    if (members < 0) throw tooManyMembers('result');
    if (names === undefined) for (const item of data as unknown[]) visit(item, depth + 1);
    for (const name of names ?? []) {
      take(name.length);
      visit((data as Record<string, unknown>)[name], depth + 1);
    }
  };
  visit(value, 0);
}

/** Converts a value of the host to JSON text. Throws `JsonDataError`; getters and `toJSON` may throw their own errors. */
export function toJson(value: unknown, maxBytes: number): string {
  const writer = new JsonWriter(maxBytes);
  writer.write(value, 0, '');
  const text = writer.text();
  if (Buffer.byteLength(text) > maxBytes) throw tooLarge(maxBytes);
  return text;
}

class JsonWriter {
  readonly #parts: string[] = [];
  #chars = 0;
  #members = MAX_JSON_MEMBERS;
  constructor(readonly maxBytes: number) {}

  text(): string {
    return this.#parts.join('');
  }

  write(value: unknown, depth: number, key: string): void {
    const data = hasToJson(value) ? value.toJSON(key) : value;
    if (typeof data === 'object' && data !== null) this.#writeObject(data, depth, key);
    else this.#add(this.#primitive(data, key));
  }

  #primitive(value: unknown, key: string): string {
    if (value === undefined || value === null) return 'null';
    if (typeof value === 'boolean') return String(value);
    if (typeof value === 'string') {
      if (value.length > this.maxBytes) throw tooLarge(this.maxBytes);
      return JSON.stringify(value);
    }
    if (typeof value !== 'number') throw unsupported(`a ${typeof value}`, key);
    if (!Number.isFinite(value)) throw unsupported(String(value), key);
    return JSON.stringify(value);
  }

  #writeObject(value: object, depth: number, key: string): void {
    if (depth >= MAX_JSON_DEPTH) throw tooDeep('result');
    if (Array.isArray(value)) this.#writeArray(value, depth);
    else this.#writeMembers(value, depth, key);
  }

  #writeArray(value: readonly unknown[], depth: number): void {
    this.#add('[');
    for (let i = 0; i < value.length; i++) {
      this.#separate(i);
      this.write(value[i], depth + 1, String(i));
    }
    this.#add(']');
  }

  #writeMembers(value: object, depth: number, key: string): void {
    if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer)
      throw unsupported('binary data', key, 'Return it as base64 text.');
    if (value instanceof Map || value instanceof Set)
      throw unsupported('a Map or Set', key, 'Return a plain object or an array.');
    if (value instanceof Promise) throw unsupported('a promise', key, 'Await it.');
    this.#add('{');
    let count = 0;
    for (const name of Object.keys(value)) {
      const member = (value as Record<string, unknown>)[name];
      if (member === undefined) continue;
      this.#separate(count++);
      this.#add(`${JSON.stringify(name)}:`);
      this.write(member, depth + 1, name);
    }
    this.#add('}');
  }

  #separate(index: number): void {
    if (--this.#members < 0) throw tooManyMembers('result');
    if (index > 0) this.#add(',');
  }

  #add(part: string): void {
    this.#chars += part.length;
    if (this.#chars > this.maxBytes) throw tooLarge(this.maxBytes);
    this.#parts.push(part);
  }
}

function hasToJson(value: unknown): value is { toJSON(key: string): unknown } {
  if (typeof value !== 'object' || value === null || Buffer.isBuffer(value)) return false;
  return typeof (value as { toJSON?: unknown }).toJSON === 'function';
}

const tooLarge = (maxBytes: number) =>
  new JsonDataError(
    'result',
    `The result is larger than ${formatBytes(maxBytes)}. Request less data, for example one page, or use a filter.`,
  );
const tooDeep = (what: JsonDataError['what']) =>
  new JsonDataError(
    what,
    `The ${what} ${what === 'result' ? 'is' : 'are'} nested more than ${MAX_JSON_DEPTH} levels deep, or cyclic.`,
  );
const tooManyMembers = (what: JsonDataError['what']) =>
  new JsonDataError(
    what,
    `The ${what} ${what === 'result' ? 'has' : 'have'} more than ${formatCount(MAX_JSON_MEMBERS)} members and elements.`,
  );
const unsupported = (what: string, key: string, advice = '') =>
  new JsonDataError(
    'result',
    `The result contains ${what}${key === '' ? '' : ` in "${key.slice(0, 60)}"`}, which JSON cannot represent. ${advice}`.trimEnd(),
  );
