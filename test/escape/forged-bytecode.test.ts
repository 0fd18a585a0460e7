/** Bytecode that no compiler produced: hand-written code objects, malformed marshal data, source that stresses compilers. */
import { describe, expect, test } from 'vitest';
import { attack, tryJavaScript } from './attack.ts';

const ENDS = [null, 'unreachable', 'out_of_fuel', 'stack_overflow', 'memory_limit', 'denied_call'];

describe('forged Python bytecode', () => {
  test.each([
    ['has an unknown instruction', 'bytes([255, 255] * 50)'],
    ['pops from an empty stack', 'bytes([31, 0] * 50)'],
    ['loads locals that do not exist', 'bytes([84, 255] * 50)'],
    ['jumps out of range', 'bytes([68, 255, 75, 255, 77, 255] * 20)'],
    ['has no end', 'bytes([0x1b, 0] * 50)'],
  ])('affects only the guest: it %s', async (_, bytecode) => {
    const result = await attack(
      'python',
      `def f(a, b): return a + b
print('there', flush=True)
f.__code__ = f.__code__.replace(co_code=${bytecode}, co_stacksize=1)
f(1, 2)`,
      { policy: { fuel_budget: 500_000_000 } },
    );
    expect(result.stdout.startsWith('there\n')).toBe(true);
    expect(ENDS).toContain(result.metadata.trap_reason);
  });

  // guarantee: memory-isolation
  test.each([1, 2, 3, 4, 5, 6])('affects only the guest when it is random: seed %i', async (seed) => {
    const result = await attack(
      'python',
      `import random, types
random.seed(${seed})
def f(a, b): return a + b
print('there', flush=True)
while True:
    code = f.__code__.replace(co_code=bytes(random.randrange(256) for _ in range(40)))
    try: types.FunctionType(code, {})(1, 2)
    except Exception: pass`,
      { policy: { fuel_budget: 500_000_000 } },
    );
    expect(result.stdout.startsWith('there\n')).toBe(true);
    expect(ENDS).toContain(result.metadata.trap_reason);
  });
});

describe('malformed marshal data', () => {
  test('raises an exception', async () => {
    const result = await attack(
      'python',
      `import marshal, random
random.seed(5)
kinds = set()
for i in range(5000):
    try: marshal.loads(bytes(random.randrange(256) for _ in range(30)))
    except Exception as error: kinds.add(type(error).__name__)
sorted(kinds)`,
    );
    expect(result.metadata.result).toEqual(expect.arrayContaining(['EOFError', 'ValueError']));
  });

  test('raises ValueError when it nests without end', async () => {
    const result = await attack(
      'python',
      "import marshal\nmarshal.loads(b'(' + b'\\x01\\0\\0\\0(' * 100000)",
    );
    expect(result.metadata.error?.type).toBe('ValueError');
  });

  test('affects only the guest when it is a damaged code object', async () => {
    const result = await attack(
      'python',
      `import marshal, random, types
random.seed(11)
good = marshal.dumps(compile('def f(x):\\n    return [y * 2 for y in range(x)]\\nf(3)', 'f', 'exec'))
print('there', flush=True)
while True:
    bad = bytearray(good)
    for _ in range(3): bad[random.randrange(len(bad))] = random.randrange(256)
    try: exec(marshal.loads(bytes(bad)), {})
    except Exception: pass`,
      { policy: { fuel_budget: 500_000_000 } },
    );
    expect(result.stdout.startsWith('there\n')).toBe(true);
    expect(ENDS).toContain(result.metadata.trap_reason);
  });
});

describe('forged JavaScript bytecode', () => {
  test('cannot be loaded', async () => {
    const seen = await tryJavaScript([
      'typeof bjson',
      'typeof std.evalBinary',
      "std.evalScript('\\u0000\\u0001\\u0002')",
      "new Function('\\\\u{110000}')",
      "eval('('.repeat(200000))",
      "new RegExp('(' .repeat(100000))",
    ]);
    expect(Object.values(seen)).toEqual([
      'undefined',
      'undefined',
      'SyntaxError',
      'SyntaxError',
      'RangeError',
      'SyntaxError',
    ]);
  });
});
