import { createSandbox } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import { code, python } from '../support/sandbox.ts';

const PROBE = code`
  import builtins, json, os, random, sys
  print(len(dir(builtins)), json.dumps([1]), os.getcwd(), sorted(os.listdir('/tmp')), sys.getrecursionlimit())
`;

describe('the next run', () => {
  // guarantee: fresh-state
  test.each([
    [
      'deletes the built-ins',
      'import builtins\nfor n in list(vars(builtins)):\n    if n != "delattr": delattr(builtins, n)',
    ],
    ['closes every descriptor', 'import os\nos.closerange(0, 300)'],
    ['aborts', 'import os\nos.abort()'],
    ['exits with os._exit', 'import os\nos._exit(3)'],
    [
      'patches json',
      'import json\njson.dumps = lambda *a: "patched"\njson.encoder.encode_basestring_ascii = None',
    ],
    [
      'changes the working directory and the umask',
      'import os\nos.chdir("/tmp")\nos.umask(0)\nopen("left", "w").close()',
    ],
    ['grows its memory', 'x = bytearray(100_000_000)'],
    ['sets its recursion limit', 'import sys\nsys.setrecursionlimit(50)'],
    ['runs out of fuel', 'while True: pass'],
    [
      'clears every dictionary in the interpreter',
      'import sys, gc\nfor o in gc.get_objects():\n    if isinstance(o, dict): o.clear()',
    ],
  ])('is unaffected by the previous program: it %s', async (_, program) => {
    const clean = await python(PROBE);
    await using sandbox = await createSandbox({ runtime: 'python', policy: { fuel_budget: 500_000_000 } });
    for (let i = 0; i < 3; i++) {
      await sandbox.execute(program);
      const after = await sandbox.execute(PROBE);
      expect(after.stdout).toBe(clean.stdout);
      expect(after.fuel_consumed).toBe(clean.fuel_consumed);
    }
  });
});

describe('two fresh sandboxes', () => {
  test('spend exactly the same fuel on the same program', async () => {
    const program =
      'import json, re\nd = {str(i): [i] * 3 for i in range(2000)}\nlen(re.sub("1", "2", json.dumps(d)))';
    const [first, second, third] = [await python(program), await python(program), await python(program)];
    expect(first.fuel_consumed).toBeGreaterThan(1_000_000);
    expect(second.fuel_consumed).toBe(first.fuel_consumed);
    expect(third.fuel_consumed).toBe(first.fuel_consumed);
  });

  test('draw different random numbers and identifiers', async () => {
    const program = code`
      import os, random, secrets, tempfile, uuid
      [random.random(), str(uuid.uuid4()), secrets.token_hex(8), os.urandom(8).hex(), tempfile.mktemp()]
    `;
    const draws = [await python(program), await python(program)].map(
      ({ metadata }) => metadata.result as unknown[],
    );
    for (const [i, value] of draws[0]!.entries()) expect(value).not.toEqual(draws[1]![i]);
  });

  // guarantee: fresh-state
  test('cannot see each other’s files', async () => {
    await using one = await createSandbox({ runtime: 'python' });
    await using other = await createSandbox({ runtime: 'python' });
    await one.execute("open('secret', 'w').write('x')");
    expect((await other.execute("import os\nos.listdir('.')")).metadata.result).toEqual([]);
  });
});
