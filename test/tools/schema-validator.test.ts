import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { SchemaError, SchemaValidator } from '../../packages/core/src/tools/schema-validator.ts';

const VALUES: readonly unknown[] = [
  null,
  true,
  0,
  1,
  -3,
  2.5,
  10,
  '',
  'a',
  'abc',
  'ABC-12',
  [],
  [1],
  [1, 1],
  ['a', 2, null],
  [{ a: 1 }, { a: 1 }],
  {},
  { a: 1 },
  { a: 'x', b: 2 },
  { name: 'Ada', age: 36 },
  { x_1: 5, other: true },
  { next: { next: { next: {} } } },
  { next: { next: 5 } },
];

const SCHEMAS: readonly Record<string, unknown>[] = [
  {},
  { type: 'integer' },
  { type: ['string', 'null'] },
  { enum: [1, 'a', { a: 1 }, [1]] },
  { const: { a: 1 } },
  { minimum: 1, exclusiveMaximum: 10 },
  { multipleOf: 0.5 },
  { type: 'string', minLength: 1, maxLength: 3 },
  { pattern: '^[A-Z]{2,4}-\\d+$' },
  { pattern: 'b|^$' },
  { items: { type: 'integer' }, minItems: 1, maxItems: 2, uniqueItems: true },
  { prefixItems: [{ type: 'string' }, { type: 'number' }], items: false },
  { contains: { type: 'integer' }, minContains: 2 },
  { properties: { a: { type: 'integer' } }, required: ['a'], additionalProperties: false },
  { patternProperties: { '^x_': { type: 'integer' } }, additionalProperties: { type: 'boolean' } },
  { propertyNames: { maxLength: 4 }, minProperties: 1, maxProperties: 2 },
  { dependentRequired: { a: ['b'] }, dependentSchemas: { name: { required: ['age'] } } },
  { allOf: [{ type: 'object' }, { required: ['a'] }] },
  { anyOf: [{ type: 'string' }, { type: 'integer' }] },
  { oneOf: [{ minimum: 1 }, { maximum: 5 }] },
  { not: { type: 'object' } },
  // biome-ignore lint/suspicious/noThenProperty: the keyword of JSON Schema
  { if: { type: 'string' }, then: { minLength: 2 }, else: { type: 'array' } },
  {
    $defs: { node: { type: 'object', properties: { next: { $ref: '#/$defs/node' } } } },
    $ref: '#/$defs/node',
  },
  { type: 'object', properties: { next: { $ref: '#' } } },
];

