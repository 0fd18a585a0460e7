/** Reads programs from NDJSON, line by line. Invalid lines become errors and do not stop the others. */
import { stat } from 'node:fs/promises';
import { formatBytes, SandboxError } from '@llm-wasm-sandbox/core/internal';
import { UsageError } from './exit-codes.ts';

/** A longer line is reported as invalid and skipped. */
const MAX_LINE_BYTES = 64 * 1024 * 1024;
const NEWLINE = 0x0a;

/** Reads lines as they are needed. For a line that is not JSON, yields an error instead of a program. */
export class NdjsonPrograms {
  bytesRead = 0;

  constructor(readonly input: AsyncIterable<Uint8Array>) {}

  async *programs(): AsyncGenerator<unknown> {
    for await (const line of this.#lines()) {
      if (line === undefined) {
        const limit = formatBytes(MAX_LINE_BYTES);
        yield new SandboxError('invalid_argument', `The line is longer than ${limit}.`);
      } else if (line.trim() !== '') yield parseLine(line);
    }
  }

  /** Yields lines; undefined stands for one that is too long. */
  async *#lines(): AsyncGenerator<string | undefined> {
    let parts: Uint8Array[] = [];
    let length = 0;
    const add = (part: Uint8Array) => {
      length += part.length;
      if (length <= MAX_LINE_BYTES) parts.push(part);
      else parts = [];
    };
    const take = () => {
      const line = length > MAX_LINE_BYTES ? undefined : Buffer.concat(parts).toString();
      parts = [];
      length = 0;
      return line;
    };
    for await (const chunk of this.input) {
      this.bytesRead += chunk.length;
      let start = 0;
      for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
        add(chunk.subarray(start, end));
        yield take();
        start = end + 1;
      }
      add(chunk.subarray(start));
    }
    if (length > 0) yield take();
  }
}

function parseLine(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch (cause) {
    return new SandboxError('invalid_argument', `The line is not valid JSON: ${(cause as Error).message}`);
  }
}

/** The size of a file with programs. Reports a path that is not a readable file. */
export async function programFileSize(path: string): Promise<number> {
  const found = await stat(path).catch((cause: Error) => {
    throw new UsageError(`Cannot read ${path}: ${cause.message}`);
  });
  if (found.isDirectory())
    throw new UsageError(`${path} is a folder. Pass an NDJSON file, or - for standard input.`);
  return found.size;
}
