/**
 * The lines that were typed into `repl`, in a file that only the user can read. The file is bounded in lines and bytes. A
 * path that is not a regular file is neither read nor written, and a line never contains a control sequence.
 */
import { closeSync, constants, fchmodSync, fstatSync, openSync, readSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import {
  ensurePrivateFolder,
  escapeControls,
  PRIVATE_FILE,
  replaceFileSync,
  stateFolder,
} from '@llm-wasm-sandbox/core/internal';

export const MAX_HISTORY_LINES = 1000;
/** Longer lines are not stored. */
const MAX_LINE_CHARS = 10_000;
/** Only the end of a larger file is read. */
const MAX_FILE_BYTES = 1024 * 1024;

/** Windows lacks both flags. Without them, a link would be followed and a pipe would block. */
const SAFE_FLAGS = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
const READ_FLAGS = constants.O_RDONLY | SAFE_FLAGS;
const APPEND_FLAGS = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | SAFE_FLAGS;

/** The file for a language. */
export const historyFile = (language: string) => join(stateFolder(), `repl-history-${language}`);

/** Whether the line can be edited and shown: readline prints the lines of the history as they are. */
const isStored = (line: string) =>
  line.trim() !== '' &&
  line.length <= MAX_LINE_CHARS &&
  escapeControls(line).replaceAll('\\x09', '\t') === line;

/** Calls `use` with an open regular file. Throws if the path is anything else. */
function withFile<T>(path: string, flags: number, use: (fd: number, bytes: number) => T): T {
  const fd = openSync(path, flags, PRIVATE_FILE);
  try {
    const stat = fstatSync(fd);
    if (!stat.isFile()) throw new Error(`${path} is not a regular file.`);
    return use(fd, stat.size);
  } finally {
    closeSync(fd);
  }
}

/** Lines, oldest first. A file that cannot be read is an empty history. */
export class History {
  readonly lines: readonly string[];
  #isWritable = true;

  constructor(readonly path: string) {
    this.lines = this.#read();
  }

  #read(): string[] {
    try {
      return withFile(this.path, READ_FLAGS, (fd, bytes) => {
        const start = Math.max(0, bytes - MAX_FILE_BYTES);
        const buffer = Buffer.alloc(bytes - start);
        const text = buffer.toString('utf8', 0, readSync(fd, buffer, 0, buffer.length, start));
        const lines = text.split('\n').slice(start > 0 ? 1 : 0);
        const kept = lines.filter(isStored).slice(-MAX_HISTORY_LINES);
        if (start > 0 || lines.length > MAX_HISTORY_LINES + 1) this.#replace(kept);
        return kept;
      });
    } catch {
      return [];
    }
  }

  #replace(lines: readonly string[]): void {
    try {
      replaceFileSync(this.path, lines.map((line) => `${line}\n`).join(''));
    } catch {
      // The file would grow without bound.
      this.#isWritable = false;
    }
  }

  /** Appends a line. Without a writable file, the history ends with the process. */
  add(line: string): void {
    if (!this.#isWritable || !isStored(line)) return;
    try {
      ensurePrivateFolder(dirname(this.path));
      withFile(this.path, APPEND_FLAGS, (fd) => {
        fchmodSync(fd, PRIVATE_FILE);
        writeSync(fd, `${line}\n`);
      });
    } catch {
      this.#isWritable = false;
    }
  }
}
