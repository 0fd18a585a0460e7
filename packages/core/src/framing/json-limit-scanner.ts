/** Limits the depth and size of JSON text before it is parsed, so that parsing untrusted text takes bounded time and memory. */

export interface JsonLimits {
  /** Nesting depth of arrays and objects. */
  readonly depth: number;
  /** Elements of arrays and members of objects. */
  readonly members: number;
  /** Characters of a number or literal. */
  readonly literalChars: number;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Counts depth and members of JSON text, chunk by chunk and in constant memory. It does not validate the text. */
export class JsonLimitScanner {
  #depth = 0;
  #members = 0;
  #literalChars = 0;
  #isInString = false;
  #isEscaped = false;

  constructor(readonly limits: JsonLimits) {}

  /** Returns a description of the limit that the text exceeds, or undefined. */
  scan(chunk: Uint8Array): string | undefined {
    for (let i = 0; i < chunk.length; i++) {
      if (this.#isInString) i = this.#endOfString(chunk, i);
      else {
        const problem = this.#structure(chunk[i]!);
        if (problem !== undefined) return problem;
      }
    }
    return undefined;
  }

  /** The index of the quote that ends the string, or the length of the chunk. Most of a large message is in strings. */
  #endOfString(chunk: Uint8Array, start: number): number {
    let isEscaped = this.#isEscaped;
    const quote = chunk.indexOf(QUOTE, start);
    const end = quote < 0 ? chunk.length : quote;
    if (!isEscaped && !chunk.subarray(start, end).includes(BACKSLASH)) {
      this.#isInString = quote < 0;
      return end;
    }
    let i = start;
    for (; i < chunk.length; i++) {
      const byte = chunk[i];
      if (isEscaped) isEscaped = false;
      else if (byte === BACKSLASH) isEscaped = true;
      else if (byte === QUOTE) {
        this.#isInString = false;
        break;
      }
    }
    this.#isEscaped = isEscaped;
    return i;
  }

  #structure(byte: number): string | undefined {
    switch (byte) {
      case QUOTE:
        this.#isInString = true;
        break;
      case 0x5b: // [
      case 0x7b: // {
        this.#members++;
        if (++this.#depth > this.limits.depth)
          return `arrays and objects are nested more than ${this.limits.depth} levels deep`;
        break;
      case 0x5d: // ]
      case 0x7d: // }
        this.#depth--;
        break;
      case 0x2c: // ,
        this.#members++;
        break;
      case 0x3a: // :
      case 0x20:
      case 0x09:
      case 0x0a:
      case 0x0d:
        break;
      default:
        if (++this.#literalChars > this.limits.literalChars)
          return `a number or literal has more than ${this.limits.literalChars} characters`;
        return undefined;
    }
    this.#literalChars = 0;
    if (this.#members <= this.limits.members) return undefined;
    return `there are more than ${this.limits.members} members and elements`;
  }
}

/** Parses JSON text within limits. Throws `SyntaxError`. */
export function parseLimitedJson(bytes: Uint8Array, limits: JsonLimits): unknown {
  const problem = new JsonLimitScanner(limits).scan(bytes);
  if (problem !== undefined) throw new SyntaxError(problem);
  return JSON.parse(new TextDecoder().decode(bytes));
}
