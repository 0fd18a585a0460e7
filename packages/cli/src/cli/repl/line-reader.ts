/**
 * The lines that a person types or a pipe contains, one at a time. On a terminal, lines can be edited and Ctrl-C interrupts;
 * in a pipe, nothing is printed.
 */
import { createInterface, type Interface } from 'node:readline';
import { pipeline, Transform } from 'node:stream';
import { formatBytes, SerialQueue } from '@llm-wasm-sandbox/core/internal';
import { UsageError } from '../exit-codes.ts';
import { MAX_HISTORY_LINES } from './history.ts';

/** The person pressed Ctrl-C instead of completing a line. */
export const INTERRUPTED = Symbol('interrupted');
type Line = string | typeof INTERRUPTED | undefined;

interface LineReaderOptions {
  /** Lines of earlier sessions, oldest first. */
  readonly history: readonly string[];
  /** Words that the Tab key completes at the start of a line. */
  readonly words: readonly string[];
}

const INDENT = '    ';
/** A longer line in a pipe is an error. */
const MAX_LINE_BYTES = 64 * 1024 * 1024;
const NEWLINE = 0x0a;

export class LineReader {
  /** Whether a person types the lines. */
  readonly isTerminal = process.stdin.isTTY === true;
  /** Called if Ctrl-C is pressed while no line is being read. */
  onInterrupt: () => void = () => {};
  readonly #interface: Interface;
  readonly #lines: string[] = [];
  #isClosed = false;
  #failure: Error | undefined;
  #resolve: ((line: Line) => void) | undefined;
  readonly #turns = new SerialQueue();

  constructor({ history, words }: LineReaderOptions) {
    this.#interface = createInterface({
      input: this.isTerminal ? process.stdin : limitedInput(),
      terminal: this.isTerminal,
      // Standard output may be a pipe while a person types.
      ...(this.isTerminal && { output: process.stdout.isTTY ? process.stdout : process.stderr }),
      history: history.toReversed(),
      historySize: MAX_HISTORY_LINES,
      removeHistoryDuplicates: true,
      completer: (line: string) => [completions(line, words), line],
    });
    this.#interface.on('line', (line) => this.#receive(line));
    this.#interface.on('close', () => {
      this.#isClosed = true;
      this.#settle(undefined);
    });
    this.#interface.on('SIGINT', () => this.interrupt());
    this.#interface.on('error', (error) => {
      this.#failure = error;
      this.#interface.close();
    });
  }

  #receive(line: string): void {
    if (this.#resolve === undefined) this.#lines.push(line);
    else this.#settle(line);
    // A pipe is read as fast as its lines are used.
    if (!this.isTerminal && this.#resolve === undefined && !this.#isClosed) this.#interface.pause();
  }

  #settle(line: Line): void {
    const resolve = this.#resolve;
    this.#resolve = undefined;
    resolve?.(line);
  }

  /** Ctrl-C, or a signal with the same meaning. */
  interrupt(): void {
    if (this.#resolve === undefined) {
      this.#lines.length = 0;
      this.onInterrupt();
      return;
    }
    if (this.isTerminal) {
      process.stderr.write('^C\n');
      // Clears the line.
      this.#interface.write(null, { ctrl: true, name: 'e' });
      this.#interface.write(null, { ctrl: true, name: 'u' });
    }
    this.#settle(INTERRUPTED);
  }

  /**
   * The next line; undefined at the end, or when the signal aborts. Throws if the input cannot be read. Lines are given to
   * callers in the order of their calls.
   */
  next(prompt: () => string, signal?: AbortSignal): Promise<Line> {
    return this.#turns.run(async () => {
      if (signal?.aborted) return undefined;
      const line =
        this.#lines.shift() ?? (this.#isClosed ? undefined : await this.#nextReceived(prompt, signal));
      if (line === undefined && this.#failure !== undefined) throw this.#failure;
      return line;
    });
  }

  async #nextReceived(prompt: () => string, signal: AbortSignal | undefined): Promise<Line> {
    const received = new Promise<Line>((resolve) => {
      this.#resolve = resolve;
    });
    if (this.isTerminal) {
      this.#interface.setPrompt(prompt());
      this.#interface.prompt();
    } else this.#interface.resume();
    const stop = () => this.#settle(undefined);
    signal?.addEventListener('abort', stop);
    try {
      return await received;
    } finally {
      signal?.removeEventListener('abort', stop);
    }
  }

  close(): void {
    this.#interface.close();
  }
}

/** Standard input, which fails at a line that is too long. */
function limitedInput(): Transform {
  let bytes = 0;
  const limit = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const end = chunk.lastIndexOf(NEWLINE);
      bytes = end < 0 ? bytes + chunk.length : chunk.length - end - 1;
      if (bytes <= MAX_LINE_BYTES) done(null, chunk);
      else done(new UsageError(`A line of the input is longer than ${formatBytes(MAX_LINE_BYTES)}.`));
    },
  });
  // The interface receives the errors of both streams.
  return pipeline(process.stdin, limit, () => {});
}

/** Tab completes a word at the start of a line, and indents a line that has no text yet. */
function completions(line: string, words: readonly string[]): string[] {
  if (line.trim() === '') return [line + INDENT];
  return words.filter((word) => word.startsWith(line));
}
