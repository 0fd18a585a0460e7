/**
 * JSON text of arguments and results. Depth, members and bytes are bounded in both directions, and a value that JSON cannot
 * represent exactly is an error, never a different value.
 */
import { formatBytes, formatCount } from '../quantities.ts';

const MAX_JSON_DEPTH = 64;
const MAX_RESULT_MEMBERS = 200_000;
/** Parsing, checking and encoding so many members takes the main thread a few milliseconds. */
const MAX_ARGUMENT_MEMBERS = 50_000;
/** Memory of an empty object and of the reference to it. */
const MEMBER_BYTES = 64;

/** Data that was rejected. */
export class JsonDataError extends Error {
  constructor(
    readonly what: 'arguments' | 'result',
    message: string,
  ) {
    super(message);
  }
}

/** The arguments of a call. `json` is `JSON.stringify(value)`: approval, record and call use the same data. */
export interface ToolArguments {
  readonly value: Record<string, unknown>;
  readonly json: string;
  readonly members: number;
  /** Estimate of the memory that the text and the value take. */
  readonly heldBytes: number;
}

/**
 * Reads the arguments of a call, which must be an object. Throws `JsonDataError`. Worker threads call this before they send
 * arguments, and the main thread calls it again, because a compromised process can send anything.
 */
export function readArguments(text: string, maxBytes: number): ToolArguments {
  const bytes = Buffer.byteLength(text);
  if (bytes > maxBytes)
    throw invalid(`The arguments are ${formatBytes(bytes)} long; the limit is ${formatBytes(maxBytes)}.`);
  const value = parseText(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalid('The arguments must be an object with a property for each argument.');
  const check = new ArgumentCheck();
  check.visit(value);
  checkIntegers(text);
  const json = JSON.stringify(value);
  // Different texts can mean the same: duplicate keys, -0, escapes and blanks.
  const canonical = json === text ? value : JSON.parse(json);
  const { members } = check;
  return { value: canonical, json, members, heldBytes: bytes + members * MEMBER_BYTES };
}

function parseText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw invalid('The arguments are not valid JSON.');
  }
}

/** Rejects structures that are too large, infinity, and keys that change the prototype of an object into which a tool merges them. */
class ArgumentCheck {
  members = 0;
  readonly #path: string[] = [];

  visit(value: unknown): void {
    if (typeof value === 'number' && !Number.isFinite(value))
      throw invalid(`The number at ${pathText(this.#path)} is too large. Pass it as a string.`);
    if (typeof value !== 'object' || value === null) return;
    if (this.#path.length >= MAX_JSON_DEPTH) throw tooDeep('arguments');
    const keys = Object.keys(value);
    this.members += keys.length;
    if (this.members > MAX_ARGUMENT_MEMBERS) throw tooManyMembers('arguments', MAX_ARGUMENT_MEMBERS);
    for (const key of keys) {
      const member = (value as Record<string, unknown>)[key];
      if (!Array.isArray(value) && isPrototype(key, member))
        throw invalid(`The arguments contain the key "${key}", which is not allowed.`);
      this.#path.push(key);
      this.visit(member);
      this.#path.pop();
    }
  }
}

const isPrototype = (key: string, member: unknown) =>
  key === '__proto__' ||
  (key === 'constructor' && typeof member === 'object' && member !== null && 'prototype' in member);

const pathText = (path: readonly string[]) => JSON.stringify(path.join('.').slice(0, 200));

/** JSON.parse rounds integers beyond 2^53, such as large identifiers from other systems. */
function checkIntegers(text: string): void {
  if (!/\d{16}/.test(text)) return;
  let isInString = false;
  for (let at = 0; at < text.length; at++) {
    const c = text.charCodeAt(at);
    if (c === QUOTE) isInString = !isInString;
    else if (isInString) at += c === BACKSLASH ? 1 : 0;
    else if (isNumberCharacter(c)) {
      const start = at;
      while (isNumberCharacter(text.charCodeAt(at + 1))) at++;
      if (at - start >= 15) checkInteger(text, start, at + 1);
    }
  }
}

const QUOTE = 34;
const BACKSLASH = 92;
const isNumberCharacter = (c: number) =>
  (c >= 48 && c <= 57) || c === 43 || c === 45 || c === 46 || c === 69 || c === 101;

function checkInteger(text: string, start: number, end: number): void {
  const literal = text.slice(start, end);
  if (!/^-?\d+$/.test(literal) || String(Number(literal)) === literal) return;
  throw invalid(
    `The number ${literal.slice(0, 40)} at ${pathText(pathAt(text, start))} cannot be represented exactly. Pass it as a string.`,
  );
}

/** The keys and indices that lead to the value at a position of a JSON text. */
function pathAt(text: string, position: number): string[] {
  const path: (string | number)[] = [];
  let last = '';
  for (const [token] of text.slice(0, position).matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"|[[\]{},:]/g)) {
    if (token === '{' || token === '[') path.push(token === '{' ? '' : 0);
    else if (token === '}' || token === ']') path.pop();
    else if (token === ':') path[path.length - 1] = String(JSON.parse(last));
    else if (token === ',' && typeof path.at(-1) === 'number') path.push((path.pop() as number) + 1);
    last = token;
  }
  return path.map(String);
}

/**
 * Checks the depth, the members and the text of a result before a schema checks it. Accepts values that are not JSON data,
 * which a schema may convert. Throws `JsonDataError`; getters may throw their own errors.
 */
export function checkResultSize(value: unknown, maxBytes: number): void {
  let members = MAX_RESULT_MEMBERS;
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
    if (members < 0) throw tooManyMembers('result', MAX_RESULT_MEMBERS);
    if (names === undefined) for (const item of data as unknown[]) visit(item, depth + 1);
    for (const name of names ?? []) {
      take(name.length);
      visit((data as Record<string, unknown>)[name], depth + 1);
    }
  };
  visit(value, 0);
}

