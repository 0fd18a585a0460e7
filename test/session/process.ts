/** Starts child.mjs in a separate process. */
import { fileURLToPath } from 'node:url';
import { type Child, start } from '../stores/disk/start-process.ts';

const PROGRAM = fileURLToPath(new URL('child.mjs', import.meta.url));

export function startChild(act: 'run' | 'change', dir: string, detail: unknown): Child {
  return start(process.execPath, [PROGRAM, act, dir, JSON.stringify(detail)]);
}
