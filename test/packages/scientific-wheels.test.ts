/**
 * numpy, pandas, Pillow and matplotlib from the wheels in the folder that PIP_FIND_LINKS names. Expected values of numpy were computed by
 * the same version of native numpy.
 *
 * @module-tag full
 */
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import {
  createSandbox,
  type DisplayResult,
  diskStore,
  type SandboxResult,
  type Session,
} from 'llm-wasm-sandbox';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCli } from '../support/cli.ts';
import { temporarySessionStore } from '../support/cli-sessions.ts';
import { documentedOutput } from '../support/doc-examples.ts';
import { folderOfTest } from '../support/folders.ts';
import { decodePng } from '../support/png.ts';
import { availableWheel, onlyPackagesFrom } from './available-wheels.ts';

const WHEELS =
  'numpy-2.4.6 pandas-3.0.2 pillow-12.2.0 matplotlib-3.10.8 contourpy-1.3.3 kiwisolver-1.4.9 fonttools-4.62.1';
const wheels = WHEELS.split(' ').map(availableWheel);
const isAvailable = wheels.every((file) => file !== undefined);
const REASON = isAvailable ? '' : ' (skipped: PIP_FIND_LINKS names no folder with the wheels)';

const file = (name: string) => readFileSync(new URL(`./scientific/${name}`, import.meta.url), 'utf8');
const lines = (name: string) => file(name).split('\n').filter(Boolean);

const options = {
  runtime: 'python' as const,
  packages: wheels.map((path) => path!),
  preload: ['numpy', 'pandas', 'PIL.Image', 'matplotlib.pyplot'],
  auto_persist_globals: true as const,
  policy: { memory_bytes: 512 * 2 ** 20, timeout_seconds: 120, fuel_budget: 50_000_000_000 },
};

/** A random generator, a data frame, a grouping and a figure, and a program that changes and uses them. */
const DRAW = `
import numpy as np, pandas as pd, matplotlib.pyplot as plt
random = np.random.default_rng(7)
random.random()
frame = pd.DataFrame({'k': list('abca'), 'v': [1.5, 2, 3, 4]}, index=pd.date_range('2026-01-01', periods=4))
groups = frame.groupby('k')
figure, axes = plt.subplots(figsize=(1, 1))
axes.plot(frame.v)
`;
const REDRAW = `
frame.loc['2026-01-02', 'v'] += 1
axes.set_title('redrawn')
figure.canvas.draw()
sums = groups.v.sum().to_dict()
is_inked = bool((np.asarray(figure.canvas.buffer_rgba())[..., 0] < 255).any())
[sums, [axes.get_title() for axes in figure.axes], is_inked, random.random(), float(np.linalg.inv(np.eye(3) * 2)[0, 0])]`;
/** The second number of the generator is that of native numpy. */
const REDRAWN = [{ a: 5.5, b: 3, c: 3 }, ['redrawn'], true, 0.8972138009695755, 0.5];

/** What programs written by models typically do: read a table, clean, join, group, pivot, resample and write it. */
const ANALYSIS = `
import io
import numpy as np
import pandas as pd

rng = np.random.default_rng(1)
n = 20_000
orders = pd.DataFrame({
    'day': pd.date_range('2025-01-01', periods=365).to_numpy()[rng.integers(0, 365, n)],
    'product': rng.choice(['tea', 'coffee', 'milk'], n),
    'quantity': rng.integers(1, 10, n),
})
orders.to_csv('orders.csv', index=False)
orders = pd.read_csv('orders.csv', parse_dates=['day'])
prices = pd.DataFrame({'product': ['tea', 'coffee', 'milk'], 'price': [2.5, 6.0, 1.25]})
joined = orders.merge(prices, on='product', how='left')
joined['revenue'] = joined.quantity * joined.price
summary = joined.groupby('product').revenue.agg(['count', 'sum', 'mean'])
monthly = joined.set_index('day').revenue.resample('MS').sum()
pivot = joined.pivot_table(index=joined.day.dt.quarter, columns='product', values='revenue', aggfunc='sum')
rolling = monthly.rolling(3).mean().dropna()
summary.to_json('summary.json')
[int(summary['count'].sum()), bool(np.isclose(monthly.sum(), joined.revenue.sum())), list(pivot.shape), len(rolling)]
`;
const ANALYSED = [20_000, true, [4, 3], 10];

