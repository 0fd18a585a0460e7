/**
 * Runs the garbage collector of this thread. V8 frees the memory of a WebAssembly instance only when it collects the instance,
 * and a thread that runs guests rarely allocates objects that would make it do so.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

let collect: (() => void) | undefined;

export function collectGarbage(): void {
  collect ??= (globalThis.gc as (() => void) | undefined) ?? findCollector();
  collect();
}

/** The flag only changes what new contexts contain. */
function findCollector(): () => void {
  setFlagsFromString('--expose-gc');
  try {
    return runInNewContext('gc') as () => void;
  } finally {
    setFlagsFromString('--no-expose-gc');
  }
}
