/** Charts that programs display, drawn by the built package. Each language draws its charts in one call, which is the cheapest. */
import { readFileSync } from 'node:fs';
import { createPool, createSandbox, type DisplayResult, type Sandbox } from 'llm-wasm-sandbox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chartExamples } from '../../scripts/chart-examples.mjs';
import { ONLY_OWN_REQUEST, startListener } from '../support/listener.ts';
import { decodePng } from '../support/png.ts';
import { code } from '../support/sandbox.ts';

/** The time of a call also limits that of its charts. */
const SLOW_MACHINE = { timeout_seconds: 60 };

/** Texts in an SVG, in the order of the document. */
const textsOf = (svg: string) => [...svg.matchAll(/<text[^>]*>([^<]*)</g)].map(([, text]) => text);

interface Bar {
  readonly width: number;
  readonly height: number;
}

/** The rectangles of a mark in an SVG. */
const rectanglesOf = (svg: string, role = 'bar'): Bar[] =>
  [
    ...svg.matchAll(
      new RegExp(`aria-roledescription="${role}"[^>]*? d="M[-\\d.]+,[-\\d.]+h([-\\d.]+)v([-\\d.]+)`, 'g'),
    ),
  ].map(([, width, height]) => ({ width: Number(width), height: Number(height) }));

/** Heights of the bars in an SVG. */
const barsOf = (svg: string) => rectanglesOf(svg).map(({ height }) => height);

/** The lengths, scaled so that the first one is `first`. */
const inUnits = (lengths: readonly number[], first: number) =>
  lengths.map((length) => Math.round((length / lengths[0]!) * first * 10) / 10);

const summary = ({ chart }: DisplayResult) =>
  chart as {
    type: string;
    title: string;
    elements: { label?: string; value?: number; points?: unknown[] }[];
  };

/** The part of the image, as a share of its height from the top, in which dark pixels occur first. */
function firstDarkRow(base64: string): number {
  const { width, height, isDark } = decodePng(base64);
  for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) if (isDark(x, y)) return y / height;
  return 1;
}

/** A drawn chart has all forms, a PNG of twice the size of its SVG, and dark pixels at the top, where its title is. */
function expectDrawn(result: DisplayResult, texts: readonly string[]): void {
  expect(result.note).toBeUndefined();
  expect(result).toMatchObject({
    mime: 'image/png',
    json: { $schema: expect.stringContaining('vega-lite') },
  });
  const { svg = '', png = '', width = 0, height = 0 } = result;
  expect(textsOf(svg)).toEqual(expect.arrayContaining([...texts]));
  const pixels = decodePng(png);
  expect([pixels.width, pixels.height]).toEqual([width, height]);
  const [, ...size] = /^<svg[^>]* width="(\d+)" height="(\d+)"/.exec(svg)!.map(Number) as [
    number,
    number,
    number,
  ];
  const scale = Math.min(2, 1568 / Math.max(...size));
  expect(Math.abs(width - size[0] * scale)).toBeLessThanOrEqual(2);
  expect(Math.abs(height - size[1] * scale)).toBeLessThanOrEqual(2);
  expect(firstDarkRow(png)).toBeLessThan(0.06);
}

