/**
 * V8 flags for processes that run nothing but this program. They only change when code is compiled. A process of an application
 * does not get them, because V8 would then reject the code caches of that application. A version of V8 that does not know a flag
 * prints an error, so versions of Node.js that have not been tested get none.
 */
import { availableParallelism } from 'node:os';
import { setFlagsFromString } from 'node:v8';

const LAST_TESTED_MAJOR = 26;
const isTested = Number.parseInt(process.versions.node, 10) <= LAST_TESTED_MAJOR;

/**
 * Validates a function when it is first called instead of all functions at once. The modules are known to be valid: the
 * build has compiled them, and their SHA-256 is verified before they are compiled again.
 */
export function validateLazily(): void {
  if (isTested) setFlagsFromString('--wasm-lazy-validation');
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
