import { describe, expect, test } from 'vitest';
import { pollUntil } from '../../packages/core/src/concurrency/poll-until.ts';

describe('pollUntil', () => {
  test('checks the condition until it is true', async () => {
    let checks = 0;
    await pollUntil(() => ++checks === 3, 60_000);
    expect(checks).toBe(3);
  });

  test('stops waiting after the timeout', async () => {
    let checks = 0;
    const isDone = () => {
      checks++;
      return false;
    };
    await pollUntil(isDone, 0);
    expect(checks).toBe(1);
  });
});