describe('charts of Python programs', () => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await createSandbox({ runtime: 'python', policy: SLOW_MACHINE });
  });
  afterAll(() => sandbox.close());

  it('are drawn from calls to chart, specifications and objects with a form of Vega-Lite', {
    tags: 'full',
  }, async () => {
    const { results, stderr } = await sandbox.execute(code`
      import datetime, random
      random.seed(1)
      sales = [{'region': r, 'sales': n} for r, n in (('North', 30), ('South', 52), ('West', 21))]
      display(chart.bar(sales, x='region', y='sales', title='Sales per region'))
      days = [datetime.date(2026, 1, 1) + datetime.timedelta(days=i) for i in range(10)]
      display(chart.line({'day': days, 'a': range(10), 'b': [n * n for n in range(10)]}, x='day', y=['a', 'b'], title='Growth'))
      display(chart.histogram([random.gauss(0, 1) for _ in range(2000)], title='Normal'))

      schema = 'https://vega.github.io/schema/vega-lite/v5.json'
      quarters = [{'quarter': q, 'team': t, 'points': p} for q, t, p in
                  (('Q1', 'red', 10), ('Q1', 'blue', 20), ('Q2', 'red', 30), ('Q2', 'blue', 40))]
      display({'$schema': schema, 'title': 'Teams', 'data': {'values': quarters},
               'mark': {'type': 'bar', 'tooltip': True},
               'encoding': {'x': {'field': 'quarter', 'type': 'nominal'}, 'xOffset': {'field': 'team'},
                            'y': {'field': 'points', 'type': 'quantitative'}, 'color': {'field': 'team', 'type': 'nominal'}}})
      base = {'x': {'field': 'region', 'type': 'nominal', 'sort': '-y'}, 'y': {'field': 'sales', 'type': 'quantitative'}}
      display({'$schema': schema, 'title': 'With labels', 'data': {'values': sales}, 'width': 300, 'layer': [
          {'mark': 'bar', 'encoding': base},
          {'mark': {'type': 'text', 'dy': -8}, 'encoding': {**base, 'text': {'field': 'sales', 'type': 'quantitative'}}},
          {'mark': {'type': 'rule', 'color': 'red'}, 'encoding': {'y': {'aggregate': 'mean', 'field': 'sales'}}}]})

      class Figure:
          def _repr_mimebundle_(self, include=None, exclude=None):
              return {'application/vnd.vegalite.v5+json': {
                  '$schema': schema, 'title': 'Panels', 'data': {'values': quarters}, 'mark': 'bar',
                  'encoding': {'column': {'field': 'team'}, 'x': {'field': 'quarter'}, 'y': {'field': 'points', 'type': 'quantitative'}}}}
      display('between')
      Figure()
    `);
    expect(stderr).toBe('');
    expect(results.map(({ id, is_main_result, mime }) => [id, is_main_result, mime])).toEqual(
      [1, 2, 3, 4, 5, 6, 7].map((i) => [`r${i}`, i === 7, i === 6 ? 'text/plain' : 'image/png']),
    );
    const [bar, line, histogram, grouped, layered, , panels] = results as DisplayResult[];
    expectDrawn(bar!, ['Sales per region', 'North', 'South', 'West', 'region', 'sales']);
    const heights = (result: DisplayResult) => barsOf(result.svg!);
    expect(inUnits(heights(bar!), 30)).toEqual([30, 52, 21]);
    expect(bar!.chart).toMatchObject({
      type: 'bar',
      title: 'Sales per region',
      x_label: 'region',
      y_label: 'sales',
      elements: [
        { label: 'North', group: '', value: 30 },
        { label: 'South', group: '', value: 52 },
        { label: 'West', group: '', value: 21 },
      ],
    });
    expectDrawn(line!, ['Growth', 'day', 'a', 'b', 'Jan 01', 'Jan 03', 'Jan 09']);
    expect(line!.chart).toMatchObject({
      type: 'line',
      x_scale: 'datetime',
      elements: [
        { label: 'a', points: expect.arrayContaining([['2026-01-04T00:00:00.000Z', 3]]) },
        { label: 'b' },
      ],
    });
    expectDrawn(histogram!, ['Normal', 'count']);
    expect(summary(histogram!).elements.reduce((sum, { value }) => sum + value!, 0)).toBe(2000);
    expectDrawn(grouped!, ['Teams', 'Q1', 'Q2', 'red', 'blue', 'points']);
    expect(inUnits(heights(grouped!), 10)).toEqual([10, 20, 30, 40]);
    expectDrawn(layered!, ['With labels', '30', '52', '21', 'South']);
    expect(inUnits(heights(layered!), 30)).toEqual([30, 52, 21]);
    expectDrawn(panels!, ['Panels', 'red', 'blue', 'Q1', 'Q2']);
    expect(inUnits(heights(panels!), 20)).toEqual([20, 40, 10, 30]);
  });

  it('are drawn from charts of altair', { tags: 'full' }, async () => {
    const altair = await createSandbox({ runtime: 'python', preload: ['altair'], policy: SLOW_MACHINE });
    const { results, stderr, fuel_consumed } = await altair.execute(code`
      import altair as alt
      data = alt.Data(values=[{'region': 'North', 'sales': 30}, {'region': 'South', 'sales': 52}])
      bars = alt.Chart(data).mark_bar().encode(x='region:N', y='sales:Q').properties(title='Sales')
      bars.show()
      alt.Chart(data).mark_bar().encode(x=alt.X('region:N', axis=3))
    `);
    const imported = await altair.execute('import altair');
    await altair.close();
    expectDrawn(results[0]!, ['Sales', 'region', 'North', 'South']);
    const heights = barsOf(results[0]!.svg!);
    expect(Math.round((heights[0]! / heights[1]!) * 52)).toBe(30);
    expect(stderr).toMatch(
      /^display: _repr_mimebundle_ of Chart failed: SchemaValidationError: '3' is an invalid value/,
    );
    expect(results[1]).toMatchObject({ is_main_result: true, mime: 'text/plain' });
    // Without the preloaded module, the import takes 2G.
    expect([fuel_consumed < 500_000_000, imported.fuel_consumed < 1_000_000]).toEqual([true, true]);
  });

  it('are drawn from figures of plotly', { tags: 'full' }, async () => {
    // The part of plotly's interface that the conversion uses.
    const files = {
      'plotly/__init__.py': '',
      'plotly/basedatatypes.py': code`
        class Part(dict):
            visible = None
            def to_plotly_json(self): return dict(self)
        class BaseFigure:
            def __init__(self, *data, **layout): self.data, self.layout = [Part(one) for one in data], Part(layout)
            def _ipython_display_(self): raise RuntimeError('no browser')
      `,
    };
    const source = code`
      from plotly.basedatatypes import BaseFigure as Figure
      import colorsys
      days = ['2026-01-01', '2026-01-02', '2026-01-03']
      Figure({'type': 'scatter', 'mode': 'lines', 'x': days, 'y': [1, 3, 2], 'name': 'a'},
             {'type': 'scatter', 'mode': 'markers', 'x': days, 'y': [2, 2, 1], 'name': 'b'},
             title={'text': 'Days'}, xaxis={'title': {'text': 'day'}}).show()
      display(Figure({'type': 'bar', 'x': ['p', 'q'], 'y': [20, 10], 'name': 'n'}, {'type': 'bar', 'x': ['p', 'q'], 'y': [5, 40], 'name': 'm'}))
      display(Figure({'type': 'pie', 'labels': ['x', 'y'], 'values': [1, 3], 'hole': 0.4}))
      display(Figure({'type': 'heatmap', 'z': [[1, 2], [3, 4]]}))
      display(Figure({'type': 'histogram', 'x': [1, 1, 2, 3]}))
      display(Figure({'type': 'box', 'y': [1, 2, 3, 10], 'name': 'A'}))
      pie = {'type': 'pie', 'labels': ['x'], 'values': [1]}
      Figure(pie, pie)._repr_mimebundle_()
      Figure(pie, {'type': 'bar', 'x': ['p'], 'y': [1]})._repr_mimebundle_()
      Figure({'type': 'sankey'}, pie)
    `;
    const { results, stderr } = await sandbox.execute(source, { files });
    const reasons = [...stderr.matchAll(/^display: the plotly figure cannot be drawn, because ([^.]+)\. /gm)];
    expect(reasons.map(([, reason]) => reason)).toEqual([
      'it has more than one trace of type pie',
      'it combines traces of the types pie, bar',
      'it has traces of type sankey',
    ]);
    expect(results.map((one) => [one.mime, one.note, summary(one)?.type])).toEqual([
      ...['line', 'bar', 'pie', 'unknown', 'bar', 'box_and_whisker'].map((type) => [
        'image/png',
        undefined,
        type,
      ]),
      ['text/plain', undefined, undefined],
    ]);
    expectDrawn(results[0]!, ['Days', 'day', 'a', 'b']);
    expect(summary(results[0]!).elements.map(({ label, points }) => [label, points!.length])).toEqual([
      ['a', 3],
      ['b', 3],
    ]);
    const heights = barsOf(results[1]!.svg!).toSorted((a, b) => a - b);
    expect(heights.map((height) => Math.round((height / heights[0]!) * 5))).toEqual([5, 10, 20, 40]);
    expect(summary(results[5]!).elements).toEqual([
      { label: 'A', min: 1, first_quartile: 1.75, median: 2.5, third_quartile: 4.75, max: 3, outliers: [10] },
    ]);
  });

  it('have a note and keep their specification if they cannot be drawn', { tags: 'full' }, async () => {
    const { results, success } = await sandbox.execute(code`
      schema = 'https://vega.github.io/schema/vega-lite/v6.json'
      xy = {'x': {'field': 'x', 'type': 'quantitative'}, 'y': {'field': 'y', 'type': 'quantitative'}}
      point = {'values': [{'x': 1, 'y': 2}]}
      display({'$schema': schema, 'data': {'url': 'https://example.com/d.csv'}, 'mark': 'bar', 'encoding': xy})
      display({'$schema': schema, 'data': point, 'mark': 'nonsense', 'encoding': xy})
      display({'$schema': schema, 'data': point, 'mark': 'point', 'encoding': xy, 'width': 100_000, 'height': 100_000})
      backtracking = "test(regexp('^(a+)+$'), 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab')"
      for costly in ("join(sequence(0, 10000), pad('x', 100000, 'x'))", backtracking):
          transform = [{'calculate': costly, 'as': 'z'}]
          display({'$schema': schema, 'data': point, 'transform': transform, 'mark': 'point', 'encoding': xy})
    `);
    expect(success).toBe(true);
    expect(results.map(({ mime, json, png, note }) => [mime, typeof json, png, note])).toEqual(
      [
        'The chart is not drawn: the data "https://example.com/d.csv" is at a URL, and charts load nothing. Read the data in the program and pass it as values.',
        expect.stringMatching(/^The chart is not drawn: there is no mark "nonsense". The marks are arc, /),
        expect.stringMatching(/^The chart is not drawn: it has 100\d+ × 100\d+ pixels/),
        expect.stringMatching(/^The chart is not drawn: drawing it takes too much memory/),
        expect.stringMatching(/^The chart is not drawn: drawing it takes too (much fuel|long)/),
      ].map((note) => ['application/vnd.vegalite.v6+json', 'object', undefined, note]),
    );
  });

  // guarantee: time-limit
  it('are drawn in the time that the program leaves, and have a note if there is none', {
    tags: 'full',
  }, async () => {
    const { results, metadata } = await sandbox.execute(
      'import time\ndisplay(chart.line([1, 2]))\ntime.sleep(60)',
      {
        timeout_seconds: 5,
      },
    );
    expect(metadata.trap_reason).toBe('timeout');
    expect(results.map(({ png, note }) => [png, note])).toEqual([
      [
        undefined,
        'The chart is not drawn: the time limit of the call is reached. Display fewer charts, or raise the limit.',
      ],
    ]);
  });

  it.each([
    [
      "chart.bar([{'sales': 1, 'region': 'a'}], x='region', y='sale')",
      "chart.bar: there is no column 'sale'. Did you mean 'sales'? The columns are 'sales', 'region'",
    ],
    [
      'chart.line(range(1_000_000))',
      'chart.line: the data has 1,000,000 rows, and at most 10,000 are drawn. Sample or aggregate it',
    ],
    ['chart.pie([])', 'chart.pie: the data has no rows'],
    ['chart.box([1])', "chart has no 'box'. It has line, bar, scatter, histogram, pie, heatmap"],
  ])('report errors: %s', async (source, message) => {
    const { stderr } = await sandbox.execute(source);
    expect(stderr).toContain(message);
  });
});

