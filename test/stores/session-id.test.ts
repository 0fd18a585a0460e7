import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { checkSessionId, foldSessionId, isSessionId, refuseTwin } from '../../src/stores/session-id.ts';

test('UUIDs and plain names are session ids', () => {
  for (const id of [randomUUID(), 'a', '_', '0', 'my-session_2', 'COM', 'com10', 'console', 'x'.repeat(64)]) {
    expect(checkSessionId(id)).toBe(id);
  }
});

test('names that a system could misread are not', () => {
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
    expect(() => checkSessionId(id)).toThrow('is no session id');
  }
});

test('no id has a character beyond letters, digits, underscore and hyphen', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 80 }), (id) => {
      if (isSessionId(id)) expect(id).toMatch(/^[A-Za-z0-9_][A-Za-z0-9_-]*$/);
    }),
  );
});

test('twins are ids that fold to the same', () => {
  expect(foldSessionId('AbC-1')).toBe('abc-1');
  expect(() => refuseTwin('abc', ['x', 'ABC'])).toThrow('"ABC"');
  refuseTwin('abc', ['abc', 'abcd', 'x']);
});
