/**
 * V8 flags, which only change when code is compiled. Most are for processes that run nothing but this program: in a process of
 * an application V8 would reject the code caches of that application. A version of V8 that does not know a flag prints an
 * error, so versions of Node.js that have not been tested get none.
 */
import { availableParallelism } from 'node:os';
import { setFlagsFromString } from 'node:v8';

const LAST_TESTED_MAJOR = 26;
const isTested = Number.parseInt(process.versions.node, 10) <= LAST_TESTED_MAJOR;

/**
 * Compiles a module that is known to be valid, because it was compiled when it was built and its SHA-256 has been verified. V8
 * then validates a function when it is first called instead of all functions at once. The flag applies to the whole process,
 * so it is set only meanwhile. Afterwards V8 accepts the code caches of an application as before.
 */
export function compileValid(bytes: Uint8Array): WebAssembly.Module {
  if (!isTested) return new WebAssembly.Module(bytes as BufferSource);
  setFlagsFromString('--wasm-lazy-validation');
  try {
    return new WebAssembly.Module(bytes as BufferSource);
  } finally {
    setFlagsFromString('--no-wasm-lazy-validation');
  }
}

/**
 * Optimises functions later than by default. Otherwise V8 optimises the main function of an interpreter even in short
 * programs, which takes a second, and the process waits for that before it exits. For long programs the delay is small.
 */
export function optimizeLate(): void {
  if (isTested) setFlagsFromString('--wasm-tiering-budget=300000000');
}

/**
 * Lets V8 optimise on half of the cores. By default it uses all cores, which delays calls, and the memory that its threads
 * need for this is not returned to the system.
 */
export function optimizeOnHalfOfCores(): void {
  const tasks = Math.max(1, Math.floor(availableParallelism() / 2));
  if (isTested) setFlagsFromString(`--wasm-num-compilation-tasks=${tasks}`);
}
