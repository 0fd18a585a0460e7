import { describe, expect, test } from 'vitest';
import { findGrowth } from './report.ts';

const MiB = 1024 * 1024;
const samples = (rss: (i: number) => number, descriptors = (_: number) => 40) =>
  Array.from({ length: 40 }, (_, i) => ({
    seconds: i,
    rssBytes: rss(i) * MiB,
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

  test('rejects a run that is too short to show growth', () => {
    expect(findGrowth(samples(() => 300).slice(0, 5))).toHaveLength(1);
  });
});
