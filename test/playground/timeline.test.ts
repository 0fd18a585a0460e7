import { describe, expect, test } from 'vitest';
import {
  TIMELINE_LIMITS,
  Timeline,
  type TimelineEvent,
} from '../../packages/server/src/playground/timeline.ts';
import { layOut } from '../../page/timeline-layout.ts';

const call = { kind: 'call', label: 'x', status: 'ok' } as const;

describe('timeline', () => {
  test('limits the output of a call', () => {
    const timeline = new Timeline();
    const { id } = timeline.add(call);
    timeline.begin(id, 'x');
    const chunk = 'x'.repeat(100_000);
    for (let i = 0; i < 5; i++) timeline.addOutput(id, 'stdout', chunk);
    const { output, outputTruncated } = timeline.detail(id)!;
    expect(output.map(({ text }) => text.length)).toEqual([TIMELINE_LIMITS.outputChars]);
    expect(outputTruncated).toBe(true);
  });

  test('drops the details of the oldest calls first', () => {
    const timeline = new Timeline();
    const code = 'x'.repeat(TIMELINE_LIMITS.detailChars / 4);
    const ids = Array.from({ length: 6 }, () => {
      const { id } = timeline.add(call);
      timeline.begin(id, code);
      return id;
    });
    expect(ids.map((id) => timeline.detail(id) !== undefined)).toEqual([
      false,
      false,
      true,
      true,
      true,
      true,
    ]);
  });

  test('removes the oldest steps above the limit and reports them', () => {
    const timeline = new Timeline();
    const events: TimelineEvent[] = [];
    timeline.subscribe((event) => events.push(event));
    for (let i = 0; i < TIMELINE_LIMITS.nodes + 3; i++) timeline.add(call);
    expect(timeline.nodes).toHaveLength(TIMELINE_LIMITS.nodes);
    expect(events.flatMap((event) => (event.type === 'removed' ? event.ids : []))).toEqual([1, 2, 3]);
    expect(timeline.nodes[0]).toMatchObject({ id: 4, parent: null });
  });

  test('is drawn with a lane for each branch', () => {
    const timeline = new Timeline();
    const root = timeline.add({ ...call, kind: 'start' });
    const one = timeline.add(call);
    timeline.add(call);
    const back = timeline.add({ ...call, kind: 'rollback' }, { parent: one.id });
    timeline.add(call);
    expect(layOut(timeline.nodes).map(({ lane, parentRow }) => [lane, parentRow])).toEqual([
      [0, undefined],
      [0, 0],
      [0, 1],
      [1, 1],
      [1, 3],
    ]);
    expect([root.parent, back.parent]).toEqual([null, one.id]);
  });
});
