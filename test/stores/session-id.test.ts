import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  checkSessionId,
  foldSessionId,
  isSessionId,
  rejectCaseConflict,
} from '../../packages/core/src/stores/session-id.ts';

describe('session id', () => {
  test('accepts UUIDs and plain names', () => {
    for (const id of [
      randomUUID(),
      'a',
      '_',
      '0',
      'my-session_2',
      'COM',
      'com10',
      'console',
      'x'.repeat(64),
    ]) {
      expect(checkSessionId(id)).toBe(id);
    }
  });

  test('rejects names that a file system, shell or URL could misread', () => {
    const names = [
      '',
      '.',
      '..',
      '.hidden',
      '-rf',
      'a.',
      'a b',
      'a\n',
      'a/b',
      'a\\b',
      'a:b',
      'ä',
      '~',
      'x'.repeat(65),
    ];
    const devices = ['con', 'CON', 'Prn', 'aux', 'nul', 'com0', 'COM1', 'lpt9'];
    for (const id of [...names, ...devices, undefined, null, 7, ['a']]) {
      expect(isSessionId(id), String(id)).toBe(false);
      expect(() => checkSessionId(id)).toThrow(/session_id: /);
    }
  });

  test('accepts no character other than letters, digits, underscore and hyphen', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 80 }), (id) => {
        if (isSessionId(id)) expect(id).toMatch(/^[A-Za-z0-9_][A-Za-z0-9_-]*$/);
      }),
    );
  });

  test('rejects an id that differs from an existing one only in case', () => {
    expect(foldSessionId('AbC-1')).toBe('abc-1');
    expect(() => rejectCaseConflict('abc', ['x', 'ABC'])).toThrow('"ABC"');
    rejectCaseConflict('abc', ['abc', 'abcd', 'x']);
  });
});