describe('charts of JavaScript programs', () => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await createSandbox({ runtime: 'javascript', policy: SLOW_MACHINE });
  });
  afterAll(() => sandbox.close());

  it('are drawn from calls to chart and from specifications', { tags: 'full' }, async () => {
    const { results, stderr } = await sandbox.execute(code`
      const points = Array.from({ length: 60 }, (_, i) => ({ size: i, weight: 2 * i + (i % 7), kind: i % 2 ? 'odd' : 'even' }));
      display(chart.scatter(points, { x: 'size', y: 'weight', color: 'kind', title: 'Points' }));
      display(chart.pie({ yes: 60, no: 40 }, { title: 'Votes <2026>' }));
      display(chart.heatmap([[1, 2, 3], [4, 5, 6]], { title: 'Heat' }));

      const $schema = 'https://vega.github.io/schema/vega-lite/v6.json';
      const months = ['2026-01', '2026-02', '2026-03', '2026-04'];
      const series = months.flatMap((month, i) => [{ month, city: 'Rome', rain: 80 - 10 * i }, { month, city: 'Oslo', rain: 40 + 5 * i }]);
      display({ $schema, title: 'Rain', data: { values: series }, width: 400, height: 200,
        mark: { type: 'line', point: true, tooltip: true },
        encoding: { x: { field: 'month', type: 'temporal', axis: { format: '%b' } }, y: { field: 'rain', type: 'quantitative', title: 'mm' },
          color: { field: 'city', type: 'nominal' }, tooltip: [{ field: 'city' }, { field: 'rain' }] } });
      const answers = [['a', 1], ['b', 7], ['b', 5], ['c', 3]].map(([name, score]) => ({ name, score }));
      ({ $schema, title: { text: 'Means', subtitle: 'per name' }, data: { values: answers }, mark: 'bar',
        encoding: { y: { field: 'name', type: 'nominal', sort: '-x' }, x: { aggregate: 'mean', field: 'score' } } })
    `);
    expect(stderr).toBe('');
    expect(results.map(({ is_main_result }) => is_main_result)).toEqual([false, false, false, false, true]);
    const [scatter, pie, heatmap, line, means] = results as DisplayResult[];
    expectDrawn(scatter!, ['Points', 'size', 'weight', 'odd', 'even']);
    expect(summary(scatter!)).toMatchObject({
      type: 'scatter',
      elements: [{ label: 'even' }, { label: 'odd' }],
    });
    expect(summary(scatter!).elements.map(({ points }) => points!.length)).toEqual([30, 30]);
    expectDrawn(pie!, ['Votes &lt;2026&gt;', 'yes', 'no']);
    expect(summary(pie!).elements).toMatchObject([
      { label: 'yes', value: 60, angle: expect.closeTo(216) },
      { label: 'no', value: 40, angle: expect.closeTo(144) },
    ]);
    expectDrawn(heatmap!, ['Heat']);
    expect(new Set(rectanglesOf(heatmap!.svg!, 'rect mark').map(({ width }) => Math.round(width))).size).toBe(
      1,
    );
    expect(heatmap!.text).toBe('Chart(heatmap, 6 rows, "Heat")');
    expectDrawn(line!, ['Rain', 'mm', 'Jan', 'Mar', 'Rome', 'Oslo']);
    expect(summary(line!)).toMatchObject({ type: 'line', elements: [{ label: 'Rome' }, { label: 'Oslo' }] });
    expectDrawn(means!, ['Means', 'per name', 'Mean of score']);
    expect(
      inUnits(
        rectanglesOf(means!.svg!).map(({ width }) => width),
        1,
      ),
    ).toEqual([1, 6, 3]);
  });

  it('count towards the fuel of the tenant per minute, not towards that of the program', {
    tags: 'full',
  }, async () => {
    await using pool = createPool({
      maxWorkers: 1,
      fuelPerMinutePerTenant: 100_000_000,
      optimization: 'demand',
    });
    const inPool = await createSandbox({ runtime: 'javascript', pool, tenant: 'ann' });
    const { fuel_consumed, results } = await inPool.execute('chart.bar({ a: 1, b: 3 })');
    expect(results[0]!.png).toBeDefined();
    expect(fuel_consumed).toBeLessThan(100_000_000);
    await expect(inPool.execute('1')).rejects.toMatchObject({ code: 'rate_limited' });
  });

  it('contain no references, load nothing and run no code of the host', { tags: 'full' }, async () => {
    await using listener = await startListener();
    const { results } = await sandbox.execute(code`
      const $schema = 'https://vega.github.io/schema/vega-lite/v6.json';
      const values = [{ x: 1, y: 1, u: '${listener.origin}/x.png', f: 'file:///etc/passwd' }];
      const position = { x: { field: 'x', type: 'quantitative' }, y: { field: 'y', type: 'quantitative' } };
      display({ $schema, data: { values }, mark: 'image', encoding: { ...position, url: { field: 'u' } } });
      display({ $schema, data: { values }, mark: 'point', encoding: { ...position, href: { field: 'f' } } });
      display({ $schema, data: { values }, mark: 'point', encoding: position,
        transform: [{ calculate: 'toString.constructor("return process.version")()', as: 'z' }] });
      display({ $schema, data: { url: '${listener.origin}/data.csv' }, mark: 'point', encoding: position });
    `);
    expect(results).toHaveLength(4);
    expect(await listener.requests()).toEqual(ONLY_OWN_REQUEST);
    for (const { svg = '' } of results) expect(svg).not.toMatch(/href=|<script/);
    expect(JSON.stringify(results.map(({ chart }) => chart))).not.toContain(process.version);
  });

  it.each([
    [
      "chart.bar([{ sales: 1, region: 'a' }], { x: 'region', y: 'sale' })",
      'chart.bar: there is no column "sale". Did you mean "sales"? The columns are "sales", "region"',
    ],
    [
      "chart.bar([{ a: 1, b: 2 }], { colour: 'a' })",
      'chart.bar: there is no option "colour". Did you mean color?',
    ],
    [
      'chart.line(5)',
      'chart.line: expected an array of objects, an object of columns or an array of pairs, not number',
    ],
  ])('report errors: %s', async (source, message) => {
    const { stderr } = await sandbox.execute(source);
    expect(stderr).toContain(message);
  });
});

