/** Starts session-process.mjs in a separate process. */
import { fileURLToPath } from 'node:url';
import { type Child, start } from '../stores/disk/start-process.ts';

const PROGRAM = fileURLToPath(new URL('session-process.mjs', import.meta.url));

export function startSessionProcess(action: 'run' | 'change', dir: string, input: unknown): Child {
  return start(process.execPath, [PROGRAM, action, dir, JSON.stringify(input)]);
}
