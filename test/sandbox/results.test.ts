/** What programs display, through the library and both guests. */
import { createSandbox, type DisplayResult, type Sandbox, type SandboxResult } from 'llm-wasm-sandbox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { code } from '../support/sandbox.ts';

const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
/** A result without its id and size. */
const shown = ({ results }: SandboxResult) =>
  results.map(({ id: _, size_bytes: __, is_main_result, ...rest }) => ({
    ...(is_main_result && { main: true }),
    ...rest,
  }));

describe('results of Python programs', () => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await createSandbox({ runtime: 'python' });
  });
  afterAll(() => sandbox.close());
  const run = async (source: string) => shown(await sandbox.execute(source));

  it.each([
    ['an int', '1 + 1', { mime: 'text/plain', text: '2' }],
    ['a string', "'a' + 'b'", { mime: 'text/plain', text: "'ab'" }],
    ['data', "{'a': [True, None]}", { mime: 'text/plain', text: "{'a': [True, None]}" }],
    ['another object', 'range(3)', { mime: 'text/plain', text: 'range(0, 3)' }],
    [
      'records',
      "[{'a': 1}]",
      { mime: 'text/markdown', markdown: '| a |\n| ---: |\n| 1 |', data: { a: [1] } },
    ],
  ])('contain the value of the last expression: %s', async (_, source, expected) => {
    expect(await run(source)).toEqual([{ main: true, ...expected }]);
  });

  it('are empty for a program that displays nothing', async () => {
    expect(await run('x = 1\nprint(x)')).toEqual([]);
  });

  it('contain the forms of objects that follow the display protocol of Jupyter', async () => {
    const source = code`
      class Page:
          def _repr_html_(self): return '<b>page</b>', {'isolated': True}
          def _repr_markdown_(self): raise NotImplementedError
          def __repr__(self): return 'Page()'
      class Bundle:
          def _repr_mimebundle_(self, include=None, exclude=None): return {'text/latex': '$x$', 'text/plain': 'x'}, {}
      class Broken:
          def _repr_html_(self): raise RuntimeError('no')
          def __repr__(self): return 'Broken()'
      class Plot:
          def _repr_svg_(self): return '<svg/>'
          def _repr_json_(self): return {'points': [1, float('inf')]}
          def _repr_png_(self): return '${PNG}'
          def __repr__(self): return 'Plot()'
      display(Page(), Bundle())
      display(Broken())
      display('<i>x</i>', mime='text/html')
      display({'text/markdown': '*x*'}, raw=True)
      Plot()
    `;
    const result = await sandbox.execute(source);
    expect(shown(result)).toEqual([
      { mime: 'text/html', html: '<b>page</b>', text: 'Page()' },
      { mime: 'text/latex', latex: '$x$', text: 'x' },
      { mime: 'text/plain', text: 'Broken()' },
      { mime: 'text/html', html: '<i>x</i>' },
      { mime: 'text/markdown', markdown: '*x*' },
      {
        main: true,
        mime: 'image/png',
        png: PNG,
        width: 1,
        height: 1,
        svg: '<svg/>',
        json: { points: [1, null] },
        text: 'Plot()',
      },
    ]);
    expect(result.stderr).toBe('display: _repr_html_ of Broken failed: RuntimeError: no\n');
  });

  it('contain what IPython.display shows', async () => {
    const source = code`
      import base64
      from IPython.display import display as show, HTML, Image, JSON, Markdown, SVG
      png = base64.b64decode('${PNG}')
      show(HTML('<b>x</b>'), JSON({'a': float('nan')}), Markdown('# x'), SVG('<svg/>'), Image(png))
    `;
    const results = await run(source);
    expect(results.map(({ text: _, ...rest }) => rest)).toEqual([
      { mime: 'text/html', html: '<b>x</b>' },
      { mime: 'application/json', json: { a: null } },
      { mime: 'text/markdown', markdown: '# x' },
      { mime: 'image/svg+xml', svg: '<svg/>' },
      { mime: 'image/png', png: PNG, width: 1, height: 1 },
    ]);
  });

  it('contain sqlite3 rows, named tuples and dataclasses as tables', async () => {
    const source = code`
      import sqlite3
      from collections import namedtuple
      from dataclasses import dataclass
      db = sqlite3.connect(':memory:')
      display(db.execute("select 1 as a, 'x' as b"))
      db.row_factory = sqlite3.Row
      display(db.execute('select 2 as a').fetchall())
      display([namedtuple('Point', 'x y')(1, 2)])
      @dataclass
      class City:
          name: str
      display([City('Rome')])
    `;
    expect((await run(source)).map(({ data }) => data)).toEqual([
      { a: [1], b: ['x'] },
      { a: [2] },
      { x: [1], y: [2] },
      { name: ['Rome'] },
    ]);
  });

  it('contain data frames with the interface of polars as tables', async () => {
    const source = code`
      class DataFrame:
          __module__ = 'polars.dataframe.frame'
          columns = ['a', 'b']
          def __len__(self): return 3
          def head(self, rows): return self
          def rows(self): return [(1, 'x'), (2, None), (3, 'z')]
      DataFrame()
    `;
    expect(await run(source)).toEqual([
      {
        main: true,
        mime: 'text/markdown',
        markdown: '| a | b |\n| ---: | --- |\n| 1 | x |\n| 2 |  |\n| 3 | z |',
        data: { a: [1, 2, 3], b: ['x', null, 'z'] },
      },
    ]);
  });

  it('contain images that the program writes, recognised by content', async () => {
    const source = code`
      import base64
      png = base64.b64decode('${PNG}')
      open('plot', 'wb').write(png)
      open('fake.png', 'wb').write(b'not an image')
      None
    `;
    expect(await run(source)).toEqual([{ mime: 'image/png', path: 'plot', png: PNG, width: 1, height: 1 }]);
  });

  it('survive an exception, a limit and a stopped guest', async () => {
    const failed = await sandbox.execute('display(1)\n1/0');
    expect([failed.success, shown(failed)]).toEqual([false, [{ mime: 'text/plain', text: '1' }]]);
    const limited = await sandbox.execute('display(2)\nwhile True: pass', { fuel_budget: 10_000_000 });
    expect([limited.metadata.trap_reason, limited.results[0]!.text]).toEqual(['out_of_fuel', '2']);
    const stopped = await sandbox.execute('display(3)\nimport ctypes\nctypes.string_at(0xfffffff0, 100)');
    expect([stopped.success, stopped.results[0]!.text]).toEqual([false, '3']);
  });

  it('are delivered while the program runs', async () => {
    const received: DisplayResult[] = [];
    const running = sandbox.execute('display(1)\nwhile True: pass', {
      onResult: (result) => {
        received.push(result);
        running.cancel();
      },
    });
    const { results, metadata } = await running;
    expect(metadata.trap_reason).toBe('cancelled');
    expect(received).toEqual(results);
    await expect(
      sandbox.execute('display(1)', {
        onResult: () => {
          throw new Error('from the callback');
        },
      }),
    ).rejects.toThrow('from the callback');
  });

  it('are limited, and larger ones are files', async () => {
    const source = code`
      for forms in ({'text/html': 'x' * 9_000_000}, {'application/json': [0] * 400_001}):
          try:
              display(forms, raw=True)
          except ValueError as error:
              print(error)
      display('x' * 2_000_000, mime='text/html')
      for i in range(25): display(i)
    `;
    const { results, metadata, stdout, files_created } = await sandbox.execute(source);
    expect(results).toHaveLength(20);
    expect(metadata.results_omitted).toBe(6);
    expect(stdout).toBe(code`
      display: the value is larger than 8 MiB. Write it to a file instead.
      display: the value has more than 400,000 elements, or is nested more than 100 levels deep. Sample or aggregate it, or write it to a file.
    `);
    expect(results[0]).toMatchObject({ mime: 'text/html', size_bytes: 2_000_000 });
    expect(files_created).toEqual([results[0]!.path]);
    expect(await sandbox.readFile(results[0]!.path!, 'utf8')).toHaveLength(2_000_000);
  });

  it('are not available without setup, and `display` can be replaced', async () => {
    expect((await sandbox.execute('display', { inject_setup: false })).stderr).toContain(
      "'display' is not defined",
    );
    expect(await run('display = print\ndisplay(1)')).toEqual([]);
  });
});

