/**
 * Finds secrets in a stream of bytes in one pass, in all forms that `docs/NETWORK.md` lists and in mixtures of them. The time is
 * proportional to the length of the stream, and what is held back does not depend on its contents: otherwise a program could have a
 * server repeat a guess and see whether a secret begins with it.
 */
import { CHARACTERS, EscapeTree, NOTHING } from './escapes.ts';
import { NetworkError } from './network-error.ts';

/** Escapes of escapes. */
const MAX_LAYERS = 2;
/** Longest form of one character in bytes. */
const MAX_ESCAPE = 32;
/** Places in a stream that are known at a time. A power of two, so that a slot is found fast. */
const SLOTS = 2 * MAX_ESCAPE;
/** Longest form of a secret, for each of its characters. */
const FORM_BYTES = 12;
/** Beginnings of one secret that can end at the same place of a text. */
const MAX_REPETITIONS = 64;
/** Beginnings of secrets that are known at one place in a stream: each is continued with every byte. */
const MAX_BEGUN = 512;

/** A program may learn about the length of a secret, but not its exact length. */
export const roughLength = (length: number) => Math.ceil(length / 16) * 16;

/** Units that mean nothing in an encoding: line breaks and separators are skipped, others end what was encoded. */
const SKIPPED = 0x200;
const FOREIGN = 0x100;
const BREAKS = '\0\r\n';

/** The unit of each character of an encoding. */
function alphabet(characters: string, skipped: string): Uint16Array {
  const units = new Uint16Array(CHARACTERS).fill(FOREIGN);
  for (let i = 0; i < characters.length; i++) units[characters.charCodeAt(i)] = i;
  for (const one of skipped) units[one.charCodeAt(0)] = SKIPPED;
  units[NOTHING] = SKIPPED;
  return units;
}

/** An alphabet in which a character has the unit of another one. */
function withSame(units: Uint16Array, pairs: string): Uint16Array {
  for (let i = 0; i < pairs.length; i += 2) units[pairs.charCodeAt(i)] = units[pairs.charCodeAt(i + 1)]!;
  return units;
}

const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const TEXT = alphabet(String.fromCharCode(...Array(256).keys()), BREAKS);
const IN_BASE64 = withSame(alphabet(BASE64, `${BREAKS} \t`), '-+_/');
const IN_HEX = withSame(alphabet('0123456789abcdefx', `${BREAKS} \t:,;-`), 'AaBbCcDdEeFfXx');
const IN_DECIMAL = alphabet('0123456789-', `${BREAKS} \t,;`);
const ALPHABETS = [TEXT, IN_BASE64, IN_HEX, IN_DECIMAL];

/** An encoded secret. */
interface EncodedSecret {
  readonly alphabet: number;
  readonly units: readonly number[];
  /** The bits of each unit that are those of the secret. */
  readonly masks: readonly number[];
  /** Whether the character before it also contains bits of the secret. */
  readonly isInside: boolean;
}

function pattern(alphabet: number, text: string): EncodedSecret {
  const units = Array.from(text, (one) => ALPHABETS[alphabet]![one.charCodeAt(0)]!);
  return { alphabet, units, masks: units.map(() => 0xff), isInside: false };
}

/** Bytes in base64 after `before` others. The first and the last character can contain bits of the others. */
function insideBase64(bytes: Buffer, before: number): EncodedSecret {
  const unitsOf = (middle: Buffer) => {
    const text = Buffer.concat([Buffer.alloc(before), middle, Buffer.alloc(1)]).toString('base64');
    return pattern(1, text.replaceAll('=', '')).units.slice(before === 0 ? 0 : before + 1);
  };
  const masks = unitsOf(Buffer.alloc(bytes.length, 0xff));
  const used = masks.findLastIndex((mask) => mask !== 0) + 1;
  return {
    alphabet: 1,
    units: unitsOf(bytes).slice(0, used),
    masks: masks.slice(0, used),
    isInside: before > 0,
  };
}