describe.skipIf(!isAvailable)(`scientific packages${REASON}`, () => {
  const sessions = temporarySessionStore();
  let session: Session;
  beforeAll(async () => {
    session = await createSandbox(options);
    expect(await session.execute(file('setup.py'))).toMatchObject({ stderr: '', success: true });
  }, 600_000);
  afterAll(() => session.close());

  const evaluate = async (expressions: readonly string[]) => {
    const { metadata } = await session.execute(`evaluate(${JSON.stringify(expressions)})`);
    const values = metadata.result as string[];
    return expressions.map((expression, i) => `${expression} is ${values[i]}`);
  };

  test('are there for python3 in a shell, with the same fuel in every deterministic run', async () => {
    const { packages, policy } = options;
    const program = `python3 - <<'E' && python3 -c 'import pandas as pd; print(pd.read_csv("squares.csv").y.sum())'
import numpy as np, matplotlib.pyplot as plt, pandas as pd
x = np.arange(5)
pd.DataFrame({'x': x, 'y': x**2}).to_csv('squares.csv', index=False)
plt.plot(x, x**2)
plt.savefig('plot.png')
E
head -c 4 plot.png | tail -c 3; echo; sort -t, -k2 -rn squares.csv | head -1`;
    const run = async () => {
      const bash = { runtime: 'bash', packages, policy: { ...policy, deterministic: true } } as const;
      await using sandbox = await createSandbox(bash);
      return await sandbox.execute(program);
    };
    const [first, second] = [await run(), await run()];
    expect([first.stdout, first.stderr]).toEqual(['30\nPNG\n4,16\n', '']);
    expect([second.stdout, second.fuel_consumed]).toEqual([first.stdout, first.fuel_consumed]);
  });

  test('numpy gives the values of native numpy', async () => {
    const expressions = lines('numpy.txt');
    const expected = JSON.parse(file('numpy-expected.json')) as string[];
    expect(await evaluate(expressions)).toEqual(expressions.map((one, i) => `${one} is ${expected[i]}`));
  });

  test.each(['others.txt', 'matplotlib.txt'])('the expressions in %s are true', async (name) => {
    const values = await evaluate(lines(name));
    expect(values.filter((text) => !/ is (np\.)?True_?$/.test(text))).toEqual([]);
  });

  test('pandas prints what the recipe in the cookbook shows', async () => {
    const cookbook = readFileSync(new URL('../../docs/COOKBOOK.md', import.meta.url), 'utf8');
    const [, program] = /<!-- program: pandas -->\n```python\n([\s\S]*?)```/.exec(cookbook)!;
    expect((await session.execute(program!)).stdout).toBe(documentedOutput(cookbook, 'pandas'));
  });

  const chartOf = ({ chart }: DisplayResult) => chart as { type: string; title: string; elements: unknown[] };

  test('figures become results when they are shown, and at the end of the program', async () => {
    const { results, stderr, files_created, fuel_consumed } = await session.execute(`
plt.plot([1, 2, 3], [1, 4, 9], label='squares')
plt.title('Powers')
plt.show()
plt.show()
figure, axes = plt.subplots(figsize=(2, 1.5))
axes.bar(['a', 'b'], [3, 1])
plt.savefig('bar.png', dpi=80)
plt.figure()
plt.scatter([1], [2]).figure.set_size_inches(1, 1)`);
    expect(stderr).toBe('');
    expect(files_created).toEqual(['bar.png']);
    expect(results.map((one) => [one.mime, one.width, one.height, chartOf(one).type])).toEqual([
      ['image/png', 640, 480, 'line'],
      ['image/png', 160, 120, 'bar'],
      ['image/png', 100, 100, 'scatter'],
    ]);
    expect(chartOf(results[0]!)).toMatchObject({
      title: 'Powers',
      x_scale: 'linear',
      elements: [
        {
          label: 'squares',
          points: [
            [1, 1],
            [2, 4],
            [3, 9],
          ],
        },
      ],
    });
    const { width, isDark } = decodePng(results[0]!.png!);
    // The title is at the top, in the middle; the corner is empty.
    const darkest = (from: number, to: number) =>
      Array.from({ length: 40 * (to - from) }, (_, i) =>
        isDark(from + (i % (to - from)), 30 + Math.floor(i / (to - from))),
      );
    expect(darkest(width / 2 - 40, width / 2 + 40)).toContain(true);
    expect(darkest(0, 40)).not.toContain(true);
    // Far less than without the preloaded module, which takes 5G.
    expect(fuel_consumed).toBeLessThan(2_500_000_000);
  });

  test('figures stay open after they are shown, until the next plot', async () => {
    const { metadata, results, stderr } = await session.execute(`
import os
plt.figure(figsize=(1, 1)); plt.plot([1, 2]); plt.title('first')
plt.show()
plt.savefig('shown.png')
kept = plt.gca().get_title()
plt.bar(['a'], [1])
after = plt.gca().get_title()
pd.Series([1, 2]).plot()
same = len(plt.gca().lines)
plt.show()
pd.Series([1, 2]).plot()
[kept, after, same, len(plt.gca().patches), os.path.getsize('shown.png') > 1000]`);
    expect(stderr).toBe('');
    expect(metadata.result).toEqual(['first', '', 1, 0, true]);
    expect(results.filter(({ chart }) => chart !== undefined).map((one) => chartOf(one).title)).toEqual([
      'first',
      null,
      null,
    ]);
  });

  test.each([
    ["frame['sales']", "The column 'sales' does not exist"],
    ["frame[['name', 'Sales']]", "The column 'name' does not exist"],
    ["frame.groupby('sales').sum()", "The column 'sales' does not exist"],
    ["frame.groupby('Name')['sales'].sum()", "The column 'sales' does not exist"],
    ["frame.sort_values('sales')", "The column 'sales' does not exist"],
  ])('the guidance for %s lists the columns', async (expression, problem) => {
    const { metadata } = await session.execute(
      `frame = pd.DataFrame({'Name': ['a'], 'Sales': [1]})\n${expression}`,
    );
    const lines = metadata.error_guidance!.actionable_guidance;
    expect(lines.slice(0, 2)).toEqual([problem, "Existing columns: 'Name', 'Sales'"]);
    expect(lines[2]).toMatch(/^Did you mean '(Name|Sales)'\?$/);
  });

  test('a label that is not in an index is not called a column', async () => {
    const { metadata } = await session.execute("pd.DataFrame({'a': [1]}, index=['x']).loc['y']");
    expect(metadata.error_guidance!.actionable_guidance.slice(0, 2)).toEqual([
      "The label 'y' does not exist",
      "Existing labels: 'x'",
    ]);
  });

  test('a program that asks for floating-point errors is told that arithmetic does not report them', async () => {
    const run = async (code: string) => (await session.execute(code)).metadata;
    const asked = await run(
      "with np.errstate(all='raise'):\n    value = np.array([1.0]) / 0\nvalue.tolist() == [np.inf]",
    );
    expect(asked).toMatchObject({ result: true, notes: [expect.stringContaining('np.isfinite')] });
    const others = "with np.errstate(all='ignore'):\n    np.linalg.inv(np.eye(2))";
    expect((await run(others)).notes).toBeUndefined();
  });

  test('seaborn draws, and patsy builds matrices', async () => {
    const { metadata, results, stderr } = await session.execute(`
import seaborn as sns, patsy
plt.figure(figsize=(1, 1))
sns.barplot(data=pd.DataFrame({'day': ['Mon', 'Tue'], 'tip': [1, 2]}), x='day', y='tip', errorbar=None)
plt.show()
patsy.dmatrix('a + b', {'a': [1, 2], 'b': [3, 4]}).tolist()`);
    expect(stderr).toBe('');
    expect(results.map(({ mime }) => mime)).toContain('image/png');
    expect(metadata.result).toEqual([
      [1, 1, 3],
      [1, 2, 4],
    ]);
  });

  test('reportlab writes PDF files with text, tables and charts', async () => {
    const { metadata, stderr } = await session.execute(`
import io, pypdf
from reportlab.graphics.charts.barcharts import VerticalBarChart
from reportlab.graphics.shapes import Drawing
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.platypus import Paragraph, SimpleDocTemplate, Table
chart = VerticalBarChart()
chart.data = [(1, 2, 3)]
drawing = Drawing(200, 100)
drawing.add(chart)
buffer = io.BytesIO()
style = getSampleStyleSheet()['Heading1']
SimpleDocTemplate(buffer, pagesize=A4).build([Paragraph('Sales', style), Table([['tea', 3]]), drawing])
[page.extract_text().split() for page in pypdf.PdfReader(buffer).pages][0][:3]`);
    expect(stderr).toBe('');
    expect(metadata.result).toEqual(['Sales', 'tea', '3']);
  });

  test('figures of failed programs are results; unchanged figures are displayed once', async () => {
    const failed = await session.execute(`
plt.figure(figsize=(1, 1)); plt.plot([1, 2]); plt.savefig('first.png'); plt.title('later')
1 / 0`);
    expect(failed.results.map(({ path, chart }) => [path, (chart as { title?: string })?.title])).toEqual([
      [undefined, 'later'],
      ['first.png', undefined],
    ]);
    const shown = await session.execute(`
figure, axes = plt.subplots(figsize=(1, 1)); axes.plot([1]); figure.savefig('/tmp/x.svg'); display(figure)
figure`);
    expect(shown.results.map((one) => [one.is_main_result, one.mime])).toEqual([
      [false, 'image/png'],
      [true, 'image/png'],
    ]);
    const next = await session.execute('plt.get_fignums()');
    expect([next.metadata.result, next.results.length]).toEqual([[], 1]);
  });

  test('a figure that cannot be drawn is reported, and the program succeeds', async () => {
    const { success, stderr, results } = await session.execute(
      "plt.figure(figsize=(1, 1)); plt.title('$\\\\frac$')\nNone",
    );
    expect([success, results]).toEqual([true, []]);
    expect(stderr).toMatch(/^display: a figure cannot be drawn: ValueError: /);
  });

  test('data frames are displayed as tables', async () => {
    const { results, stderr } = await session.execute(`
frame = pd.DataFrame({'n': [1, 2], 'share': [0.5, None], 'day': pd.to_datetime(['2026-01-01', None])})
display(frame)
display(frame.groupby('n').share.sum())
display(pd.concat([frame] * 600).reset_index(drop=True)[['n']])
frame.pivot_table(index='n', columns='day', values='share')`);
    expect(stderr).toBe('');
    expect(results.map((one) => one.data && Object.keys(one.data))).toEqual([
      ['n', 'share', 'day'],
      ['n', 'share'],
      ['n'],
      ['n', '2026-01-01 00:00:00'],
    ]);
    const [first, series, long, pivot] = results;
    expect(first).toMatchObject({
      html: expect.stringContaining('<table'),
      data: { n: [1, 2], share: [0.5, null], day: ['2026-01-01 00:00:00', null] },
      markdown: expect.stringContaining('| 1 | 0.5 | 2026-01-01 00:00:00 |'),
    });
    expect(series).toMatchObject({ data: { n: [1, 2], share: [0.5, 0] }, mime: 'text/markdown' });
    expect(long!.data!['n']).toHaveLength(1000);
    expect(long!.markdown).toContain('50 of 1200 rows are shown.');
    expect(pivot).toMatchObject({ is_main_result: true, data: { n: [1] } });
  });

  test('the recipes in docs/PACKAGES.md run', async () => {
    const text = readFileSync(new URL('../../docs/PACKAGES.md', import.meta.url), 'utf8');
    const recipes = [...text.matchAll(/```python\n([^`]*)```/g)].map(([, recipe]) => recipe!);
    const orders =
      'day,product,quantity,price\n2026-01-05,tea,3,2.5\n2026-01-20,coffee,1,6\n2026-02-02,tea,4,2.5\n';
    const results: SandboxResult[] = [];
    for (const recipe of recipes)
      results.push(await session.execute(recipe, { files: { 'orders.csv': orders } }));
    expect(results.map(({ stderr }) => stderr)).toEqual(recipes.map(() => ''));
    expect(results.map((one) => one.results.at(-1)!)).toMatchObject([
      { data: { product: ['coffee', 'tea'], orders: [1, 2], revenue: [6, 17.5] } },
      { text: '[5.0, 4.0]' },
      {
        width: 1200,
        height: 450,
        chart: { type: 'superchart', elements: [{ type: 'line' }, { type: 'bar' }] },
      },
      { is_main_result: true },
    ]);
    expect(results.map(({ files_created }) => files_created)).toEqual([
      expect.anything(),
      ['margin.xlsx'],
      ['plots.png'],
      [],
    ]);
    expect(chartOf(results[3]!.results[0]!)).toMatchObject({
      title: 'Quantity',
      elements: [
        { label: 'coffee', value: 1 },
        { label: 'tea', value: 7 },
      ],
    });
  });

  test('a preloaded numpy costs less than 1M fuel to import', async () => {
    expect((await session.execute('import numpy')).fuel_consumed).toBeLessThan(1_000_000);
  });

  test('data frames, figures and random generators follow checkpoints, forks and rollbacks, with the same fuel', async () => {
    await session.execute(DRAW);
    await session.checkpoint('drawn');
    const fork = await session.fork();
    const results = [await session.execute(REDRAW), await fork.execute(REDRAW)];
    await session.rollback('drawn');
    results.push(await session.execute(REDRAW));
    await fork.close();
    const facts = ({ metadata, fuel_consumed }: SandboxResult) => [metadata.result, fuel_consumed];
    expect(results.map(facts)).toEqual(results.map(() => [REDRAWN, results[0]!.fuel_consumed]));
  });

  test('data frames, figures and random generators continue in another process', async () => {
    const stored = await createSandbox({ ...options, session_id: 'drawn', store: diskStore(sessions.store) });
    expect(await stored.execute(DRAW)).toMatchObject({ success: true });
    await stored.close();
    const packages = options.packages.flatMap((path) => ['--packages', path]);
    const { stdout } = await sessions.run(
      'drawn',
      REDRAW,
      '--json',
      ...packages,
      '--preload',
      options.preload.join(),
    );
    expect(JSON.parse(stdout)).toMatchObject({ stderr: '', metadata: { result: REDRAWN } });
  });

  test('work on a table of 20,000 rows fits into the default limits', async () => {
    await using sandbox = await createSandbox({ ...options, policy: {} });
    const { stderr, metadata, fuel_consumed, memory_used_bytes } = await sandbox.execute(ANALYSIS);
    expect(stderr).toBe('');
    expect(metadata.result).toEqual(ANALYSED);
    // docs/PACKAGES.md says how much this takes.
    expect(fuel_consumed).toBeLessThan(2_000_000_000);
    expect(memory_used_bytes).toBeLessThan(128 * 2 ** 20);
  });

  test.runIf(process.env['NIGHTLY_TESTS'])(
    'work on a table of 20,000 rows fits into the default limits even if pandas must be imported first',
    async () => {
      await using sandbox = await createSandbox({
        runtime: 'python',
        packages: options.packages.slice(0, 2),
      });
      const { stderr, metadata } = await sandbox.execute(ANALYSIS);
      expect([stderr, metadata.result]).toEqual(['', ANALYSED]);
    },
    300_000,
  );

  test('a program that waits for a tool continues with its arrays, in the session and in a fork', async () => {
    const tools = { wait: async (_: object, ctx: { suspend(): never }) => ctx.suspend() };
    const paused = await createSandbox({ ...options, tools });
    const { metadata } = await paused.execute(
      'import numpy as np\nr = np.random.default_rng(7); r.random()\nn = await tools.wait()\n[n, r.random()]',
    );
    const fork = await paused.fork();
    const resolutions = [{ id: metadata.pending![0]!.id, value: 1 }];
    for (const one of [paused, fork]) {
      const { metadata: resumed } = await one.resume(metadata.execution_id!, { resolutions, tools });
      expect(resumed.result).toEqual([1, REDRAWN[3]]);
      await one.close();
    }
  });

  test('limits hold inside pandas, and the session continues', async () => {
    await session.execute('long = pd.Series(np.arange(100_000) % 1009).astype(float)');
    const spent = await session.execute('long.rolling(5001).median()', { fuel_budget: 100_000_000 });
    expect(spent.metadata).toMatchObject({ trap_reason: 'out_of_fuel', stopped_at: { line: 1 } });
    const large = await session.execute("(short := long[:10_000].to_frame()).merge(short, how='cross')");
    expect(large.stderr).toMatch(/^MemoryError|MemoryError: Unable to allocate/m);
    expect((await session.execute('int(long.sum())')).metadata.result).toBe(50_350_950);
  });

  test('limits hold inside numpy, and the session continues', async () => {
    const spent = await session.execute('while True: np.sort(np.arange(100_000)[::-1].copy())', {
      fuel_budget: 300_000_000,
    });
    expect(spent.metadata.trap_reason).toBe('out_of_fuel');
    const large = await session.execute('np.ones(2 ** 27)');
    expect(large.stderr).toContain('MemoryError');
    expect((await session.execute('int(np.ones(10).sum())')).metadata.result).toBe(10);
  });
});

test.runIf(isAvailable && process.env['NIGHTLY_TESTS'])(
  'packages add prints what the documentation shows',
  { tags: 'full' },
  async () => {
    const folder = folderOfTest();
    const env = onlyPackagesFrom(dirname(wheels[0]!), folder);
    const { stderr } = await runCli(['packages', 'add', 'numpy', 'pandas'], { cwd: folder, env });
    const document = readFileSync(new URL('../../docs/PACKAGES.md', import.meta.url), 'utf8');
    expect(stderr).toBe(documentedOutput(document, 'packages-add'));
  },
);