describe('JSON Schema validation', () => {
  const ajv = new Ajv2020({ strict: false });
  it.each(SCHEMAS.map((schema) => [JSON.stringify(schema), schema]))(
    'agrees with Ajv about %s',
    async (_, schema) => {
      const reference = ajv.compile(schema as Record<string, unknown>);
      const validator = new SchemaValidator(schema as Record<string, unknown>);
      for (const value of VALUES)
        expect([value, (await validator.problemOf(value)) === undefined]).toEqual([value, reference(value)]);
    },
  );

  it('names the path, the expectation and every missing argument', async () => {
    const schema = {
      type: 'object',
      properties: { city: { type: 'string' }, days: { items: { type: 'integer' } } },
      required: ['city', 'unit'],
      additionalProperties: false,
    };
    const problem = await new SchemaValidator(schema).problemOf({ days: [1, 'x'], town: 1 });
    expect(problem).toBe(
      'city: is required; unit: is required; days[1]: expected integer, got string; town: is not an argument; expected "city", "days"',
    );
  });

  it.each([
    [{ unevaluatedProperties: false }, 'unevaluatedProperties is not supported'],
    [{ $ref: 'https://example.com/schema' }, 'points outside the schema'],
    [{ $ref: '#/missing' }, 'does not exist'],
    [{ properties: { a: { pattern: '(?=a)' } } }, 'the pattern "(?=a)"'],
    [{ pattern: '(a)\\1' }, '"\\1" is not supported'],
    [{ type: 'date' }, 'the value of type is invalid'],
    [{ required: 'a' }, 'the value of required is invalid'],
    [{ properties: 5 }, 'the value of properties is invalid'],
    [{ multipleOf: 0 }, 'the value of multipleOf is invalid'],
    [{ allOf: [7] }, 'must be an object or a boolean'],
  ])('refuses %j', (schema, message) => {
    expect(() => new SchemaValidator(schema)).toThrow(SchemaError);
    expect(() => new SchemaValidator(schema)).toThrow(message);
  });

  // guarantee: untrusted-tool-servers
  it('refuses schemas that are too deep or too large', async () => {
    let deep: Record<string, unknown> = {};
    for (let i = 0; i < 100; i++) deep = { not: deep };
    expect(() => new SchemaValidator(deep)).toThrow('nested more than');
    const many = Object.fromEntries(Array.from({ length: 6000 }, (_, i) => [`p${i}`, {}]));
    expect(() => new SchemaValidator({ properties: many })).toThrow('more than 5000 parts');
  });

  // guarantee: untrusted-tool-servers
  it('terminates for cyclic references and long chains of references', async () => {
    const loop = { $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } }, $ref: '#/$defs/a' };
    expect(await new SchemaValidator(loop).problemOf(1)).toContain('too complex');
    const chain = Object.fromEntries(
      Array.from({ length: 4000 }, (_, i) => [`d${i}`, { $ref: `#/$defs/d${i + 1}` }]),
    );
    const long = { $defs: { ...chain, d4000: {} }, $ref: '#/$defs/d0' };
    expect(await new SchemaValidator(long).problemOf(1)).toContain('too complex');
  });

  // guarantee: untrusted-tool-servers
  it('terminates for schemas with exponentially many combinations of alternatives', async () => {
    const $defs = Object.fromEntries(
      Array.from({ length: 60 }, (_, i) => {
        const next = { $ref: `#/$defs/d${i + 1}` };
        return [`d${i}`, { anyOf: [next, next] }];
      }),
    );
    const schema = { $defs: { ...$defs, d60: false }, $ref: '#/$defs/d0' };
    expect(await new SchemaValidator(schema).problemOf(1)).toContain('too complex');
  });

  // guarantee: untrusted-tool-servers
  it('matches patterns in a bounded number of steps', async () => {
    const evil = new SchemaValidator({ pattern: '^(a+)+$' });
    expect(await evil.problemOf(`${'a'.repeat(5000)}b`)).toContain('does not match');
    expect(await evil.problemOf('a'.repeat(5000))).toBeUndefined();
    expect(await evil.problemOf(`${'a'.repeat(500_000)}b`)).toContain('too complex');
    expect(() => new SchemaValidator({ pattern: '((a{99}){99}){99}' })).toThrow('too many states');
  });

  // guarantee: untrusted-tool-servers
  it('builds all patterns of a schema in a bounded number of steps', async () => {
    const patterns = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`p${i}(){4000}`, true]));
    expect(
      await new SchemaValidator({ patternProperties: patterns(8) }).problemOf({ p1: 1 }),
    ).toBeUndefined();
    expect(() => new SchemaValidator({ patternProperties: patterns(50) })).toThrow('too large in total');
    expect(() => new SchemaValidator({ pattern: '(((){5000}){5000}){5000}' })).toThrow(
      'too many repetitions',
    );
  });

  const large = 'x'.repeat(1024 * 1024);
  const members = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`k${i}`, 0]));
  const repeat = (schema: object, count = 200) => ({ allOf: Array(count).fill(schema) });
  const nested = { a: { a: { a: { a: [large] } } } };
  // guarantee: untrusted-tool-servers
  // proves: JSON Schema validation counts steps in proportion to the size of the data.
  it.each<[string, object, unknown]>([
    ['minLength', repeat({ minLength: 1 }), large],
    ['a pattern', repeat({ pattern: 'y' }), large],
    ['const', repeat({ not: { const: 'y' } }), large],
    ['enum with nested data', repeat({ not: { enum: ['y'] } }), nested],
    ['uniqueItems', repeat({ uniqueItems: true }), [large]],
    ['the length of names', repeat({ propertyNames: { minLength: 1 } }), { [large]: 1 }],
    ['properties', repeat({ properties: {} }, 1000), members],
    ['items', repeat({ minItems: 1 }), Array(100_000).fill(0)],
    [
      'long lists of names',
      { items: { dependentRequired: { a: Object.keys(members) } } },
      Array(1000).fill({}),
    ],
    ['long lists of types', { items: { type: Array(100_000).fill('object') } }, Array(200).fill({})],
  ])('counts steps in proportion to the data for %s', async (_, schema, value) => {
    expect(await new SchemaValidator(schema as Record<string, unknown>).problemOf(value)).toContain(
      'too complex',
    );
  });

  it('accepts large data with few constraints', { tags: 'full' }, async () => {
    const text = { type: 'string', minLength: 1, maxLength: 5_000_000, pattern: '^x' };
    expect(await new SchemaValidator(text).problemOf('x'.repeat(4 * 1024 * 1024))).toBeUndefined();
    const list = {
      type: 'array',
      items: { type: 'object', required: ['id'], properties: { id: { type: 'integer' } } },
    };
    expect(await new SchemaValidator(list).problemOf(Array(50_000).fill({ id: 1 }))).toBeUndefined();
    const record = { type: 'object', additionalProperties: { type: 'integer' } };
    expect(await new SchemaValidator(record).problemOf(members)).toBeUndefined();
    const unique = { type: 'array', uniqueItems: true, items: { type: 'integer' } };
    expect(
      await new SchemaValidator(unique).problemOf(Array.from({ length: 200_000 }, (_, i) => i)),
    ).toBeUndefined();
    expect(await new SchemaValidator({ maxLength: 3 }).problemOf('😀😀😀')).toBeUndefined();
    expect(await new SchemaValidator({ maxLength: 2 }).problemOf('😀😀😀')).toContain('got 3');
  });

  it('says how much is missing', async () => {
    const problem = (schema: object, value: unknown) => new SchemaValidator({ ...schema }).problemOf(value);
    expect(await problem({ minLength: 1 }, '')).toContain('expected at least 1 character, got 0');
    expect(await problem({ minItems: 2 }, [])).toContain('expected at least 2 items, got 0');
  });

  it('treats names of prototype properties as data', async () => {
    const schema = JSON.parse('{"properties":{"__proto__":{"type":"string"}},"required":["constructor"]}');
    const validator = new SchemaValidator(schema);
    expect(await validator.problemOf(JSON.parse('{"__proto__":1}'))).toBe(
      'constructor: is required; __proto__: expected string, got number',
    );
    expect(await validator.problemOf({})).toBe('constructor: is required');
  });
});