function patternsOf(bytes: Buffer): EncodedSecret[] {
  const hex = bytes.toString('hex');
  return [
    pattern(0, bytes.toString('latin1')),
    ...[0, 1, 2].map((before) => insideBase64(bytes, before)),
    pattern(2, hex),
    pattern(2, hex.replace(/../g, '0x$&')),
    pattern(3, [...bytes].join('')),
    ...(bytes.some((byte) => byte > 0x7f) ? [pattern(3, new Int8Array(bytes).join(''))] : []),
  ];
}

function formsOf(value: string): EncodedSecret[] {
  const [latin1, utf8] = [Buffer.from(value, 'latin1'), Buffer.from(value)];
  const inText = (latin1.equals(utf8) ? [latin1] : [latin1, utf8]).flatMap(patternsOf);
  // UTF-16 in both byte orders, without the zero at one of its ends. In texts, zeros are skipped.
  const wide = Buffer.from(value, 'utf16le').subarray(0, -1);
  const inWide = patternsOf(wide).filter(({ alphabet }) => alphabet > 0);
  return [...inText, ...inWide];
}

/** The most beginnings of a form that end with one another. The first unit may have bits of other bytes: it does not count. */
function countRepetitions([, ...units]: readonly number[]): number {
  const overlaps = [-1, 0];
  const counts = [0, 1];
  let overlap = 0;
  for (let length = 1; length < units.length; length++) {
    while (overlap >= 0 && units[overlap] !== units[length]) overlap = overlaps[overlap]!;
    overlaps.push(++overlap);
    counts.push(counts[overlap]! + 1);
  }
  return Math.max(...counts);
}

/** Whether many beginnings of a secret end with one another, as if it had 100 equal characters. Searching for it would be slow. */
export const repeatsItself = (value: string) =>
  formsOf(value).some(({ units }) => countRepetitions(units) > MAX_REPETITIONS);

export interface SearchedSecret {
  readonly value: string;
  readonly replacement: string;
}

/** The secrets of a sandbox, prepared for searching. */
export class SecretSearch {
  readonly escapes: EscapeTree;
  readonly replacements: readonly Buffer[];
  /** Bytes at the end of what was received that could be the beginning of a secret. */
  readonly heldBytes: number;
  readonly units: Uint16Array;
  readonly masks: Uint16Array;
  readonly alphabets: Uint8Array;
  /** The secret that ends with a unit; -1 for other units. */
  readonly ends: Int16Array;
  /** The step of a scan at which a unit was last expected, and its index among those that are expected then. */
  readonly expectedAt: Float64Array;
  readonly index: Uint32Array;
  /** The number of steps of all scans. */
  step = 0;
  /** The places of the first units of patterns, by character. Inside base64, a secret begins in the character before. */
  readonly first: readonly number[][] = Array.from({ length: CHARACTERS }, () => []);
  readonly inside: readonly number[][] = Array.from({ length: CHARACTERS }, () => []);
  /** Whether a character neither begins a secret nor an escape. */
  readonly isPlain = new Uint8Array(CHARACTERS);

  constructor(secrets: readonly SearchedSecret[]) {
    this.escapes = EscapeTree.for(secrets.map(({ value }) => value));
    this.replacements = secrets.map(({ replacement }) => Buffer.from(replacement, 'latin1'));
    this.heldBytes = Math.max(0, ...secrets.map(({ value }) => FORM_BYTES * roughLength(value.length)));
    const patterns = secrets.flatMap(({ value }, secret) =>
      formsOf(value).map((pattern) => ({ ...pattern, secret })),
    );
    const count = patterns.reduce((sum, { units }) => sum + units.length, 0);
    this.units = new Uint16Array(count);
    this.masks = new Uint16Array(count);
    this.alphabets = new Uint8Array(count);
    this.ends = new Int16Array(count).fill(-1);
    this.expectedAt = new Float64Array(count);
    this.index = new Uint32Array(count);
    let place = 0;
    for (const pattern of patterns) {
      this.#place(pattern, place);
      place += pattern.units.length;
      this.ends[place - 1] = pattern.secret;
    }
    for (let code = 0; code < CHARACTERS; code++)
      if (this.first[code]!.length + this.inside[code]!.length === 0 && !this.escapes.canBegin(code))
        this.isPlain[code] = 1;
  }

