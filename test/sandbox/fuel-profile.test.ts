/** The fuel profile and the place where a run stopped, in both languages, with hostile values. */
import {
  createSandbox,
  memoryStore,
  type RuntimeName,
  type Sandbox,
  type SandboxResult,
} from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import { code } from '../support/sandbox.ts';
import { sharedByFile } from '../support/shared.ts';

const RUNTIMES = ['python', 'javascript'] as const;
const sandboxes: Partial<Record<RuntimeName, Sandbox>> = {
  python: await sharedByFile(createSandbox({ runtime: 'python' })),
  javascript: await sharedByFile(createSandbox({ runtime: 'javascript' })),
};

const run = (runtime: RuntimeName, program: string, fuel_budget = 30_000_000): Promise<SandboxResult> =>
  sandboxes[runtime]!.execute(program, { fuel_budget });

const LOOP: Record<Exclude<RuntimeName, 'bash'>, string> = {
  python: code`
    def light(n):
        return n + 1

    def heavy(count):
        total = 0
        for i in range(count):
            total += i * i
        return total

    while True:
        light(1)
        heavy(2000)
  `,
  javascript: code`
    function light(n) {
      return n + 1;
    }

    function heavy(count) {
      let total = 0;
      for (let i = 0; i < count; i++)
        total += i * i;
      return total; }

    while (true) {
      light(1);
      heavy(2000);
    }
  `,
};

describe.each(RUNTIMES)('fuel profile: %s', (runtime) => {
  test('attributes the fuel to the lines and functions that use it', async () => {
    const { metadata } = await run(runtime, LOOP[runtime]);
    const profile = metadata.fuel_profile!;
    expect(profile.samples).toBeGreaterThan(7);
    // Slices are slightly shorter than two million instructions; later samples are further apart.
    expect(profile.sample_fuel).toBeGreaterThan(1_900_000);
    const sampled = profile.sample_fuel * profile.samples;
    expect(sampled).toBeLessThanOrEqual(metadata.fuel_analysis!.consumed + profile.samples);
    expect(sampled).toBeGreaterThan(metadata.fuel_analysis!.consumed / 2);
    const rows = profile.lines.reduce((sum, { fuel }) => sum + fuel, 0);
    expect(Math.abs(rows - sampled)).toBeLessThanOrEqual(profile.samples);
    const share = profile.lines
      .filter(({ line }) => line === 6 || line === 7 || line === 8)
      .reduce((sum, row) => sum + row.share, 0);
    expect(share).toBeGreaterThan(0.8);
    expect(profile.functions[0]).toMatchObject({
      function: 'heavy',
      file: expect.stringMatching(/^\/app\/main\.(py|js)$/),
    });
    const [first] = profile.lines;
    expect(first!.source).toBe(LOOP[runtime].split('\n')[first!.line - 1]!.trim());
  });

  test('is the same in every run, and in a session that was closed and opened again', async () => {
    const first = await run(runtime, LOOP[runtime]);
    expect((await run(runtime, LOOP[runtime])).metadata.fuel_profile).toEqual(first.metadata.fuel_profile);
    const define = runtime === 'python' ? 'data = [1, 2]' : 'var data = [1, 2]';
    const profiles = [];
    for (const isReopened of [false, true]) {
      const store = memoryStore();
      const options = { runtime, store, session_id: 'profile' };
      let session = await createSandbox(options);
      await session.execute(define);
      if (isReopened) {
        await session.close();
        session = await createSandbox(options);
      }
      const { metadata } = await session.execute(LOOP[runtime], { fuel_budget: 30_000_000 });
      profiles.push([metadata.fuel_profile, metadata.stopped_at]);
      await session.close();
    }
    expect(profiles[1]).toEqual(profiles[0]);
    expect(profiles[0]![0]).toBeDefined();
  });

  test('has complete stacks and finer samples with the option profile', async () => {
    const options = { fuel_budget: 10_000_000, profile: true };
    const { metadata } = await sandboxes[runtime]!.execute(LOOP[runtime], options);
    const { stacks, sample_fuel, samples, lines } = metadata.fuel_profile!;
    expect(sample_fuel).toBeGreaterThan(80_000);
    expect(sample_fuel).toBeLessThanOrEqual(100_000);
    expect(samples).toBeGreaterThan(80);
    expect(lines.length).toBeLessThanOrEqual(20);
    const names = stacks!.samples.map(({ stack }) => stack.map((i) => stacks!.frames[i]!.function));
    expect(names).toContainEqual([expect.stringMatching(/^<(module|eval)>$/), 'heavy']);
    const sampled = stacks!.samples.reduce((sum, { fuel }) => sum + fuel, 0);
    expect(sampled).toBeGreaterThan(5_000_000);
  });

  test('is absent if the run used less than one slice', async () => {
    const { metadata } = await run(runtime, '1 + 1');
    expect(metadata.fuel_profile).toBeUndefined();
    expect(metadata.stopped_at).toBeUndefined();
  });
});