/** Counts the turns of the event loop that pass while something is awaited. */
async function turnsDuring(work: Promise<unknown>): Promise<number> {
  let turns = 0;
  let isDone = false;
  const done = work.then(() => {
    isDone = true;
  });
  while (!isDone) {
    await new Promise((resolve) => setImmediate(resolve));
    turns++;
  }
  await done;
  return turns;
}

const laughs = {
  $defs: Object.fromEntries(
    Array.from({ length: 60 }, (_, i) => [`d${i}`, { anyOf: Array(2).fill({ $ref: `#/$defs/d${i + 1}` }) }]),
  ),
};
// guarantee: untrusted-tool-servers
// proves: A check against a schema that takes long lets other work run in between.
it.each<[string, object, unknown]>([
  ['anyOf', { $defs: { ...laughs.$defs, d60: false }, $ref: '#/$defs/d0' }, 1],
  ['uniqueItems', { uniqueItems: true }, Array.from({ length: 50_000 }, (_, i) => ({ i }))],
  ['enum', { items: { enum: Array.from({ length: 1000 }, (_, i) => `v${i}`) } }, Array(400).fill('v999')],
  ['patterns', { items: { pattern: '^(a+)+$' } }, Array(400).fill('a'.repeat(300))],
  ['recursion', { items: { $ref: '#' } }, Array(50_000).fill([])],
])('a long check of %s is divided into slices', async (_, schema, value) => {
  expect(await turnsDuring(new SchemaValidator({ ...schema }).problemOf(value))).toBeGreaterThan(5);
});

it('refuses one pattern or comparison that would take too long at a time', async () => {
  const text = 'a'.repeat(1_000_000);
  expect(await new SchemaValidator({ pattern: '^(a+)+$' }).problemOf(text)).toContain('too complex');
  const many = Array.from({ length: 60_000 }, (_, i) => i);
  expect(await new SchemaValidator({ items: { const: many } }).problemOf([many])).toContain('too complex');
});