  #place({ alphabet, units, masks, isInside }: EncodedSecret, place: number): void {
    this.units.set(units, place);
    // Units of other characters never match.
    this.masks.set(
      masks.map((mask) => mask | SKIPPED | FOREIGN),
      place,
    );
    this.alphabets.fill(alphabet, place, place + units.length);
    const beginning = isInside ? this.inside : this.first;
    ALPHABETS[alphabet]!.forEach((unit, code) => {
      if ((unit & this.masks[place]!) === units[0]) beginning[code]!.push(place);
    });
  }
}

/** Numbers in rows. Clearing it keeps its memory. */
class Rows {
  readonly values: number[] = [];
  size = 0;

  add(one: number, two: number): void {
    this.values[this.size++] = one;
    this.values[this.size++] = two;
  }

  /** Adds a row of three, unless there is one with the same first two and a third that is not greater. */
  addOnce(one: number, two: number, three: number): void {
    const { values, size } = this;
    for (let i = 0; i < size; i += 3)
      if (values[i] === one && values[i + 1] === two && values[i + 2]! <= three) return;
    this.add(one, two);
    this.values[this.size++] = three;
  }
}

/** What is known about one place in a stream. */
class StreamPlace {
  /** Secrets that have begun: the place of the unit that comes next, and the beginning in the stream. */
  readonly begun = new Rows();
  /** Escapes that have begun: the node, the beginning in the stream, and the number of layers below. */
  readonly escapes = new Rows();
  /** Where the last character of base64 begins. */
  before = 0;

  clear(place: number): void {
    this.begun.size = 0;
    this.escapes.size = 0;
    this.before = place;
  }
}

interface Found {
  start: number;
  readonly end: number;
  readonly secret: number;
}

/** The search in one stream. */
export class SecretScan {
  readonly #search: SecretSearch;
  readonly #slots: readonly StreamPlace[] = Array.from({ length: SLOTS }, () => new StreamPlace());
  /** Characters that end at the current place: the place where each begins, the character, and its layers. */
  readonly #read = new Rows();
  /** Where secrets are in what was not yet taken, in order. */
  readonly #found: Found[] = [];
  /** What was not yet taken. */
  readonly #pieces: Uint8Array[] = [];
  #taken = 0;
  #length = 0;

  constructor(search: SecretSearch) {
    this.#search = search;
  }

  /** Adds bytes. Returns the bytes that can be passed on. */
  add(bytes: Uint8Array): Buffer {
    this.#pieces.push(bytes);
    for (let i = 0; i < bytes.length; i++) this.#step(bytes[i]!);
    return this.#take(this.#length - this.#search.heldBytes);
  }

  /** Returns the remaining bytes. The scan can then be used for another stream. */
  end(): Buffer {
    const bytes = this.#take(this.#length);
    for (const slot of this.#slots) slot.clear(0);
    this.#length = this.#taken = 0;
    return bytes;
  }

  #step(byte: number): void {
    const { isPlain, escapes } = this.#search;
    const place = this.#length++;
    const { begun, escapes: escaped } = this.#slots[place & (SLOTS - 1)]!;
    const next = this.#slots[this.#length & (SLOTS - 1)]!;
    next.clear(this.#length);
    this.#search.step++;
    if (escaped.size === 0 && !escapes.canBegin(byte)) {
      if (begun.size === 0 && isPlain[byte] === 1) this.#note(place, byte);
      else this.#continueSecrets(place, byte);
      return;
    }
    this.#readAll(place, byte);
  }

  /** Reads a byte, and all characters whose escapes end with it. */
  #readAll(place: number, byte: number): void {
    const read = this.#read;
    read.size = 0;
    read.addOnce(place, byte, 0);
    for (let i = 0; i < read.size; i += 3) {
      const [start, code, layers] = [read.values[i]!, read.values[i + 1]!, read.values[i + 2]!];
      this.#continueSecrets(start, code);
      if (layers === MAX_LAYERS) continue;
      const { values, size } = this.#slots[start & (SLOTS - 1)]!.escapes;
      for (let k = 0; k < size; k += 3)
        this.#continueEscape(values[k]!, code, values[k + 1]!, Math.max(layers, values[k + 2]!));
      this.#continueEscape(0, code, start, layers);
    }
  }

