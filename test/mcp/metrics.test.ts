import { describe, expect, it } from 'vitest';
import { percentiles } from '../../packages/server/src/server/metrics.ts';

describe('percentiles', () => {
  it('use the nearest rank', () => {
    const hundred = Array.from({ length: 100 }, (_, i) => 100 - i);
    expect(percentiles(hundred)).toEqual({ p50: 50, p95: 95, p99: 99 });
    expect(percentiles([])).toEqual({ p50: 0, p95: 0, p99: 0 });
  });
});
