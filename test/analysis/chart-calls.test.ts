import { describe, expect, it } from 'vitest';
import { chartCalls } from '../../packages/core/src/runtimes/python/guidance/translate-plot-calls.ts';
import { CHART_CALLS } from './chart-calls.ts';

describe('calls to chart that replace calls to plotting packages', () => {
  it.each(CHART_CALLS)('%s', (source, ...calls) => {
    expect(chartCalls(source)).toEqual(calls);
  });

  it('are at most three short lines, for any program', () => {
    expect(chartCalls(`${'plt.plot(a)\n'.repeat(50)}plt.bar(a)\nplt.pie(a)\nplt.hist(a)\n`)).toHaveLength(3);
    expect(chartCalls(`plt.plot(${'x'.repeat(280)})`)).toEqual([]);
    expect(chartCalls(`plt.plot(${'('.repeat(100_000)}`)).toEqual([]);
    expect(chartCalls('a.'.repeat(100_000))).toEqual([]);
  });
});
