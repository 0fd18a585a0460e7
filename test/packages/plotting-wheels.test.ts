/**
 * seaborn, which is vendored, and plotly as it is published. Its wheels are downloaded with pip, so the tests run nightly only; plots of
 * seaborn also need the wheels of scientific-wheels.test.ts.
 *
 * @module-tag full
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createSandbox, type DisplayResult } from 'llm-wasm-sandbox';
import { describe, expect, type TestContext, test } from 'vitest';
import { folderOfFile } from '../support/folders.ts';
import { decodePng } from '../support/png.ts';
import { isNightly } from '../support/repetitions.ts';

const REASON = isNightly ? '' : ' (skipped: downloads wheels; set NIGHTLY_TESTS=1)';
const PLOTLY = ['plotly==7.1.0', 'narwhals==2.26.0'];
const SCIENTIFIC =
  /^(?:numpy|pandas|pillow|matplotlib|contourpy|kiwisolver|fonttools)-.*(?:_wasm32|-none-any)\.whl$/;

const folder = folderOfFile();

/** The paths of the wheels. Without an index that has them, the test is skipped and says so. */
function download(pins: readonly string[], { skip }: TestContext): string[] {
  const to = join(folder, pins[0]!);
  const args = [
    '-m',
    'pip',
    'download',
    '--quiet',
    '--no-deps',
    '--only-binary=:all:',
    '--dest',
    to,
    ...pins,
  ];
  const { status, stderr } = spawnSync('python3', args, { encoding: 'utf8', timeout: 120_000 });
  if (status !== 0) return skip(`pip cannot download ${pins.join(' and ')}: ${stderr?.slice(-300)}`);
  return readdirSync(to).map((file) => join(to, file));
}

/** The wheels for WebAssembly in the folders that PIP_FIND_LINKS names. */
function scientificWheels({ skip }: TestContext): string[] {
  const folders = (process.env['PIP_FIND_LINKS'] ?? '').split(/\s+/).filter((one) => existsSync(one));
  const wheels = folders.flatMap((one) =>
    readdirSync(one)
      .filter((file) => SCIENTIFIC.test(file))
      .map((file) => join(one, file)),
  );
  return wheels.length >= 7 ? wheels : skip('PIP_FIND_LINKS names no folder with the wheels of matplotlib');
}

const policy = { memory_bytes: 512 * 2 ** 20, timeout_seconds: 120, fuel_budget: 50_000_000_000 };
const chartOf = ({ chart }: DisplayResult) =>
  chart as {
    type: string;
    title: string | null;
    elements: { label: string; value?: number; points?: unknown[] }[];
  };
const summary = (one: DisplayResult) => [chartOf(one)?.type, chartOf(one)?.title];

describe.skipIf(!isNightly)(`published packages for plots${REASON}`, () => {
  test('figures of plotly.graph_objects are drawn', async (context) => {
    await using sandbox = await createSandbox({
      runtime: 'python',
      packages: download(PLOTLY, context),
      policy,
    });
    const { results, stderr } = await sandbox.execute(`
import plotly.graph_objects as go
go.Figure(data=[go.Bar(x=['a', 'b', 'c'], y=[3, 1, 2], name='n')], layout=dict(title='Bars')).show()
fig = go.Figure()
fig.add_trace(go.Scatter(x=[1, 2, 3], y=[4, 1, 2], mode='lines+markers', name='s'))
fig.add_trace(go.Scatter(x=[1, 2, 3], y=[1, 2, 3], mode='lines', name='t'))
fig.update_layout(title='Lines', xaxis_title='time', yaxis_title='value')
display(fig)
go.Figure(go.Pie(labels=['a', 'b'], values=[1, 3])).show()
go.Figure(go.Histogram(x=[1, 1, 2, 3, 3, 3])).show()
go.Figure(go.Heatmap(z=[[1, 2], [3, 4]])).show()
go.Figure(go.Box(y=[1, 2, 3, 9], name='A')).show()
go.Figure(go.Sankey(node=dict(label=['a', 'b']), link=dict(source=[0], target=[1], value=[1])))`);
    expect(stderr).toMatch(
      /^display: the plotly figure cannot be drawn, because it has traces of type sankey\. /,
    );
    expect(results.slice(0, 6).map(summary)).toEqual([
      ['bar', 'Bars'],
      ['line', 'Lines'],
      ['pie', null],
      ['bar', null],
      ['unknown', null],
      ['box_and_whisker', null],
    ]);
    expect(results.slice(0, 6).map(({ png, note }) => [decodePng(png!).width > 500, note])).toEqual(
      Array(6).fill([true, undefined]),
    );
    expect(chartOf(results[0]!).elements.map(({ label, value }) => [label, value])).toEqual([
      ['a', 3],
      ['b', 1],
      ['c', 2],
    ]);
    expect(chartOf(results[1]!).elements).toEqual([
      {
        label: 's',
        points: [
          [1, 4],
          [2, 1],
          [3, 2],
        ],
      },
      {
        label: 't',
        points: [
          [1, 1],
          [2, 2],
          [3, 3],
        ],
      },
    ]);
  });

  test('plots of seaborn and plotly.express are results', async (context) => {
    const packages = [...scientificWheels(context), ...download(PLOTLY, context)];
    await using sandbox = await createSandbox({ runtime: 'python', packages, policy });
    const { results, stderr } = await sandbox.execute(`
import matplotlib.pyplot as plt, pandas as pd, plotly.express as px, seaborn as sns
df = pd.DataFrame({'day': ['Mon', 'Tue', 'Wed'] * 4, 'tip': [1, 2, 3, 2, 3, 4, 3, 4, 5, 1, 1, 1], 'kind': ['a', 'b'] * 6})
sns.barplot(data=df, x='day', y='tip', errorbar=None)
plt.title('Tips')
plt.show()
sns.lineplot(data=df, x='day', y='tip', errorbar=None)
plt.show()
sns.heatmap(df.pivot_table(index='day', columns='kind', values='tip'), annot=True)
plt.show()
px.bar(df.groupby('day', as_index=False).tip.sum(), x='day', y='tip', title='Express').show()
sns.histplot(df.tip)
None`);
    expect(stderr).toBe('');
    expect(results.map(summary)).toEqual([
      ['bar', 'Tips'],
      ['line', null],
      ['unknown', null],
      ['bar', 'Express'],
      ['bar', null],
    ]);
    const values = (one: DisplayResult) => chartOf(one).elements.map(({ label, value }) => [label, value]);
    expect(values(results[0]!)).toEqual([
      ['Mon', 1.75],
      ['Tue', 2.5],
      ['Wed', 3.25],
    ]);
    expect(values(results[3]!)).toEqual([
      ['Mon', 7],
      ['Tue', 10],
      ['Wed', 13],
    ]);
    for (const { png } of results) expect(decodePng(png!).width).toBeGreaterThanOrEqual(640);
  }, 300_000);
});
