/** The module `console`. */
import { console, createConsole } from '../console.js';
import { invalidArgType } from './internal/errors.js';

export function Console(options, stderr = undefined) {
  const settings = typeof options?.write === 'function' ? { stdout: options, stderr } : (options ?? {});
  const out = settings.stdout;
  const err = settings.stderr ?? out;
  if (typeof out?.write !== 'function') throw invalidArgType('stdout', 'stream.Writable', out);
  const methods = createConsole(
    (text) => out.write(text),
    (text) => err.write(text),
    settings.inspectOptions,
    settings.groupIndentation,
  );
  return Object.assign(Object.create(Console.prototype), methods);
}
Object.defineProperty(Console, Symbol.hasInstance, {
  value: (value) => value === console || Object.getPrototypeOf(value ?? 0) === Console.prototype,
});

console.Console ??= Console;
export default console;
