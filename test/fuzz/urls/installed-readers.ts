/** urllib and libcurl of this machine. None if Python is not installed. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { ReadUrl } from './readers.ts';

const SCRIPT = fileURLToPath(new URL('installed_readers.py', import.meta.url));

export interface InstalledReaders {
  /** How each of the installed programs reads a URL. */
  read(url: string): Promise<Readonly<Record<string, ReadUrl | null>>>;
  close(): Promise<void>;
}

export async function startInstalledReaders(): Promise<InstalledReaders | undefined> {
  const child = spawn('python3', ['-I', SCRIPT], { stdio: ['pipe', 'pipe', 'inherit'] });
  const isStarted = await once(child, 'spawn').then(
    () => true,
    () => false,
  );
  if (!isStarted) return undefined;
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  return {
    async read(url) {
      child.stdin.write(`${JSON.stringify(url)}\n`);
      const { value, done } = await lines.next();
      if (done) throw new Error('the readers have ended');
      return JSON.parse(value);
    },
    async close() {
      const ended = once(child, 'exit');
      child.stdin.end();
      await ended;
    },
  };
}
