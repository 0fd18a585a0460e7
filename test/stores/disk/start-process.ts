/** Starts child processes and collects the lines that they print. */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';
import { onTestFinished } from 'vitest';
import { folderOfFile } from '../../support/folders.ts';

/** Bundles a program and returns the path of the bundle; it is removed after the tests of the calling file. */
export function buildProgram(source: URL): string {
  const dir = folderOfFile();
  const outfile = join(dir, 'program.mjs');
  buildSync({
    entryPoints: [fileURLToPath(source)],
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    // Optional dependencies of the database driver.
    external: ['pg-native', 'cloudflare:sockets'],
    banner: {
      js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
    },
    outfile,
  });
  // Some tests run the program as an unprivileged user.
  chmodSync(dir, 0o755);
  return outfile;
}

export interface Child {
  readonly process: ChildProcess;
  /** The lines printed so far. */
  readonly lines: string[];
  /** Resolves when the process has ended and all its output has arrived. */
  readonly ended: Promise<void>;
}

/** Starts a process that is killed at the end of the current test: one that does not end would keep Vitest from exiting. */
export function start(command: string, args: readonly string[], options: SpawnOptions = {}): Child {
  const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines: string[] = [];
  let rest = '';
  child.stdout!.setEncoding('utf8').on('data', (chunk: string) => {
    const parts = (rest + chunk).split('\n');
    rest = parts.pop()!;
    lines.push(...parts);
  });
  const ended = new Promise<void>((done, fail) => child.once('close', () => done()).once('error', fail));
  return { process: child, lines, ended };
}

/** Bundles store-program.ts. */
export const buildStoreProgram = () => buildProgram(new URL('store-program.ts', import.meta.url));
