/** Starts processes that run child.ts. */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';
import { afterAll } from 'vitest';

/** Makes the program, which is removed after the tests of the file that asked for it. */
export function buildChild(): string {
  const dir = mkdtempSync(join(tmpdir(), 'store-child-'));
  afterAll(() => rmSync(dir, { recursive: true, force: true }));
  const outfile = join(dir, 'child.mjs');
  const entry = fileURLToPath(new URL('child.ts', import.meta.url));
  buildSync({
    entryPoints: [entry],
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    outfile,
  });
  // Some tests run it as a user with fewer rights.
  chmodSync(dir, 0o755);
  return outfile;
}

export interface Child {
  readonly process: ChildProcess;
  /** Lines so far. */
  readonly lines: string[];
  /** Resolves once it has ended and all it said has arrived. */
  readonly ended: Promise<void>;
}

export function start(command: string, args: readonly string[], options: SpawnOptions = {}): Child {
  const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'inherit'] });
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
