/**
 * Runs the garbage collector of this thread. V8 frees the memory of a WebAssembly instance only when it collects the instance,
 * and a thread that runs guests rarely allocates objects that would make it do so.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const MAX_ATTEMPTS = 1000;

let collect: (() => void) | undefined;

export function collectGarbage(): void {
  collect ??= (globalThis.gc as (() => void) | undefined) ?? findCollector();
  collect();
}

/**
 * The flag only changes what new contexts contain. It belongs to the process, so another thread that looks for the collector can
 * reset it in between; then this thread tries again.
 */
function findCollector(): () => void {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    setFlagsFromString('--expose-gc');
    const found: (() => void) | undefined = runInNewContext('globalThis.gc');
    setFlagsFromString('--no-expose-gc');
    if (found !== undefined) return found;
  }
  throw new Error('V8 does not provide its garbage collector.');
}
