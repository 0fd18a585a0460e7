import { describe, expect, test } from 'vitest';
import { findGrowth } from './report.ts';
import { stallFigures } from './stall-meter.ts';

const MiB = 1024 * 1024;
const samples = (rss: (i: number) => number, descriptors = (_: number) => 40) =>
  Array.from({ length: 40 }, (_, i) => ({
    seconds: i,
    rssBytes: rss(i) * MiB,
    heapBytes: 0,
    externalBytes: 0,
    workers: 2,
    descriptors: descriptors(i),
    threads: 12,
  }));

describe('soak report', () => {
  test('accepts resources that go up and down', () => {
    expect(
      findGrowth(
        samples(
          (i) => 300 + (i % 5) * 50,
          (i) => 40 + (i % 3) * 20,
        ),
      ),
    ).toEqual([]);
  });

  test('reports memory and descriptors that stay above their initial level', () => {
    const problems = findGrowth(
      samples(
        (i) => 300 + i * 10,
        (i) => 40 + i,
      ),
    );
    expect(problems.map((problem) => problem.split(' ')[0])).toEqual(['rssBytes', 'descriptors']);
  });

  test('computes percentiles and shares of stalls', () => {
    const figures = stallFigures(Array.from({ length: 1000 }, (_, i) => (i * 7) % 1000));
    expect(figures).toMatchObject({ p50: 500, p99: 990, p999: 999, max: 999 });
    expect(figures.buckets.find(({ upToMs }) => upToMs === 200)).toEqual({ upToMs: 200, share: 0.201 });
    expect(stallFigures([])).toMatchObject({ p999: 0, max: 0 });
  });

  test('rejects a run that is too short to show growth', () => {
    expect(findGrowth(samples(() => 300).slice(0, 5))).toHaveLength(1);
  });
});