describe('stopped_at', () => {
  test('shows the variables of the function at a limit in Python', async () => {
    const program = code`
      class Point: pass

      def spin(limit, name='wörld'):
          big, small, ratio, flag, nothing = 2**400, -12345678901234567890, 1.5, True, None
          items, pair, table, kinds = list(range(100)), (1, 'a'), {'k': [1], 2: 'x'}, {1, 2}
          cyclic = []
          cyclic.append(cyclic)
          text, point, shared = 'x' * 1000, Point(), 1
          inner = lambda: shared
          while True:
              limit += 1

      spin(0)
    `;
    const { metadata } = await run('python', program);
    const { variables, ...place } = metadata.stopped_at!;
    expect(place).toMatchObject({ file: '/app/main.py', function: 'spin' });
    expect(place.line).toBe(metadata.error!.line);
    expect(variables).toMatchObject({
      limit: expect.stringMatching(/^\d+$/),
      name: "'wörld'",
      big: '<int, about 10**126>',
      small: '-12345678901234567890',
      ratio: '1.5',
      flag: 'True',
      nothing: 'None',
      items: '[0, 1, 2, 3, 4, 5, … 100 items]',
      pair: "(1, 'a')",
      table: "{'k': [1 item], 2: 'x'}",
      kinds: '<set, 2 items>',
      cyclic: '[[1 item]]',
      point: '<Point>',
      shared: '1',
    });
    expect(variables['text']).toMatch(/^'x{120}'… \(1000 characters\)$/);
    expect(variables).not.toHaveProperty('inner');
  });

  test('shows the variables of the program at a limit in JavaScript', async () => {
    const program = code`
      class Point { constructor() { this.x = 1; } get y() { throw new Error('getter'); } }
      const big = 2n ** 400n, small = -5n, ratio = 1.5, flag = true, nothing = null;
      const items = Array.from({ length: 100 }, (_, i) => i), table = { k: [1], get z() { throw 1; } };
      const proxy = new Proxy({}, { get() { throw 1; }, ownKeys() { throw 1; } });
      const map = new Map([[1, 2]]), text = 'x'.repeat(1000), part = 'hello world, hello'.slice(3, 17);
      const cyclic = []; cyclic.push(cyclic);
      const point = new Point();
      var old = 'wörld \u4e2d';
      let n = 0;
      while (true) {
        n += 1;
      }
    `;
    const { metadata } = await run('javascript', program);
    const { variables, ...place } = metadata.stopped_at!;
    expect(place).toMatchObject({ file: '/app/main.js' });
    expect([10, 11]).toContain(place.line);
    expect(place.line).toBe(metadata.error!.line);
    expect(variables).toMatchObject({
      n: expect.stringMatching(/^\d+$/),
      big: expect.stringMatching(/^<bigint, about 10\*\*1\d\d>$/),
      small: '-5n',
      ratio: '1.5',
      flag: 'true',
      nothing: 'null',
      items: '[0, 1, 2, 3, 4, 5, … 100 items]',
      table: '{k: [1 item], … 2 items}',
      proxy: '<Proxy>',
      map: '<Map, 1 item>',
      part: '"lo world, hell"',
      cyclic: '[[1 item]]',
      point: 'Point {x: 1}',
      old: '"wörld 中"',
    });
    expect(variables['text']).toMatch(/^"x{120}"… \(1000 characters\)$/);
  });

  test('shows the frame of the program that raised an uncaught exception', async () => {
    const python = await run(
      'python',
      'import json\ndef load(text):\n    return json.loads(text)\nload("{")\n',
    );
    expect(python.metadata.stopped_at).toEqual({
      file: '/app/main.py',
      line: 3,
      function: 'load',
      variables: { text: "'{'" },
    });
    const javascript = await run('javascript', 'const rows = [1];\nlet i = 3;\nrows[i].name;\n');
    expect(javascript.metadata.stopped_at).toEqual({
      file: '/app/main.js',
      line: 3,
      function: '<eval>',
      variables: { rows: '[1]', i: '3' },
    });
  });

  test('runs no code of the program and stays within its limits', async () => {
    const hostile = code`
      class Meta(type):
          def __instancecheck__(cls, other): print('effect')
          def __subclasscheck__(cls, other): print('effect')
      class Evil(metaclass=Meta):
          def __repr__(self): print('effect'); return 'x' * 10**8
          __str__ = __len__ = __iter__ = __hash__ = __format__ = __repr__
          def __getattribute__(self, name): print('effect'); raise SystemExit
          def __eq__(self, other): print('effect'); return True
      class Text(str):
          def __repr__(self): print('effect'); return 'y'
          def __getitem__(self, key): print('effect')
      class Items(list):
          def __iter__(self): print('effect'); return iter(())
          def __len__(self): print('effect'); return 10**9
      class Table(dict):
          def items(self): print('effect'); return []
      evil, text, items, table = Evil(), Text('a'), Items([1]), Table(a=1)
      nested = [evil, text, items, {1: evil}]
      huge, digits = 'z' * 10**6, 10 ** 5000
      for i in range(100): globals()['v%03d' % i] = 'w' * 300
    `;
    for (const end of ['while True: evil = evil', 'assert evil is None, 1']) {
      const { metadata, stdout, exit_code } = await run('python', `${hostile}\n${end}\n`, 60_000_000);
      expect([stdout, exit_code]).toEqual(['', end.startsWith('while') ? 152 : 1]);
      const { variables } = metadata.stopped_at!;
      expect(variables['evil']).toBe('<Evil>');
      const texts = Object.entries(variables).flat();
      expect(texts.length).toBeLessThanOrEqual(40);
      expect(Math.max(...texts.map(({ length }) => length))).toBeLessThanOrEqual(200);
      expect(texts.join('').length).toBeLessThanOrEqual(2_000);
    }
    const effects = code`
      const effect = () => { console.log('effect'); throw 1; };
      const trap = new Proxy({}, new Proxy({}, { get: effect }));
      const evil = { get a() { effect(); }, toString: effect, toJSON: effect, [Symbol.toPrimitive]: effect };
      Object.defineProperty(evil, 'constructor', { get: effect });
      Object.defineProperty(Function.prototype, 'name', { get: effect });
      const inherits = Object.create(new Proxy({}, { get: effect, getOwnPropertyDescriptor: effect }));
      for (let i = 0; i < 100; i++) globalThis['v' + i] = 'w'.repeat(300);
    `;
    for (const end of ['while (true) { evil; }', 'null.x; evil;']) {
      const { metadata, stdout } = await run('javascript', `${effects}\n${end}\n`);
      expect(stdout).toBe('');
      const { variables } = metadata.stopped_at!;
      expect(Object.keys(variables)).toContain('evil');
      expect(Object.keys(variables).length).toBeLessThanOrEqual(20);
      expect(Object.entries(variables).flat().join('').length).toBeLessThanOrEqual(2_000);
    }
  });

  test('stays within its limits for forged code objects and any number of functions', async () => {
    const forged = code`
      def spin():
          while True: pass
      spin.__code__ = spin.__code__.replace(
          co_linetable=b'\\xff\\x3f' * 100_000, co_filename='/app/x\\n\\x1b[31m', co_qualname='q' * 5000)
      spin()
    `;
    const functions = code`
      i = 0
      while i >= 0:
          scope = {}
          exec(compile('def f%d(): return sum(range(40))' % i, '/app/g%d.py' % i, 'exec'), scope)
          scope['f%d' % i]()
          i += 1
    `;
    for (const program of [forged, functions]) {
      const options = { profile: true, fuel_budget: 60_000_000 };
      const { metadata } = await sandboxes['python']!.execute(program, options);
      expect(metadata.trap_reason).toBe('out_of_fuel');
      const { file, function: name } = metadata.stopped_at!;
      expect(file).toMatch(/^\/app\/\P{Cc}*$/u);
      expect(name.length).toBeLessThanOrEqual(200);
      expect(JSON.stringify(metadata.fuel_profile).length).toBeLessThan(500_000);
    }
  });

  test('shows the size of a container whose items have long texts', async () => {
    const program =
      "const rows = Array(40).fill('x'.repeat(500)), long = { ['k'.repeat(90)]: 'v'.repeat(90), a: 2 };\nwhile (true) { rows; long; }\n";
    const { metadata } = await run('javascript', program);
    expect(metadata.stopped_at!.variables['rows']).toMatch(/… 40 items\]$/);
    expect(metadata.stopped_at!.variables['long']).toMatch(/^\{k{40}: "v{30}"…, a: 2\}$/);
    const limit = await run(
      'python',
      "rows = ['x' * 500] * 40\nlong = {'k' * 90: 'v' * 90, 1: 2}\nwhile rows: long = long\n",
    );
    expect(limit.metadata.stopped_at!.variables).toMatchObject({
      rows: expect.stringMatching(/… 40 items\]$/),
      long: expect.stringMatching(/^\{'k{30}'…: 'v{30}'…, 1: 2\}$/),
    });
  });
});