  /** Notes the place of a character of base64: it can contain the first bits of a secret. */
  #note(start: number, code: number): void {
    const unit = IN_BASE64[code]!;
    if (unit === FOREIGN) return;
    const next = this.#slots[this.#length & (SLOTS - 1)]!;
    const before = unit === SKIPPED ? this.#slots[start & (SLOTS - 1)]!.before : start;
    if (before < next.before) next.before = before;
  }

  /** An escape that began at `start` continues with a character that ends at the current place. */
  #continueEscape(node: number, code: number, start: number, layers: number): void {
    const next = this.#search.escapes.next(node, code);
    if (next === undefined || this.#length - start > MAX_ESCAPE) return;
    this.#slots[this.#length & (SLOTS - 1)]!.escapes.addOnce(next, start, layers);
    const end = this.#search.escapes.endOf(next);
    if (end >= 0) this.#read.addOnce(start, end, layers + 1);
  }

  /** Secrets that have begun before `start`, and others, continue with a character from there to the current place. */
  #continueSecrets(start: number, code: number): void {
    this.#note(start, code);
    const { units, masks, alphabets, first, inside } = this.#search;
    const { begun, before } = this.#slots[start & (SLOTS - 1)]!;
    const { values, size } = begun;
    for (let i = 0; i < size; i += 2) {
      const place = values[i]!;
      const unit = ALPHABETS[alphabets[place]!]![code]!;
      if (unit === SKIPPED) this.#expect(place, values[i + 1]!);
      else if ((unit & masks[place]!) === units[place]) this.#pass(place, values[i + 1]!);
    }
    for (const place of first[code]!) this.#pass(place, start);
    for (const place of inside[code]!) this.#pass(place, before);
  }

  /** A character of a secret was found. */
  #pass(unit: number, start: number): void {
    const secret = this.#search.ends[unit]!;
    if (secret < 0) this.#expect(unit + 1, start);
    else this.#add(Math.max(start, this.#length - this.#search.heldBytes), secret);
  }

  /** Of beginnings that lead to the same unit, the first one counts. */
  #expect(unit: number, start: number): void {
    const { begun } = this.#slots[this.#length & (SLOTS - 1)]!;
    const { expectedAt, index } = this.#search;
    const known = index[unit]!;
    if (expectedAt[unit] === this.#search.step) {
      begun.values[known] = Math.min(begun.values[known]!, start);
      return;
    }
    if (begun.size === 2 * MAX_BEGUN)
      throw new NetworkError(
        'limit',
        'the response has too many parts of secrets that overlap to be searched for secrets',
      );
    expectedAt[unit] = this.#search.step;
    begun.add(unit, start);
    index[unit] = begun.size - 1;
  }

  /** Notes a secret that ends at the current place. Secrets that overlap are replaced together. */
  #add(start: number, secret: number): void {
    let first = start;
    for (let last = this.#found.at(-1); last !== undefined && last.end > first; last = this.#found.at(-1)) {
      first = Math.min(first, last.start);
      this.#found.pop();
    }
    this.#found.push({ start: first, end: this.#length, secret });
  }

  /** The bytes before a place, with replacements. A secret that ends after it stays. */
  #take(end: number): Buffer {
    const parts: Uint8Array[] = [];
    let count = 0;
    for (const { start, end: foundEnd, secret } of this.#found) {
      if (foundEnd > end) break;
      parts.push(...this.#skipTo(start), this.#search.replacements[secret]!);
      this.#skipTo(foundEnd);
      count++;
    }
    this.#found.splice(0, count);
    parts.push(...this.#skipTo(Math.min(end, this.#found[0]?.start ?? end)));
    return Buffer.concat(parts);
  }

  /** Removes the bytes before a place, and returns them. */
  #skipTo(end: number): Uint8Array[] {
    const parts: Uint8Array[] = [];
    while (this.#taken < end) {
      const piece = this.#pieces[0]!;
      const part = piece.subarray(0, end - this.#taken);
      parts.push(part);
      this.#taken += part.length;
      if (part.length === piece.length) this.#pieces.shift();
      else this.#pieces[0] = piece.subarray(part.length);
    }
    return parts;
  }
}