/** Members that are written without a chance for other work. */
const MEMBERS_PER_STEP = 500;

/**
 * Converts a value of the host to JSON text. Throws `JsonDataError`; getters and `toJSON` may throw their own errors. The steps
 * can run in slices.
 */
export function* toJson(value: unknown, maxBytes: number): Generator<undefined, string> {
  const writer = new JsonWriter(maxBytes);
  writer.write(value, '');
  for (let members = 1; writer.continue(); members++) if (members % MEMBERS_PER_STEP === 0) yield;
  if (Buffer.byteLength(writer.text) > maxBytes) throw tooLarge(maxBytes);
  return writer.text;
}

/** An object or array of which some members are written. */
interface OpenValue {
  readonly value: object;
  /** The names of its members; undefined for an array. */
  readonly names: readonly string[] | undefined;
  /** Position of the next member. */
  next: number;
  isEmpty: boolean;
}

class JsonWriter {
  text = '';
  #members = MAX_RESULT_MEMBERS;
  readonly #open: OpenValue[] = [];
  constructor(readonly maxBytes: number) {}

  /** Writes a value; of an object or array, only its beginning. */
  write(value: unknown, key: string): void {
    const data = hasToJson(value) ? value.toJSON(key) : value;
    if (typeof data !== 'object' || data === null) {
      this.#add(this.#primitive(data, key));
      return;
    }
    if (this.#open.length >= MAX_JSON_DEPTH) throw tooDeep('result');
    const isArray = Array.isArray(data);
    if (!isArray) checkIsPlain(data, key);
    this.#add(isArray ? '[' : '{');
    this.#open.push({
      value: data,
      names: isArray ? undefined : Object.keys(data),
      next: 0,
      isEmpty: true,
    });
  }

  /** Writes the next member of the innermost value, or its end. Returns false if everything is written. */
  continue(): boolean {
    const open = this.#open.at(-1);
    if (open === undefined) return false;
    const { value, names } = open;
    const at = open.next++;
    if (at >= (names ?? (value as readonly unknown[])).length) {
      this.#open.pop();
      this.#add(names === undefined ? ']' : '}');
      return true;
    }
    const name = names?.[at] ?? String(at);
    const member = (value as Record<string, unknown>)[name];
    if (names !== undefined && member === undefined) return true;
    if (--this.#members < 0) throw tooManyMembers('result', MAX_RESULT_MEMBERS);
    if (!open.isEmpty) this.#add(',');
    open.isEmpty = false;
    if (names !== undefined) this.#add(`${JSON.stringify(name)}:`);
    this.write(member, name);
    return true;
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

  #add(part: string): void {
    if (this.text.length + part.length > this.maxBytes) throw tooLarge(this.maxBytes);
    this.text += part;
  }
}

function checkIsPlain(value: object, key: string): void {
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer)
    throw unsupported('binary data', key, 'Return it as base64 text.');
  if (value instanceof Map || value instanceof Set)
    throw unsupported('a Map or Set', key, 'Return a plain object or an array.');
  if (value instanceof Promise) throw unsupported('a promise', key, 'Await it.');
}

function hasToJson(value: unknown): value is { toJSON(key: string): unknown } {
  if (typeof value !== 'object' || value === null || Buffer.isBuffer(value)) return false;
  return typeof (value as { toJSON?: unknown }).toJSON === 'function';
}

const invalid = (message: string) => new JsonDataError('arguments', message);
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
const tooManyMembers = (what: JsonDataError['what'], max: number) =>
  new JsonDataError(
    what,
    `The ${what} ${what === 'result' ? 'has' : 'have'} more than ${formatCount(max)} members and elements.`,
  );
const unsupported = (what: string, key: string, advice = '') =>
  new JsonDataError(
    'result',
    `The result contains ${what}${key === '' ? '' : ` in "${key.slice(0, 60)}"`}, which JSON cannot represent. ${advice}`.trimEnd(),
  );
