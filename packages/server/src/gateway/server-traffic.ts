/**
 * Limits what an MCP server sends. Bytes and members are counted before a message is parsed, so parsing takes the main
 * thread a bounded time. The allowances belong to the server, not to a connection: connecting again does not renew them.
 */
import { formatBytes, formatCount, formatDuration, MinuteAllowance } from '@llm-wasm-sandbox/core/internal';

/** The result of a tool is limited to 4 MiB. A server can send it as text and as structured content. */
const MAX_MESSAGE_BYTES = 10 * 1024 * 1024;
const MAX_MESSAGE_MEMBERS = 100_000;
const PERIOD_MS = 5000;
const MAX_PERIOD_BYTES = 64 * 1024 * 1024;
const MAX_PERIOD_MESSAGES = 500;
/** Memory of a member when it is parsed. */
const MEMBER_BYTES = 64;
/** The answer to a request, and notifications about its progress. */
const MESSAGES_PER_REQUEST = 4;

/** A server has exceeded a limit. */
export class TrafficError extends Error {}

/** What one server may send in total. */
export class ServerTraffic {
  readonly #allowances: Readonly<Record<'bytes' | 'messages', MinuteAllowance>>;

  constructor(now: () => number = () => performance.now()) {
    this.#allowances = {
      bytes: new MinuteAllowance(MAX_PERIOD_BYTES, now, PERIOD_MS),
      messages: new MinuteAllowance(MAX_PERIOD_MESSAGES, now, PERIOD_MS),
    };
  }

  /** Seconds until the server may send again; 0 if it may now. */
  get secondsToWait(): number {
    return Math.max(...Object.values(this.#allowances).map((allowance) => allowance.secondsToWait('')));
  }

  /** Allows the messages that a request of this process causes. */
  expectAnswer(): void {
    this.#allowances.messages.charge('', -MESSAGES_PER_REQUEST);
  }

  /** Throws `TrafficError`. */
  countMessage(): void {
    this.#charge('messages', 1, `${formatCount(MAX_PERIOD_MESSAGES)} messages without a request`);
  }

  /** Throws `TrafficError`. */
  countBytes(bytes: number, members: number): void {
    this.#charge('bytes', bytes + members * MEMBER_BYTES, formatBytes(MAX_PERIOD_BYTES));
  }

  #charge(kind: 'bytes' | 'messages', amount: number, limit: string): void {
    const allowance = this.#allowances[kind];
    const isExceeded = allowance.secondsToWait('') > 0;
    // A server that has sent too much is left alone for a whole period.
    allowance.charge('', isExceeded ? allowance.amount : amount);
    if (isExceeded) throw new TrafficError(`it sent more than ${limit} in ${formatDuration(PERIOD_MS)}`);
  }
}

const LF = 0x0a;
const CR = 0x0d;
const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;

/** Counts the bytes and members of the messages of one stream, chunk by chunk. */
class MessageMeter {
  #bytes = 0;
  #members = 0;
  #isInString = false;
  #isEscaped = false;

  constructor(readonly traffic: ServerTraffic) {}

  /** Counts a part of a message. Throws `TrafficError`. */
  add(part: Uint8Array): void {
    const members = this.#countMembers(part);
    this.#members += members;
    this.#bytes += part.length;
    if (this.#bytes > MAX_MESSAGE_BYTES)
      throw new TrafficError(`it sent a message that is longer than ${formatBytes(MAX_MESSAGE_BYTES)}`);
    if (this.#members > MAX_MESSAGE_MEMBERS)
      throw new TrafficError(
        `it sent a message with more than ${formatCount(MAX_MESSAGE_MEMBERS)} members and elements`,
      );
    this.traffic.countBytes(part.length, members);
  }

  /** A string of JSON contains no line end, so text that is not JSON cannot hide members that follow it. */
  #countMembers(part: Uint8Array): number {
    let members = 0;
    let isInString = this.#isInString;
    let isEscaped = this.#isEscaped;
    for (let i = 0; i < part.length; i++) {
      const byte = part[i]!;
      if (byte === LF || byte === CR) isInString = isEscaped = false;
      else if (isEscaped) isEscaped = false;
      else if (byte === QUOTE) isInString = !isInString;
      else if (isInString) isEscaped = byte === BACKSLASH;
      else if (byte === COMMA || byte === OPEN_BRACKET || byte === OPEN_BRACE) members++;
    }
    this.#isInString = isInString;
    this.#isEscaped = isEscaped;
    return members;
  }

  /** Ends a message. Throws `TrafficError`. */
  end(): void {
    if (this.#bytes > 0) this.traffic.countMessage();
    this.#bytes = this.#members = 0;
  }
}

/**
 * Splits a stream into lines. A line that is too long is rejected before it is complete, and is decoded chunk by chunk.
 */
export class MessageLines {
  readonly #meter: MessageMeter;
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  #line = '';

  constructor(traffic: ServerTraffic) {
    this.#meter = new MessageMeter(traffic);
  }

  /** The lines that a chunk completes. Throws `TrafficError`. */
  *read(chunk: Buffer): Generator<string> {
    for (let start = 0; start < chunk.length; ) {
      const end = chunk.indexOf(LF, start);
      const part = chunk.subarray(start, end < 0 ? chunk.length : end);
      this.#meter.add(part);
      this.#line += this.#decoder.decode(part, { stream: true });
      if (end < 0) return;
      this.#meter.end();
      const line = this.#line + this.#decoder.decode();
      this.#line = '';
      start = end + 1;
      if (line.trim() !== '') yield line;
    }
  }
}

/** `fetch` with limited messages. `onExceeded` is called when a server exceeds a limit; reading the response fails. */
export function limitedFetch(traffic: ServerTraffic, onExceeded: (error: TrafficError) => void) {
  return async (url: string | URL, init?: RequestInit): Promise<Response> => {
    if (init?.method === 'POST') traffic.expectAnswer();
    const response = await fetch(url, init);
    if (response.body === null) return response;
    const mediaType = response.headers.get('content-type')?.split(';', 1)[0]?.trim().toLowerCase();
    const meter = new MessageMeter(traffic);
    const count =
      mediaType === 'text/event-stream' ? eventCounter(meter) : (chunk: Uint8Array) => meter.add(chunk);
    const limit = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        try {
          count(chunk);
          controller.enqueue(chunk);
        } catch (error) {
          controller.error(error);
          onExceeded(error as TrafficError);
        }
      },
    });
    const { status, statusText, headers } = response;
    return new Response(response.body.pipeThrough(limit), { status, statusText, headers });
  };
}

/** Counts the events of an event stream as messages. An empty line ends an event. */
function eventCounter(meter: MessageMeter) {
  let lineLength = 0;
  let previous = 0;
  return (chunk: Uint8Array): void => {
    let start = 0;
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at]!;
      if (byte === CR || (byte === LF && previous !== CR)) {
        if (lineLength === 0) {
          meter.add(chunk.subarray(start, at));
          meter.end();
          start = at;
        }
        lineLength = 0;
      } else if (byte !== LF) lineLength++;
      previous = byte;
    }
    meter.add(chunk.subarray(start));
  };
}
