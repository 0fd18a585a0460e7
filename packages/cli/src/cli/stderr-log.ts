/**
 * The log of a server process: JSON lines on standard error, because standard output carries the protocol. Writing never
 * blocks and never throws: lines that a slow reader or a full disk does not accept are dropped and counted.
 */
import { fstatSync, writeSync } from 'node:fs';
import { pollUntil } from '@llm-wasm-sandbox/core/internal';
import type { ServerLog } from '@llm-wasm-sandbox/server/mcp';
import { type DestinationStream, pino } from 'pino';

const STDERR = 2;
/** Bytes that wait for a reader of standard error. Further lines are dropped. */
const MAX_BUFFERED_BYTES = 256 * 1024;

/** Where log lines go. */
interface LineSink {
  /** Returns false if the line was dropped. */
  write(line: string): boolean;
  readonly bufferedBytes: number;
}

/** Node writes to pipes and sockets asynchronously, so the buffer in front of them has to be limited. */
function pipeSink(stream: NodeJS.WriteStream): LineSink {
  return {
    write(line) {
      if (stream.destroyed || stream.writableLength + line.length > MAX_BUFFERED_BYTES) return false;
      stream.write(line);
      return true;
    },
    get bufferedBytes() {
      return stream.destroyed ? 0 : stream.writableLength;
    },
  };
}

/** Files accept every write at once or fail, for example because the disk is full. */
const fileSink: LineSink = {
  write(line) {
    const bytes = Buffer.from(line);
    return writeSync(STDERR, bytes) === bytes.length;
  },
  bufferedBytes: 0,
};

function isPipe(): boolean {
  try {
    const stat = fstatSync(STDERR);
    return stat.isFIFO() || stat.isSocket();
  } catch {
    return false;
  }
}

class StderrLines implements DestinationStream {
  readonly #sink = isPipe() ? pipeSink(process.stderr) : fileSink;
  #dropped = 0;

  write(line: string): void {
    if (this.#dropped > 0 && this.#tryWrite(droppedEvent(this.#dropped))) this.#dropped = 0;
    if (!this.#tryWrite(line)) this.#dropped++;
  }

  #tryWrite(line: string): boolean {
    try {
      return this.#sink.write(line);
    } catch {
      return false;
    }
  }

  /** Waits until all lines are written, but not longer than `timeoutMs`. */
  async flush(timeoutMs: number): Promise<void> {
    await pollUntil(() => this.#sink.bufferedBytes === 0, timeoutMs);
  }
}

function droppedEvent(lines: number): string {
  return `${JSON.stringify({ level: 40, time: Date.now(), event: 'log.dropped', lines, msg: 'log lines were dropped' })}\n`;
}

const lines = new StderrLines();

export function createStderrLog(level: string): ServerLog {
  return pino({ name: 'llm-wasm-sandbox', level }, lines);
}

/** Writes a line of text for the user, with the same guarantees as a log event. */
export function printToStderr(text: string): void {
  lines.write(`${text}\n`);
}

/** Waits until the log is written, but not longer than `timeoutMs`. */
export function flushStderrLog(timeoutMs: number): Promise<void> {
  return lines.flush(timeoutMs);
}
