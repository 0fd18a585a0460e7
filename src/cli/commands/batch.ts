/** `batch run`: runs the programs of an NDJSON file and prints one result per line, in the same order. */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { Option } from 'commander';
import { SandboxError } from '../../errors.ts';
import { formatBytes, formatCount, formatDuration, formatItems } from '../../quantities.ts';
import { type BatchResult, runBatch } from '../../session/batch.ts';
import type { CommandDetails } from '../command.ts';
import { UsageError } from '../exit-codes.ts';
import { parseBytesOption, parseCountOption, parseFuelOption, parseSecondsOption } from '../options.ts';

interface BatchFlags {
  readonly jobs?: number;
  readonly fuel?: number;
  readonly timeout?: number;
  readonly memory?: number;
}

/** A longer line is reported as invalid and skipped. */
const MAX_LINE_BYTES = 64 * 1024 * 1024;
const PROGRESS_INTERVAL_MS = 200;
const NEWLINE = 0x0a;

async function runFile(path: string | undefined, flags: BatchFlags): Promise<void> {
  const isFile = path !== undefined && path !== '-';
  const totalBytes = isFile ? await fileSize(path) : undefined;
  const cancel = new AbortController();
  const stop = () => cancel.abort();
  process.once('SIGINT', stop).once('SIGTERM', stop);
  const input = isFile ? createReadStream(path) : process.stdin;
  const reader = new LineReader(input);
  const progress = new Progress(totalBytes, reader);
  const { jobs, fuel, timeout, memory } = flags;
  const policy = {
    ...(fuel !== undefined && { fuel_budget: fuel }),
    ...(timeout !== undefined && { timeout_seconds: timeout }),
    ...(memory !== undefined && { memory_bytes: memory }),
  };
  const options = { policy, signal: cancel.signal, ...(jobs !== undefined && { jobs }) };
  for await (const result of runBatch(reader.programs(), options)) {
    progress.count(result);
    if (!process.stdout.write(`${JSON.stringify(result)}\n`))
      await new Promise((resolve) => process.stdout.once('drain', resolve));
  }
  // Standard input that stays open would keep a cancelled process running.
  input.destroy();
  process.off('SIGINT', stop).off('SIGTERM', stop);
  progress.end(cancel.signal.aborted);
  if (cancel.signal.aborted) process.exitCode = 130;
  else if (progress.invalid > 0) process.exitCode = 1;
}

async function fileSize(path: string): Promise<number> {
  const found = await stat(path).catch((cause: Error) => {
    throw new UsageError(`Cannot read ${path}: ${cause.message}`);
  });
  if (found.isDirectory())
    throw new UsageError(`${path} is a folder. Pass an NDJSON file, or - for standard input.`);
  return found.size;
}

/** Reads lines as they are needed. For a line that is not JSON, yields an error instead of a program. */
class LineReader {
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

/** Counts results. On a terminal, a line on standard error shows them while the batch runs; a summary follows in any case. */
class Progress {
  readonly #startedAt = performance.now();
  #shownAt = Number.NEGATIVE_INFINITY;
  #programs = 0;
  #failed = 0;
  invalid = 0;

  constructor(
    readonly totalBytes: number | undefined,
    readonly reader: LineReader,
  ) {}

  count({ result }: BatchResult): void {
    this.#programs++;
    if (result === undefined) this.invalid++;
    else if (!result.success) this.#failed++;
    const now = performance.now();
    if (!process.stderr.isTTY || now - this.#shownAt < PROGRESS_INTERVAL_MS) return;
    this.#shownAt = now;
    const share = this.totalBytes
      ? ` ${Math.floor((100 * this.reader.bytesRead) / this.totalBytes)} % read,`
      : '';
    const rate = formatCount(Math.round((1000 * this.#programs) / (now - this.#startedAt)));
    process.stderr.write(`\r\x1b[K${this.#summary},${share} ${rate} per second`);
  }

  end(isCancelled: boolean): void {
    const duration = formatDuration(performance.now() - this.#startedAt);
    const start = process.stderr.isTTY ? '\r\x1b[K' : '';
    process.stderr.write(`${start}${isCancelled ? 'Cancelled: ' : ''}${this.#summary}, ${duration}\n`);
  }

  get #summary(): string {
    const invalid = this.invalid > 0 ? `, ${formatCount(this.invalid)} could not be run` : '';
    return `${formatItems(this.#programs, 'program')}, ${formatCount(this.#failed)} failed${invalid}`;
  }
}

export const batchCommand: CommandDetails = {
  subcommands: [
    {
      name: 'run',
      description: 'Run the programs of an NDJSON file and print their results as NDJSON',
      arguments: {
        '[FILE]':
          'File with one program per line, {"code": "...", "language"?, "id"?, "stdin"?, "files"?, "args"?, "fuel_budget"?, "timeout_seconds"?} (default: standard input)',
      },
      options: [
        new Option(
          '--jobs <N>',
          `Programs that run at the same time (default: one per CPU core, here ${availableParallelism()})`,
        ).argParser(parseCountOption),
        new Option('--fuel <N>', 'Maximum number of instructions of each program, e.g. 20B').argParser(
          parseFuelOption,
        ),
        new Option('--timeout <SECONDS>', 'Maximum running time of each program').argParser(
          parseSecondsOption,
        ),
        new Option('--memory <BYTES>', 'Maximum memory of each program, e.g. 512Mi').argParser(
          parseBytesOption,
        ),
      ],
      examples: [
        'batch run programs.ndjson > results.ndjson',
        'batch run --jobs 8 --timeout 5 < programs.ndjson',
      ],
      action: ([path], flags) => runFile(path, flags as BatchFlags),
    },
  ],
};
