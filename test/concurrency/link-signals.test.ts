import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { linkSignals } from '../../packages/core/src/concurrency/cancellation.ts';

describe('linked signals', () => {
  it('abort with the reason of the first source that aborts', () => {
    const [one, two] = [new AbortController(), new AbortController()];
    const linked = new AbortController();
    linkSignals(linked, one.signal, undefined, two.signal);
    const { signal } = linked;
    expect(signal.aborted).toBe(false);
    two.abort('second');
    one.abort('first');
    expect([signal.aborted, signal.reason]).toEqual([true, 'second']);
  });

  it('are aborted from the start if a source is', () => {
    const linked = new AbortController();
    linkSignals(linked, AbortSignal.abort('gone'));
    expect(linked.signal.reason).toBe('gone');
  });

  it('cause no warning about a leak if many have the same source', async () => {
    const warnings: Error[] = [];
    const note = (warning: Error) => warnings.push(warning);
    process.on('warning', note);
    const source = new AbortController();
    for (let i = 0; i < 20; i++) linkSignals(new AbortController(), source.signal);
    await new Promise((resolve) => setImmediate(resolve));
    process.off('warning', note);
    expect(warnings).toEqual([]);
  });

  it('leave no listener on their sources after unlink', () => {
    const source = new AbortController();
    const linked = new AbortController();
    const unlink = linkSignals(linked, source.signal);
    expect(getEventListeners(source.signal, 'abort')).toHaveLength(1);
    unlink();
    expect(getEventListeners(source.signal, 'abort')).toHaveLength(0);
    source.abort();
    expect(linked.signal.aborted).toBe(false);
  });
});
