import { describe, expect, it } from 'vitest';
import {
  boolean,
  byKind,
  type Check,
  checked,
  either,
  integer,
  list,
  nullable,
  number,
  object,
  oneOf,
  optional,
  record,
  text,
} from '../../packages/core/src/framing/json-checks.ts';

const json = (source: string): unknown => JSON.parse(source);
const shape = byKind({
  circle: { radius: number(0, 10) },
  square: { side: integer(1, 5), name: optional(text(3)) },
});

describe('checks of JSON data', () => {
  const accepted: [string, Check<unknown>, unknown][] = [
    ['a number at the end of its range', number(0, 10), 10],
    ['the smallest integer', integer(-5, 5), -5],
    ['text of the maximum length', text(3), 'abc'],
    ['text that matches a pattern', text(9, /^\d+$/), '42'],
    ['one of several values', oneOf(0, 'a'), 'a'],
    ['either of two types', either(text(3), integer(0, 9)), 7],
    ['null where it is allowed', nullable(boolean), null],
    ['a list of the maximum length', list(integer(0, 1), 2), [0, 1]],
    ['a record with any keys', record(text(1)), json('{"__proto__": "a", "b": "c"}')],
    ['an object without an optional property', shape, { kind: 'square', side: 1 }],
    ['an object with an optional property', shape, { kind: 'square', side: 1, name: 'abc' }],
  ];
  it.each(accepted)('accept %s', (_, check, value) => {
    expect(check(value)).toBeUndefined();
  });

  const rejected: [string, Check<unknown>, unknown, string][] = [
    ['a number out of range', number(0, 10), 10.5, ''],
    ['a number that is text', number(0, 10), '1', ''],
    ['NaN', number(0, 10), Number.NaN, ''],
    ['a fraction instead of an integer', integer(0, 10), 1.5, ''],
    ['an integer that is not exact', integer(0), 2 ** 53, ''],
    ['text that is too long', text(3), 'abcd', ''],
    ['text that does not match a pattern', text(9, /^\d+$/), '4x', ''],
    ['another value', oneOf(0, 1, 2), '0', ''],
    ['neither of two types', either(text(3), integer(0, 9)), null, ''],
    ['a list that is too long', list(integer(0, 1), 2), [0, 1, 0], ''],
    ['a wrong element of a list', list(integer(0, 1), 9), [0, 2], '1'],
    ['an object instead of a list', list(text(), 2), { length: 0 }, ''],
    ['a list instead of an object', record(text()), [], ''],
    ['a wrong value of a record', record(text(1)), { a: 'long' }, 'a'],
    ['a missing property', object({ a: text() }), {}, 'a'],
    ['an inherited property', object({ toString: text() }), {}, 'toString'],
    ['an unknown property', object({ a: text() }), { a: '', b: 1 }, 'b'],
    [
      'an own property named __proto__',
      object({ a: text() }),
      json('{"a": "", "__proto__": {}}'),
      '__proto__',
    ],
    [
      'a wrong value deep inside',
      object({ a: list(object({ b: text(1) })) }),
      { a: [{ b: 'long' }] },
      'a.0.b',
    ],
    ['an unknown kind', shape, { kind: 'constructor' }, 'kind'],
    ['a property of another kind', shape, { kind: 'circle', radius: 1, side: 1 }, 'side'],
    ['null instead of an object', shape, null, 'kind'],
  ];
  it.each(rejected)('reject %s and name its place', (_, check, value, path) => {
    expect(check(value)).toBe(path);
  });

  it('return the value, or throw an error with the path of the invalid part', () => {
    const error = (path: string) => new Error(`invalid at ${path}`);
    const value = { a: 'x' };
    expect(checked(object({ a: text() }), value, error)).toBe(value);
    expect(() => checked(object({ a: text() }), { a: 1 }, error)).toThrow('invalid at a');
    expect(() => checked(text(), 1, error)).toThrow('invalid at the top level');
    expect(() => checked(record(text()), { ['k'.repeat(500)]: 1 }, error)).toThrow(
      new Error(`invalid at ${'k'.repeat(200)}`),
    );
  });
});
