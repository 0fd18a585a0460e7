/** The short, deterministic run of all fuzz targets, and the cases that failed in earlier runs. */
import { readFileSync } from 'node:fs';
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
