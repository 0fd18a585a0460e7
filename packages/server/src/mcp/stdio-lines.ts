/**
 * Checks the messages on standard input, one per line, before they are parsed: their size, and the limits of HTTP bodies on
 * depth, members and identifiers. A message that exceeds one of these limits is dropped and answered with an error; one that
 * is too large closes the connection. Passes on complete lines only, and no line that cannot be a message. Nothing is read
 * while the client leaves answers unread.
 */
import { Transform, type TransformCallback } from 'node:stream';
import { JsonLimitScanner } from '@llm-wasm-sandbox/core/internal';
import { HttpError } from '../server/http-error.ts';
import { InvalidJson, JSON_LIMITS, parseJsonLine } from '../server/request-body.ts';

/** A longer line closes the connection. */
const MAX_LINE_BYTES = 10 * 1024 * 1024;
/** After so many messages, there must be room for their answers. */
const LINES_PER_TURN = 16;
const NEWLINE = 0x0a;
/** Space, tab and carriage return. */
const WHITESPACE = [0x20, 0x09, 0x0d];

/** Receives a JSON-RPC error for a message that is dropped. */
type Reject = (error: {
  readonly jsonrpc: '2.0';
  readonly id: string | number | null;
  readonly error: object;
}) => void;

export class CheckedLines extends Transform {
  #scanner = new JsonLimitScanner(JSON_LIMITS);
  #parts: Buffer[] = [];
  #bytes = 0;
  #problem: string | undefined;

  /** `room` resolves in a later turn of the event loop, when there is room for more answers. */
  constructor(
    readonly reject: Reject,
    readonly room: () => Promise<void>,
  ) {
    super();
  }

  override _transform(chunk: Buffer, _: BufferEncoding, done: TransformCallback): void {
    this.#check(chunk).then(() => done(), done);
  }

  async #check(chunk: Buffer): Promise<void> {
    let lines = 0;
    for (let start = 0; start < chunk.length; ) {
      const end = chunk.indexOf(NEWLINE, start);
      // Blank lines and other text cost almost nothing, however many there are.
      if (end >= 0 && this.#bytes === 0 && !mayBeMessage(chunk, start, end)) {
        start = end + 1;
        continue;
      }
      const part = chunk.subarray(start, end < 0 ? chunk.length : end + 1);
      this.#bytes += part.length;
      if (this.#bytes > MAX_LINE_BYTES)
        throw new Error(
          `A message on standard input exceeds the limit of ${MAX_LINE_BYTES} bytes. Send less data per message.`,
        );
      this.#problem ??= this.#scanner.scan(part);
      this.#parts.push(part);
      start += part.length;
      if (end < 0) return;
      this.#endLine();
      if (++lines % LINES_PER_TURN === 0) await this.room();
    }
    await this.room();
  }

  #endLine(): void {
    const line = Buffer.concat(this.#parts);
    const problem = this.#problem ?? textProblem(line);
    this.#scanner = new JsonLimitScanner(JSON_LIMITS);
    this.#parts = [];
    this.#bytes = 0;
    this.#problem = undefined;
    if (problem === undefined) this.push(line);
    else this.reject({ jsonrpc: '2.0', id: messageId(line), error: { code: -32_600, message: problem } });
  }
}

/** Whether a line begins like a JSON object or array. The transport ignores any other. */
function mayBeMessage(chunk: Buffer, start: number, end: number): boolean {
  let at = start;
  while (at < end && WHITESPACE.includes(chunk[at]!)) at++;
  return chunk[at] === OPEN_OBJECT || chunk[at] === OPEN_ARRAY;
}

/** A text in the message that is too long. Invalid JSON is left to the transport, which ignores it. */
function textProblem(line: Buffer): string | undefined {
  if (line.length <= JSON_LIMITS.identifierChars) return undefined;
  try {
    parseJsonLine(line.toString('utf8'));
    return undefined;
  } catch (cause) {
    if (cause instanceof InvalidJson) return undefined;
    if (cause instanceof HttpError) return cause.message;
    throw cause;
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];
const MEMBER_ID = /^"id"\s*:\s*(?:(-?\d{1,15})|"([^"\\]{0,256})")\s*[,}]/;
const MAX_MEMBER_CHARS = 400;

/** The id of a message, found in one pass without parsing it; null if there is none. */
function messageId(line: Buffer): string | number | null {
  let depth = 0;
  let isInString = false;
  for (let i = 0; i < line.length; i++) {
    const byte = line[i]!;
    if (isInString) {
      if (byte === BACKSLASH) i++;
      else if (byte === QUOTE) isInString = false;
      continue;
    }
    if (byte === QUOTE) {
      isInString = true;
      if (depth !== 1 || line[i + 1] !== 0x69 /* i */) continue;
      const match = MEMBER_ID.exec(line.toString('utf8', i, i + MAX_MEMBER_CHARS));
      if (match !== null) return match[1] === undefined ? match[2]! : Number(match[1]);
    } else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) depth++;
    else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) depth--;
  }
  return null;
}
