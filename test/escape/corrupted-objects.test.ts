/** Objects whose headers the program has overwritten through ctypes. */
import { describe, expect, test } from 'vitest';
import { attack } from './attack.ts';

const ENDS = [null, 'unreachable', 'out_of_fuel', 'memory_limit', 'stack_overflow', 'denied_call'];

describe('corrupted Python object', () => {
  // guarantee: memory-isolation
  test.each([
    [
      'a length of two billion',
      "x = b'abc'; word(id(x) + 8).value = 2_000_000_000; print(len(x)); y = x + x",
    ],
    ['a negative length', 'x = [1]; word(id(x) + 8).value = -5; print(len(x)); x.append(1); x[3] = 2'],
    ['an invalid type pointer', 'x = object(); word(id(x) + 4).value = 12345; print(x)'],
    ['a type pointer past the end of memory', 'x = object(); word(id(x) + 4).value = -16; print(x)'],
    [
      'a reference count of zero',
      'x = [[] for _ in range(100)]; word(id(x)).value = 0; del x; y = [[] for _ in range(1000)]',
    ],
    [
      'an invalid string kind',
      "x = 'abc' * 5; word(id(x) + 16).value = -1; print(x + 'd', hash(x), x.upper())",
    ],
    ['items at address 1', 'x = [1, 2, 3]; word(id(x) + 12).value = 1; print(x)'],
    [
      'the value of a cached small integer replaced',
      'word(id(1) + 8).value = 7 << 3; word(id(1) + 12).value = 9; x = [0][1 - 1]; print(x, 1 + 1)',
    ],
    ['a dictionary without keys', 'x = {1: 2}; word(id(x) + 16).value = 0; print(x[1])'],
    ['the type of None replaced', 'word(id(None) + 4).value = id(int); print(None)'],
  ])('affects only the guest: it has %s', async (_, damage) => {
    const result = await attack(
      'python',
      `import ctypes\nword = ctypes.c_int.from_address\nprint('there', flush=True)\n${damage}`,
      { policy: { fuel_budget: 500_000_000 } },
    );
    expect(result.stdout.startsWith('there\n')).toBe(true);
    expect(ENDS).toContain(result.metadata.trap_reason);
  });

  test('is not read past the end of memory when it is the report itself', async () => {
    const result = await attack(
      'python',
      `import _sandbox, ctypes
top = max((bytearray(65536) for _ in range(300)), key=id)
fake = max((bytes(1000) for _ in range(20000)), key=id)
class Text:
    def encode(self):
        ctypes.c_int.from_address(id(fake) + 8).value = 1_400_000
        return fake
run = _sandbox.run
run.__closure__[run.__code__.co_freevars.index('encode')].cell_contents = lambda report: Text()`,
    );
    expect(result.success).toBe(false);
    expect([null, 'unreachable']).toContain(result.metadata.trap_reason);
  });
});

describe('corrupted JavaScript object', () => {
  test('cannot be created: proxies and frozen objects keep their invariants', async () => {
    const result = await attack(
      'javascript',
      `
const seen = [];
const attempt = (f) => { try { seen.push(String(f())); } catch (error) { seen.push(error.name); } };
const frozen = Object.freeze({ x: 1 });
attempt(() => { 'use strict'; frozen.x = 2; });
attempt(() => new Proxy(frozen, { get: () => 2 }).x);
attempt(() => Object.keys(new Proxy(frozen, { ownKeys: () => ['y'] })));
attempt(() => Object.setPrototypeOf(Object.prototype, {}));
attempt(() => Object.setPrototypeOf(frozen, null));
attempt(() => { const a = {}; const b = { __proto__: a }; Object.setPrototypeOf(a, b); });
attempt(() => Reflect.construct(function () {}, [], Math.abs));
attempt(() => { class A { #x = 1; static read(o) { return o.#x; } } return A.read({}); });
attempt(() => Array.prototype.push.call({ length: 2 ** 53 - 1 }, 1));
attempt(() => new (class extends Array { static get [Symbol.species]() { return function () { return frozen; }; } })(1, 2).map((x) => x));
seen`,
    );
    expect(result.metadata.result).toEqual([
      'TypeError',
      'TypeError',
      'TypeError',
      'TypeError',
      'TypeError',
      'TypeError',
      'TypeError',
      'TypeError',
      'TypeError',
      'TypeError',
    ]);
  });
});
