import { expect, test } from 'vitest';
import { isoTime } from '../../packages/core/src/schema/iso-time.ts';
import { sessionRecord } from '../../packages/core/src/schema/session-record.ts';

test.each([
  ['the present', Date.parse('2026-11-17T12:00:00.000Z'), '2026-11-17T12:00:00.000Z'],
  ['a clock far ahead', 8.64e15, '9999-12-31T23:59:59.999Z'],
  ['a clock before 1970', -1, '1970-01-01T00:00:00.000Z'],
])('a record can store the time of %s', (_, ms, expected) => {
  const time = isoTime(ms);
  expect(time).toBe(expected);
  expect(sessionRecord.shape.last_used_at.parse(time)).toBe(time);
});
