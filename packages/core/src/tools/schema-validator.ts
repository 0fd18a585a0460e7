/**
 * Validates data against JSON Schemas, which may come from an untrusted server. Schemas are interpreted, never compiled to
 * code. A keyword that constrains data but is not implemented is rejected when the schema is read. The number of steps is
 * limited, so that references, combinations and patterns of a schema cannot stall the host.
 */
import { nextTurn } from '../concurrency/slices.ts';
import { LinearPattern, UnsupportedPattern } from './linear-pattern.ts';
import {
  isObject,
  type JsonSchema,
  MAX_PROBLEMS,
  own,
  type SchemaObject,
  TooComplex,
  Validation,
} from './validate-value.ts';

export type { JsonSchema };

const MAX_SCHEMA_PARTS = 5000;
const MAX_SCHEMA_DEPTH = 48;
/** Limit on the steps that build the patterns of one schema. */
const MAX_PATTERN_STEPS = 100_000;

/** A schema that cannot be used. */
export class SchemaError extends Error {}

type Keyword =
  | 'schema'
  | 'schemas'
  | 'schemaMap'
  | 'items'
  | 'type'
  | 'count'
  | 'number'
  | 'boolean'
  | 'text'
  | 'names'
  | 'namesMap'
  | 'any';

/** The keywords that constrain data, with the type of their values. Other keywords are annotations and have no effect. */
const KEYWORDS: Readonly<Record<string, Keyword>> = {
  $ref: 'text',
  type: 'type',
  enum: 'any',
  const: 'any',
  not: 'schema',
  if: 'schema',
  // biome-ignore lint/suspicious/noThenProperty: the keyword of JSON Schema
  then: 'schema',
  else: 'schema',
  allOf: 'schemas',
  anyOf: 'schemas',
  oneOf: 'schemas',
  properties: 'schemaMap',
  patternProperties: 'schemaMap',
  additionalProperties: 'schema',
  propertyNames: 'schema',
  dependentSchemas: 'schemaMap',
  dependentRequired: 'namesMap',
  required: 'names',
  minProperties: 'count',
  maxProperties: 'count',
  items: 'items',
  prefixItems: 'schemas',
  additionalItems: 'schema',
  contains: 'schema',
  minContains: 'count',
  maxContains: 'count',
  minItems: 'count',
  maxItems: 'count',
  uniqueItems: 'boolean',
  minLength: 'count',
  maxLength: 'count',
  pattern: 'text',
  minimum: 'number',
  maximum: 'number',
  exclusiveMinimum: 'number',
  exclusiveMaximum: 'number',
  multipleOf: 'number',
  $defs: 'schemaMap',
  definitions: 'schemaMap',
};
const REFUSED = ['unevaluatedProperties', 'unevaluatedItems', '$dynamicRef', '$recursiveRef', 'dependencies'];
const TYPES = ['null', 'boolean', 'object', 'array', 'number', 'string', 'integer'];

const isSchema = (value: unknown): value is JsonSchema => typeof value === 'boolean' || isObject(value);

/** A JSON Schema that has been read and can validate data. */
export class SchemaValidator {
  readonly #patterns = new Map<string, LinearPattern>();
  readonly #references = new Map<string, JsonSchema>();
  readonly #read = new Set<object>();
  #parts = 0;
  #patternSteps = 0;

