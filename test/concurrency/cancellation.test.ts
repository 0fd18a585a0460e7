import { describe, expect, test } from 'vitest';
import { Cancellation } from '../../packages/core/src/concurrency/cancellation.ts';

describe('a cancellation', () => {
  test('calls each listener once', () => {
    const cancellation = new Cancellation();
    const calls: string[] = [];
    const removed = () => calls.push('removed');
    cancellation.signal.addEventListener('abort', () => calls.push('first'), { once: true });
    cancellation.signal.addEventListener('abort', removed, { once: true });
    cancellation.signal.addEventListener('abort', () => calls.push('second'), { once: true });
    cancellation.signal.removeEventListener('abort', removed);
    expect(cancellation.signal.aborted).toBe(false);
    cancellation.abort();
    cancellation.abort();
    expect(cancellation.signal.aborted).toBe(true);
    expect(calls).toEqual(['first', 'second']);
  });

  test('does not call a listener that is added afterwards', () => {
    const cancellation = new Cancellation();
    cancellation.abort();
    const calls: string[] = [];
    cancellation.signal.addEventListener('abort', () => calls.push('late'), { once: true });
    cancellation.abort();
    expect(calls).toEqual([]);
  });
});