describe('charts of both languages', () => {
  it('have the same axes, whose labels have room and show no names that the data does not have', async () => {
    const products = [
      'Wireless headphones',
      'Mechanical keyboard',
      'USB-C docking station',
      'Ergonomic chair',
    ];
    const data = {
      few: { North: 30, South: 52 },
      long: {
        product: [...products, ...products.map((name) => `${name} 2`)],
        sales: [1, 2, 3, 4, 5, 6, 7, 8],
      },
      years: { year: [1999, 2000, 2001], rate: [370, 371, 373] },
      series: { day: ['2026-01-01', '2026-01-02'], a: [1, 2], b: [3, 5] },
    };
    const python = await createSandbox({ runtime: 'python', policy: SLOW_MACHINE });
    const fromPython = await python.execute(code`
      import json
      data = json.loads('${JSON.stringify(data)}')
      charts = [chart.bar(data['few']), chart.bar(data['long']), chart.line(data['years']), chart.scatter(data['years']),
                chart.line(data['series'], x='day', y=['a', 'b']), chart.heatmap([[1, 2], [3, 4]]), chart.bar(data['few'], width={'step': 20})]
      print(json.dumps([one.spec['encoding'] for one in charts]))
    `);
    const javascript = await createSandbox({ runtime: 'javascript', policy: SLOW_MACHINE });
    const fromJavaScript = await javascript.execute(code`
      const { few, long, years, series } = ${JSON.stringify(data)};
      const charts = [chart.bar(few), chart.bar(long), chart.line(years), chart.scatter(years),
        chart.line(series, { x: 'day', y: ['a', 'b'] }), chart.heatmap([[1, 2], [3, 4]]), chart.bar(few, { width: { step: 20 } })];
      console.log(JSON.stringify(charts.map(({ spec }) => spec.encoding)));
    `);
    await Promise.all([python.close(), javascript.close()]);
    const encodings = JSON.parse(fromPython.stdout);
    expect(JSON.parse(fromJavaScript.stdout)).toEqual(encodings);
    const [few, long, line, scatter, series, heatmap, steps] = encodings;
    expect([few.x, few.y]).toMatchObject([
      { title: null, axis: { labelAngle: 0 } },
      { title: null, type: 'quantitative' },
    ]);
    expect([long.x, long.y]).toMatchObject([
      { title: 'product', axis: { labelAngle: -40 } },
      { title: 'sales' },
    ]);
    for (const { x, y } of [line, scatter]) {
      expect(x).toMatchObject({ scale: { zero: false }, axis: { format: 'd' } });
      expect([y.scale, y.axis]).toEqual([{ zero: false }, undefined]);
    }
    expect([series.x.title, series.y.title, series.color.title]).toEqual(['day', null, null]);
    expect(series.x.axis).toEqual({
      labelFlush: false,
      format: '%b %d',
      tickCount: { interval: 'day', step: 1 },
    });
    expect(heatmap).toMatchObject({ x: { title: null, axis: { labelAngle: 0 } }, color: { title: null } });
    expect(steps.x.axis).toEqual({ labelAngle: -40 });
  });
});

describe('charts in the documentation', () => {
  it.each(chartExamples())(
    'are those that the sandbox draws: $picture',
    async ({ runtime, code: program, picture }) => {
      await using sandbox = await createSandbox({ runtime, policy: SLOW_MACHINE });
      const { results } = await sandbox.execute(program);
      const committed = readFileSync(new URL(`../../${picture}`, import.meta.url), 'utf8');
      expect(`${results.at(-1)!.svg}\n`).toBe(committed);
    },
  );
});