  /** Throws `SchemaError`. The schema must not change afterwards. */
  constructor(readonly schema: JsonSchema) {
    this.#readSchema(schema, 0);
    // A reference can point to a part that is not under a known keyword. Reading the target can add references.
    for (const target of this.#references.values()) this.#readSchema(target, 1);
  }

  /** Describes what is wrong with a value, or returns undefined. Long checks take several turns of the event loop. */
  async problemOf(value: unknown): Promise<string | undefined> {
    try {
      const check = new Validation(this.#patterns, this.#references).check(this.schema, value, '');
      let slice = check.next();
      while (slice.done !== true) {
        await nextTurn();
        slice = check.next();
      }
      const problems = slice.value;
      return problems.length === 0 ? undefined : problems.slice(0, MAX_PROBLEMS).join('; ');
    } catch (cause) {
      if (cause instanceof TooComplex) return 'the data is too complex to check against the schema';
      throw cause;
    }
  }

  #readSchema(schema: unknown, depth: number): void {
    if (!isSchema(schema)) throw new SchemaError('a schema must be an object or a boolean');
    if (depth > MAX_SCHEMA_DEPTH) throw new SchemaError(`nested more than ${MAX_SCHEMA_DEPTH} levels deep`);
    if (typeof schema === 'boolean' || this.#read.has(schema)) return;
    this.#read.add(schema);
    if (++this.#parts > MAX_SCHEMA_PARTS) throw new SchemaError(`more than ${MAX_SCHEMA_PARTS} parts`);
    for (const keyword of Object.keys(schema)) {
      if (REFUSED.includes(keyword)) throw new SchemaError(`the keyword ${keyword} is not supported`);
      const kind = Object.hasOwn(KEYWORDS, keyword) ? KEYWORDS[keyword] : undefined;
      if (kind !== undefined) this.#readKeyword(keyword, kind, schema[keyword], depth);
    }
  }

  #readKeyword(keyword: string, kind: Keyword, value: unknown, depth: number): void {
    if (!isKeywordValue(keyword, kind, value)) throw new SchemaError(`the value of ${keyword} is invalid`);
    if (kind === 'schema') this.#readSchema(value, depth + 1);
    // Before 2020-12, `items` could be a list.
    if (kind === 'schemas' || kind === 'items')
      for (const member of [value].flat()) this.#readSchema(member, depth + 1);
    if (kind === 'schemaMap')
      for (const [name, member] of Object.entries(value as SchemaObject)) {
        if (keyword === 'patternProperties') this.#addPattern(name);
        this.#readSchema(member, depth + 1);
      }
    if (keyword === 'pattern') this.#addPattern(value as string);
    if (keyword === '$ref') this.#addReference(value as string);
  }

  #addPattern(source: string): void {
    if (this.#patterns.has(source)) return;
    try {
      const pattern = new LinearPattern(source);
      this.#patterns.set(source, pattern);
      this.#patternSteps += pattern.buildSteps;
    } catch (cause) {
      if (!(cause instanceof UnsupportedPattern)) throw cause;
      throw new SchemaError(`the pattern ${JSON.stringify(source.slice(0, 100))}: ${cause.message}`);
    }
    if (this.#patternSteps > MAX_PATTERN_STEPS) throw new SchemaError('the patterns are too large in total');
  }

  /** Only references into the same schema are followed. */
  #addReference(reference: string): void {
    if (this.#references.has(reference)) return;
    if (reference !== '#' && !reference.startsWith('#/'))
      throw new SchemaError(`the reference ${reference.slice(0, 100)} points outside the schema`);
    const target = localTarget(this.schema, reference);
    if (!isSchema(target)) throw new SchemaError(`the reference ${reference.slice(0, 100)} does not exist`);
    this.#references.set(reference, target);
  }
}

/** What a reference into the schema itself points to; undefined if it does not exist. */
export function localTarget(schema: JsonSchema, reference: string): unknown {
  let target: unknown = schema;
  for (const part of reference.split('/').slice(1))
    target =
      typeof target === 'object' && target !== null
        ? own(target as SchemaObject, decodePointer(part))
        : undefined;
  return target;
}

const areNames = (value: unknown) => Array.isArray(value) && value.every((name) => typeof name === 'string');

function isKeywordValue(keyword: string, kind: Keyword, value: unknown): boolean {
  switch (kind) {
    case 'schemas':
      return Array.isArray(value);
    case 'schemaMap':
      return isObject(value);
    case 'count':
      return Number.isSafeInteger(value) && (value as number) >= 0;
    case 'number':
      return Number.isFinite(value) && (keyword !== 'multipleOf' || (value as number) > 0);
    case 'boolean':
      return typeof value === 'boolean';
    case 'text':
      return typeof value === 'string';
    case 'type':
      return [value].flat().every((name) => TYPES.includes(name as string));
    case 'names':
      return areNames(value);
    case 'namesMap':
      return isObject(value) && Object.values(value).every(areNames);
    case 'any':
      return keyword !== 'enum' || Array.isArray(value);
    default:
      return true;
  }
}

function decodePointer(part: string): string {
  try {
    return decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
  } catch {
    return part;
  }
}
