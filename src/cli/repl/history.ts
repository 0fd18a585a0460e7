/** The lines that were typed into `repl`, in a file that only the user can read. It never grows beyond a fixed number of lines. */
import { appendFileSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { stateFolder } from '../../host/user-folders.ts';

export const MAX_HISTORY_LINES = 1000;
/** Longer lines are not stored. */
const MAX_LINE_CHARS = 10_000;
const MODE = 0o600;

/** The file for a language. */
export const historyFile = (language: string) => join(stateFolder(), `repl-history-${language}`);

/** Lines, oldest first. A file that cannot be read is an empty history. */
export class History {
  readonly lines: readonly string[];
  #isWritable = true;

  constructor(readonly path: string) {
    this.lines = this.#read();
  }

  #read(): string[] {
    try {
      const lines = readFileSync(this.path, 'utf8').split('\n').filter(Boolean);
      const kept = lines.slice(-MAX_HISTORY_LINES);
      if (kept.length < lines.length) this.#replace(kept);
      return kept;
    } catch {
      return [];
    }
  }

  #replace(lines: readonly string[]): void {
    const temporary = `${this.path}.${process.pid}`;
    writeFileSync(temporary, lines.map((line) => `${line}\n`).join(''), { mode: MODE, flag: 'wx' });
    renameSync(temporary, this.path);
  }

  /** Appends a line. Without a writable folder, the history ends with the process. */
  add(line: string): void {
    if (!this.#isWritable || line.trim() === '' || line.length > MAX_LINE_CHARS) return;
    try {
      mkdirSync(dirname(this.path), { recursive: true, mode: 0o700 });
      appendFileSync(this.path, `${line}\n`, { mode: MODE });
    } catch {
      this.#isWritable = false;
    }
  }
}
