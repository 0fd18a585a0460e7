/**
 * Runs programs in Node.js, one after another in this process: the next one starts when the event loop of the one before is
 * empty. Reads a JSON list of `{ folder, file }` from the file in the first argument and writes a list of outputs to the file in the second.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const [, , input, output] = process.argv;
const programs = JSON.parse(readFileSync(input, 'utf8'));
const require = createRequire(import.meta.url);
const results = [];
let current;

process.stdout.write = (chunk, encoding, callback) => {
  current.stdout += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString();
  const done = typeof encoding === 'function' ? encoding : callback;
  if (typeof done === 'function') process.nextTick(done);
  return true;
};
process.stderr.write = () => true;
process.on('uncaughtException', (error) => {
  current.error ??= String(error?.stack ?? error);
});

/** Globals that programs may add are removed, so that one does not see those of another. */
const globals = new Set(Reflect.ownKeys(globalThis));

function next() {
  for (const key of Reflect.ownKeys(globalThis)) if (!globals.has(key)) delete globalThis[key];
  const program = programs.shift();
  if (program === undefined) {
    writeFileSync(output, JSON.stringify(results));
    process.exit(0);
  }
  current = { stdout: '', error: undefined };
  results.push(current);
  process.chdir(program.folder);
  process.exitCode = undefined;
  if (program.file.endsWith('.mjs')) {
    import(program.file).catch((error) => {
      current.error ??= String(error?.stack ?? error);
    });
  } else {
    try {
      require(program.file);
    } catch (error) {
      current.error ??= String(error?.stack ?? error);
    }
  }
  // `beforeExit` is emitted again only if something happened.
  setTimeout(() => {}, 1);
  // Timers of a millisecond are due when the event loop starts, as after the start of a process.
  const start = performance.now();
  while (performance.now() - start < 2);
}

process.on('beforeExit', next);
