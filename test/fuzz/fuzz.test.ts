/**
 * The short, deterministic run of all fuzz targets, and the cases that failed in earlier runs.
 *
 * @module-tag full
 */
import { readFileSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Finding, runBatch } from './target.ts';
import { TARGETS } from './targets/index.ts';

const FINDINGS = JSON.parse(
  readFileSync(new URL('findings.json', import.meta.url), 'utf8'),
) as readonly Finding[];

const SEED = 20_261_116;

describe('fuzz target', () => {
  test.each(TARGETS.map((target) => [target.name, target] as const))(
    '%s holds for the cases of the short run and for earlier findings',
    async (name, target) => {
      const opened = await target.open();
      try {
        const short = await runBatch(name, opened, { seed: SEED, numRuns: target.shortRuns });
        expect(short.report).toBe('');
        opened.checkCoverage?.();
        for (const { seed, path } of FINDINGS.filter((finding) => finding.target === name)) {
          const replay = await runBatch(name, opened, { seed, path, numRuns: 1 });
          expect(replay.report).toBe('');
        }
      } finally {
        await opened.close?.();
      }
    },
  );

  test('of every earlier finding exists', () => {
    const names = TARGETS.map(({ name }) => name);
    expect(FINDINGS.filter(({ target }) => !names.includes(target))).toEqual([]);
  });
});

describe('batch of cases', () => {
  test('completes the case that runs when the time is up, and starts no further one', async () => {
    let started = 0;
    let completed = 0;
    const property = fc.asyncProperty(fc.nat(), async () => {
      started++;
      const end = performance.now() + 20;
      while (performance.now() < end) await setImmediate();
      completed++;
    });
    const batch = await runBatch('any', { property }, { seed: 1, numRuns: 1000, maxMs: 1 });
    expect(batch).toEqual({ cases: started, finding: undefined, report: '' });
    expect(completed).toBe(started);
    expect(started).toBeLessThan(1000);
  });

  test('has no finding if the time is up before the first case', async () => {
    const property = fc.property(fc.nat(), () => false);
    const batch = await runBatch('any', { property }, { seed: 1, numRuns: 10, maxMs: -1 });
    expect(batch).toEqual({ cases: 0, finding: undefined, report: '' });
  });

  test('records the path of a failed case', async () => {
    const property = fc.property(fc.nat(), (value) => value < 10);
    const { finding, report } = await runBatch('any', { property }, { seed: 1, numRuns: 100 });
    expect(finding).toMatchObject({ target: 'any', seed: 1, path: expect.stringMatching(/^\d+(:\d+)*$/) });
    expect(report).toMatch(/^\[10\]/);
  });
});
