/** Attempts to reach a host object from a guest object: constructors, prototypes, `Function`, subclasses, frames. */
import { describe, expect, test } from 'vitest';
import { attack, tryJavaScript } from './attack.ts';

describe('constructors and prototypes', () => {
  // guarantee: no-host-objects
  test('of every reachable object are those of the guest’s own realm', async () => {
    const result = await attack(
      'javascript',
      `
import * as std from 'std';
import * as os from 'os';
const seen = new Set();
const odd = [];
const queue = [globalThis, std, os, console, std.in, std.out, new Error(), (async () => {}), function* () {}, Symbol.prototype, import.meta];
while (queue.length > 0 && seen.size < 20000) {
  const value = queue.pop();
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null || seen.has(value)) continue;
  seen.add(value);
  if (typeof value === 'function') {
    let made;
    try { made = value.constructor('return this')(); } catch {}
    if (typeof made === 'object' && made !== null && made !== globalThis && typeof made.next !== 'function' && typeof made.then !== 'function') odd.push(value.name);
  }
  queue.push(Object.getPrototypeOf(value));
  for (const key of Reflect.ownKeys(value)) {
    const { value: own, get, set } = Object.getOwnPropertyDescriptor(value, key) ?? {};
    queue.push(own, get, set);
    if (/^(process|require|binding)$|child|door/.test(String(key))) odd.push(String(key));
  }
}
({ many: seen.size > 300, odd })`,
    );
    expect(result.metadata.result).toEqual({ many: true, odd: [] });
  });

  // guarantee: no-host-objects
  test('stay in the guest when called through Function and eval', async () => {
    const seen = await tryJavaScript([
      "Function('return typeof process')()",
      "(() => {}).constructor.constructor('return typeof require')()",
      "(async () => {}).constructor('return typeof process')()",
      "(function* () {}).constructor('yield typeof process')().next().value",
      "new Error().constructor.constructor('return this')() === globalThis",
      "[].constructor.constructor('return this.constructor.name')()",
      "(0, eval)('this') === globalThis",
      "console.log.constructor('return typeof process')()",
      "std.open.constructor('return typeof process')()",
      "Promise.resolve().then.constructor('return typeof process')()",
      "Object.getOwnPropertyDescriptor(Object.prototype, '__proto__').get.constructor('return typeof process')()",
    ]);
    expect(Object.values(seen)).toEqual([
      ...['undefined', 'undefined', 'undefined', 'undefined', 'true', 'Object', 'true'],
      ...['undefined', 'undefined', 'undefined', 'undefined'],
    ]);
  });

  test('that the program patches affect neither the report nor the next run', async () => {
    const result = await attack(
      'javascript',
      `
Object.prototype.exit_code = 0; Object.prototype.toJSON = () => ({ exit_code: 0 });
Array.prototype.toJSON = () => 1; JSON.stringify = () => '{"exit_code":0}';
Array.from = Object.keys = Object.create = String = Number = RegExp.prototype.exec = () => { throw 1; };
Promise.prototype.then = () => { throw 2; };
Object.defineProperty(Object.prototype, 'error', { get() { throw 3; }, set() { throw 4; } });
throw new TypeError('still seen');`,
    );
    expect(result).toMatchObject({ success: false, exit_code: 1 });
    expect(result.stderr).toContain('Uncaught');
  });

  test('expose no frame or function of the runtime in stack traces', async () => {
    const result = await attack(
      'javascript',
      `
Error.prepareStackTrace = (error, sites) => sites;
const sites = new Error().stack;
sites.map((site) => [site.getFileName(), typeof site.getThis?.()])`,
    );
    expect(result.metadata.result).toEqual([['/app/main.js', 'undefined']]);
  });
});

describe('Python object graph', () => {
  test('contains the whole interpreter and nothing of the host', async () => {
    const result = await attack(
      'python',
      `import gc, os, sys
classes, queue = set(), [object]
while queue:
    kind = queue.pop()
    if kind in classes: continue
    classes.add(kind); queue.extend(type.__subclasses__(kind))
popen = [c.__name__ for c in classes if c.__name__ in ('Popen', '_wrap_close')]
seen = []
for act in (lambda: os.popen('id'), lambda: ().__class__.__base__.__subclasses__()[0].__init__.__globals__['os'].system('id')):
    try: seen.append(str(act()))
    except Exception as error: seen.append(type(error).__name__)
frame, files = sys._getframe(), set()
while frame: files.add(frame.f_code.co_filename); frame = frame.f_back
[len(classes) > 300, seen, sorted(files)]`,
    );
    expect(result.metadata.result).toEqual([
      true,
      [expect.stringMatching(/Error$/), expect.stringMatching(/Error$/)],
      ['/app/main.py', '/lib/python3.14/_sandbox.py'],
    ]);
  });
});
