/** Attacks on the renderer of charts: specifications that are expensive to draw or refer to the host. */
import type { Pattern, ProgramAttack } from '../attack.ts';

const POSITION =
  "encoding: { x: { field: 'x', type: 'quantitative' }, y: { field: 'x', type: 'quantitative' } }";
const ONE = 'data: { values: [{ x: 1 }] }';
const NOT_DRAWN = (reason: RegExp): Pattern => ({
  success: true,
  results: [{ note: new RegExp(`^The chart is not drawn: ${reason.source}`) }],
});
const TOO_EXPENSIVE = NOT_DRAWN(
  /(drawing it takes too (much|long)|the renderer failed|it is too large|out of memory)/,
);

const SPECIFICATIONS: Record<string, readonly [spec: string, expect: Pattern]> = {
  'million-points': [
    `data: { sequence: { start: 0, stop: 1e6, as: 'x' } }, mark: 'point', ${POSITION}`,
    TOO_EXPENSIVE,
  ],
  'huge-array-in-expression': [
    `${ONE}, mark: 'point', ${POSITION}, transform: [{ calculate: 'length(sequence(1e9))', as: 'y' }]`,
    TOO_EXPENSIVE,
  ],
  'hundred-thousand-pixels': [
    `${ONE}, mark: 'point', ${POSITION}, width: 1e5, height: 1e5`,
    NOT_DRAWN(/(it has 100\d{3} × 100\d{3} pixels|drawing it takes too long)/),
  ],
  'data-at-a-url': [
    `data: { url: 'file:///etc/passwd' }, mark: 'point', ${POSITION}`,
    NOT_DRAWN(/the data "file:\/\/\/etc\/passwd" is at a URL/),
  ],
  'host-file-as-image': [
    `${ONE}, mark: { type: 'image', url: 'file:///etc/passwd' }, ${POSITION}`,
    { success: true, results: [{ svg: /^(?!.*(?:href|passwd))/s }] },
  ],
};

const display = (spec: string) =>
  `display({ $schema: 'https://vega.github.io/schema/vega-lite/v6.json', ${spec} });`;

const specifications = Object.entries(SPECIFICATIONS).map(
  ([name, [spec, expect]]): ProgramAttack => ({
    name: `chart-${name}`,
    code: display(spec),
    policy: { timeout_seconds: 5 },
    outcomes: ['finished'],
    expect,
  }),
);

const [MILLION] = SPECIFICATIONS['million-points']!;

export const CHART_ATTACKS: readonly ProgramAttack[] = [
  ...specifications,
  {
    name: 'chart-flood',
    code: `for (let i = 0; i < 20; i++) ${display(MILLION)}`,
    policy: { timeout_seconds: 1 },
    outcomes: ['finished'],
    expect: { success: true, results: { length: 20, 19: { note: /^The chart is not drawn: / } } },
  },
  {
    name: 'chart-of-a-program-without-time',
    code: `${display(`${ONE}, mark: 'point', ${POSITION}`)} for (;;);`,
    policy: { timeout_seconds: 0.3, fuel_budget: 100_000_000_000 },
    outcomes: ['timeout'],
    expect: { results: [{ note: /the time limit of the call is reached/ }] },
  },
];
