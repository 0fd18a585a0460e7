import { describe, expect, test } from 'vitest';
import { ERROR_CODES, type ErrorCode, SandboxError } from '../../packages/core/src/errors.ts';
import { EventLog } from '../../packages/core/src/sandbox/log-events.ts';
import { withoutProgramData } from '../../packages/server/src/server/safe-log.ts';

function recordedEvents(emit: (log: EventLog) => void): object[] {
  const events: object[] = [];
  const record = (fields: object) => events.push(fields);
  emit(new EventLog(withoutProgramData({ info: record, warn: record, error: record }), 'python'));
  return events;
}

describe('log without program data', () => {
  test.each(Object.keys(ERROR_CODES) as ErrorCode[])('keeps the code %s of a failed save', (code) => {
    const events = recordedEvents((log) => log.saveFailed('one', new SandboxError(code, '/secret/folder')));
    expect(events).toEqual([
      { event: 'session.save_failed', runtime: 'python', session_id: 'one', error: code },
    ]);
  });

  test('drops an error that is not a code', () => {
    for (const error of ['hidden words', 'constructor', '__proto__', ''])
      expect(recordedEvents((log) => log.emit('session.save_failed', { error }))).toEqual([
        { event: 'session.save_failed', runtime: 'python' },
      ]);
  });
});