describe('results of a session', () => {
  it('have no path if the files of the call were rolled back', async () => {
    await using session = await createSandbox({ runtime: 'python', session_id: 'results-rollback' });
    const large = "display('x' * 2_000_000, mime='text/html')";
    const kept = await session.execute(large);
    expect(await session.readFile(kept.results[0]!.path!)).toHaveLength(2_000_000);
    await session.deleteFile(kept.results[0]!.path!);
    const { metadata, results } = await session.execute(`${large}\nimport os\nos._exit(0)`);
    expect(metadata.state).toBe('rolled_back');
    expect(results[0]).toMatchObject({ mime: 'text/html', size_bytes: 2_000_000 });
    expect(results[0]!.path).toBeUndefined();
  });
});

describe('results of JavaScript programs', () => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await createSandbox({ runtime: 'javascript' });
  });
  afterAll(() => sandbox.close());
  const run = async (source: string) => shown(await sandbox.execute(source));

  it.each([
    ['a number', '1 + 1', { mime: 'text/plain', text: '2' }],
    ['a string', "'ab'", { mime: 'text/plain', text: 'ab' }],
    ['data', '({ a: [true, null] })', { mime: 'text/plain', text: '{"a":[true,null]}' }],
    [
      'records',
      '[{ a: 1 }]',
      { mime: 'text/markdown', markdown: '| a |\n| ---: |\n| 1 |', data: { a: [1] } },
    ],
  ])('contain the value of the last expression: %s', async (_, source, expected) => {
    expect(await run(source)).toEqual([{ main: true, ...expected }]);
  });

  it('contain what display, text and image show', async () => {
    const source = code`
      const png = Uint8Array.fromBase64('${PNG}');
      require('fs').writeFileSync('plot.png', png);
      display('<b>x</b>', 'text/html');
      display({ x: new Map([[1, 2]]) });
      display({ [Symbol.for('Jupyter.display')]: () => ({ 'text/markdown': '*x*' }) });
      text('plain');
      text({ a: 1 });
      image('plot.png');
      image('data:image/png;base64,${PNG}');
      display([{ n: 1, at: new Date(0) }, { n: NaN, big: 10n }]);
      undefined;
    `;
    const picture = { mime: 'image/png', png: PNG, width: 1, height: 1 };
    expect(await run(source)).toEqual([
      { mime: 'text/html', html: '<b>x</b>' },
      { mime: 'text/plain', text: '{ x: Map(1) { 1 => 2 } }' },
      { mime: 'text/markdown', markdown: '*x*' },
      { mime: 'text/plain', text: 'plain' },
      { mime: 'text/plain', text: '{"a":1}' },
      picture,
      picture,
      expect.objectContaining({
        data: { n: [1, null], at: ['1970-01-01T00:00:00.000Z', null], big: [null, '10'] },
      }),
    ]);
  });

  it.each([
    ["image('missing.png')", 'File not found'],
    ["image('https://example.com/a.png')", 'no network'],
    ['image(new Uint8Array(8))', 'not a PNG, JPEG, GIF, WebP or SVG image'],
    ["display('x'.repeat(9000000), 'text/html')", 'larger than 8 MiB'],
    ["display('x', 'application/x-unknown')", 'the value has no form that can be shown.\n'],
    [
      "display(new Array(400_001).fill(1), 'application/json')",
      'the value has more than 400,000 elements, or is nested more than 100 levels deep. Sample',
    ],
  ])('fail with a reason: %s', async (source, reason) => {
    const { success, stderr } = await sandbox.execute(source);
    expect([success, stderr.includes(reason)]).toEqual([false, true]);
  });

  it('allow programs to declare the same names', async () => {
    expect(await run("const text = 'a', image = 'b', display = 'c'; text + image + display")).toMatchObject([
      { text: 'abc' },
    ]);
  });
});

describe('forged messages', () => {
  // guarantee: displayed-results
  it('are rejected by the system call, and the guest stays usable', async () => {
    await using sandbox = await createSandbox({ runtime: 'python' });
    const source = code`
      import os
      fd = os.open('/dev/results', os.O_RDWR)
      for message in (b'{', b'[' * 100000, b'{"data":{}}', b'\\xff' * 100, b'{"data":{"application/json":' + b'[' * 200 + b']' * 200 + b'}}'):
          try:
              os.write(fd, message)
              print('accepted')
          except OSError as error:
              print(error.strerror)
      print(os.read(fd, 10))
      os.write(fd, b'{"data":{"text/plain":"last"},"id":"r0","path":"/etc/passwd","png":"x"}')
    `;
    const { stdout, results, success } = await sandbox.execute(source);
    const [invalid, complex] = ['Invalid argument', 'Argument list too long'];
    expect([success, stdout.split('\n')]).toEqual([
      true,
      [invalid, complex, invalid, invalid, complex, "b''", ''],
    ]);
    expect(results[0]).toEqual({
      id: 'r1',
      is_main_result: false,
      mime: 'text/plain',
      size_bytes: 4,
      text: 'last',
    });
  });
});
