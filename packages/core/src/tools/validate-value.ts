/**
 * Checks one value against a schema that `schema-validator.ts` has read. Steps and recursion are bounded for every schema and
 * value. The methods are generators that yield after a slice of steps, so that others can use the thread.
 */
import { formatItems } from '../quantities.ts';
import type { LinearPattern } from './linear-pattern.ts';

/** A JSON Schema: an object with keywords, or a boolean. */
export type JsonSchema = boolean | { readonly [keyword: string]: unknown };
export type SchemaObject = { readonly [keyword: string]: unknown };

const MAX_STEPS = 500_000;
/** Steps after which a check yields. */
const SLICE_STEPS = 5000;
/** Limit on the steps of a part that cannot yield: one pattern, or one value that is compared. */
const MAX_PART_STEPS = 50_000;
/** Characters that are counted, copied or compared in one step. */
const CHARACTERS_PER_STEP = 128;
/** Items, properties and entries of keywords that are visited in one step. */
const MEMBERS_PER_STEP = 8;
const MAX_RECURSION = 256;
export const MAX_PROBLEMS = 5;

/** The data could not be checked within the step limit. */
export class TooComplex extends Error {}

export const isObject = (value: unknown): value is SchemaObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
export const own = (object: SchemaObject, key: string): unknown =>
  Object.hasOwn(object, key) ? object[key] : undefined;

/** What is wrong with a value, when all slices of the check have run. */
type SlicedCheck = Generator<undefined, string[]>;

/** One check of one value, with its budget of steps. */
export class Validation {
  #steps = MAX_STEPS;
  #sliceSteps = 0;
  #depth = 0;
  constructor(
    readonly patterns: ReadonlyMap<string, LinearPattern>,
    readonly references: ReadonlyMap<string, JsonSchema>,
  ) {}

  readonly #take = (count: number): void => {
    this.#steps -= count;
    this.#sliceSteps += count;
    if (this.#steps < 0 || this.#sliceSteps > MAX_PART_STEPS) throw new TooComplex();
  };

  /** Ends the slice if it is long enough. */
  *#pause(): Generator<undefined, void> {
    if (this.#sliceSteps < SLICE_STEPS) return;
    yield;
    this.#sliceSteps = 0;
  }

  #takeCharacters(text: string): void {
    this.#take(Math.floor(text.length / CHARACTERS_PER_STEP));
  }

  #takeMembers(count: number): void {
    this.#take(Math.floor(count / MEMBERS_PER_STEP));
  }

  *check(schema: JsonSchema, value: unknown, path: string): SlicedCheck {
    this.#take(1);
    if (schema === true) return [];
    if (schema === false) return [`${at(path)}is not allowed`];
    if (++this.#depth > MAX_RECURSION) throw new TooComplex();
    if (this.#sliceSteps >= SLICE_STEPS) yield* this.#pause();
    // Most parts of schemas have few keywords, so that most generators are not needed.
    const problems = ANY_KEYWORDS.some((keyword) => keyword in schema)
      ? yield* this.#checkAny(schema, value, path)
      : this.#checkType(schema, value, path);
    if (typeof value === 'string') problems.push(...this.#checkText(schema, value, path));
    else if (typeof value === 'number') problems.push(...checkNumber(schema, value, path));
    else if (Array.isArray(value)) problems.push(...(yield* this.#checkArray(schema, value, path)));
    else if (isObject(value) && OBJECT_KEYWORDS.some((keyword) => keyword in schema))
      problems.push(...(yield* this.#checkObject(schema, value, path)));
    this.#depth--;
    return problems.slice(0, MAX_PROBLEMS);
  }

  *#matches(schema: JsonSchema, value: unknown): Generator<undefined, boolean> {
    return (yield* this.check(schema, value, '')).length === 0;
  }

  /** The number of schemas that match; stops at `max`. */
  *#countMatches(schemas: readonly JsonSchema[], value: unknown, max: number): Generator<undefined, number> {
    let count = 0;
    for (const schema of schemas) {
      if (count >= max) break;
      if (yield* this.#matches(schema, value)) count++;
    }
    return count;
  }

  *#checkAny(schema: SchemaObject, value: unknown, path: string): SlicedCheck {
    const reference = own(schema, '$ref') as string | undefined;
    if (reference !== undefined) {
      const problems = yield* this.check(this.references.get(reference)!, value, path);
      if (problems.length > 0) return problems;
    }
    const problems = this.#checkType(schema, value, path);
    if (problems.length > 0) return problems;
    const allowed = Object.hasOwn(schema, 'const') ? [schema['const']] : (own(schema, 'enum') as unknown[]);
    if (allowed !== undefined && !(yield* this.#isOneOf(value, allowed)))
      return [`${at(path)}expected ${shortList(allowed)}`];
    return yield* this.#checkCombinations(schema, value, path);
  }

  #checkType(schema: SchemaObject, value: unknown, path: string): string[] {
    const type = own(schema, 'type') as string | readonly string[] | undefined;
    if (type === undefined || (typeof type === 'string' && hasType(value, type))) return [];
    const types = typeof type === 'string' ? [type] : type;
    this.#takeMembers(types.length);
    if (types.some((name) => hasType(value, name))) return [];
    return [`${at(path)}expected ${types.join(' or ')}, got ${typeName(value)}`];
  }

  *#isOneOf(value: unknown, allowed: readonly unknown[]): Generator<undefined, boolean> {
    const text = this.#canonical(value);
    for (const other of allowed) {
      yield* this.#pause();
      if (this.#canonical(other) === text) return true;
    }
    return false;
  }

  *#areUnique(items: readonly unknown[]): Generator<undefined, boolean> {
    const seen = new Set<string>();
    for (const item of items) {
      if (this.#sliceSteps >= SLICE_STEPS) yield* this.#pause();
      const text = this.#canonical(item);
      if (seen.has(text)) return false;
      seen.add(text);
    }
    return true;
  }

  /** The same text for equal data, regardless of the order of properties. */
  #canonical(value: unknown): string {
    this.#take(1);
    const text = this.#canonicalText(value);
    // Every level copies the text of the levels below.
    this.#takeCharacters(text);
    return text;
  }

  #canonicalText(value: unknown): string {
    if (Array.isArray(value)) return `[${value.map((item) => this.#canonical(item)).join()}]`;
    if (!isObject(value)) return JSON.stringify(value) ?? 'undefined';
    const names = Object.keys(value).sort();
    return `{${names.map((name) => `${JSON.stringify(name)}:${this.#canonical(value[name])}`).join()}}`;
  }

  *#checkCombinations(schema: SchemaObject, value: unknown, path: string): SlicedCheck {
    const list = (keyword: string) => own(schema, keyword) as readonly JsonSchema[] | undefined;
    const single = (keyword: string) => own(schema, keyword) as JsonSchema | undefined;
    for (const part of list('allOf') ?? []) {
      const problems = yield* this.check(part, value, path);
      if (problems.length > 0) return problems;
    }
    const anyOf = list('anyOf');
    if (anyOf !== undefined && (yield* this.#countMatches(anyOf, value, 1)) === 0)
      return yield* this.#noneMatches(anyOf, value, path);
    const oneOf = list('oneOf');
    if (oneOf !== undefined) {
      const count = yield* this.#countMatches(oneOf, value, 2);
      if (count === 0) return yield* this.#noneMatches(oneOf, value, path);
      if (count > 1) return [`${at(path)}matches more than one alternative`];
    }
    const not = single('not');
    if (not !== undefined && (yield* this.#matches(not, value))) return [`${at(path)}has an excluded value`];
    const condition = single('if');
    if (condition === undefined) return [];
    const branch = single((yield* this.#matches(condition, value)) ? 'then' : 'else');
    return branch === undefined ? [] : yield* this.check(branch, value, path);
  }

  /** The problems of the alternative that fits best. */
  *#noneMatches(alternatives: readonly JsonSchema[], value: unknown, path: string): SlicedCheck {
    let best: readonly string[] | undefined;
    for (const part of alternatives) {
      const problems = yield* this.check(part, value, path);
      if (problems.length < (best?.length ?? Number.POSITIVE_INFINITY)) best = problems;
    }
    return [`${at(path)}does not match any alternative`, ...(best ?? [])];
  }

  #checkText(schema: SchemaObject, text: string, path: string): string[] {
    const [min, max] = [own(schema, 'minLength'), own(schema, 'maxLength')] as (number | undefined)[];
    if (min !== undefined || max !== undefined) {
      this.#takeCharacters(text);
      const length = characterCount(text);
      if (length < (min ?? 0))
        return [`${at(path)}expected at least ${formatItems(min!, 'character')}, got ${length}`];
      if (length > (max ?? length))
        return [`${at(path)}expected at most ${formatItems(max!, 'character')}, got ${length}`];
    }
    const pattern = own(schema, 'pattern') as string | undefined;
    if (pattern === undefined || this.patterns.get(pattern)!.test(text, this.#take)) return [];
    return [`${at(path)}does not match the pattern ${pattern.slice(0, 200)}`];
  }

  *#checkArray(schema: SchemaObject, items: readonly unknown[], path: string): SlicedCheck {
    const count = (keyword: string) => own(schema, keyword) as number | undefined;
    const { length } = items;
    this.#takeMembers(length);
    const [min, max] = [count('minItems'), count('maxItems')];
    if (min !== undefined && length < min)
      return [`${at(path)}expected at least ${formatItems(min, 'item')}, got ${length}`];
    if (max !== undefined && length > max)
      return [`${at(path)}expected at most ${formatItems(max, 'item')}, got ${length}`];
    if (own(schema, 'uniqueItems') === true && !(yield* this.#areUnique(items)))
      return [`${at(path)}items must be unique`];
    const rest = own(schema, 'items');
    const isOldForm = Array.isArray(rest);
    const first = (isOldForm ? rest : own(schema, 'prefixItems')) as readonly JsonSchema[] | undefined;
    const others = (isOldForm ? own(schema, 'additionalItems') : rest) as JsonSchema | undefined;
    const problems: string[] = [];
    for (const [i, item] of items.entries()) {
      const itemSchema = first?.[i] ?? (i < (first?.length ?? 0) ? true : others);
      if (itemSchema !== undefined) problems.push(...(yield* this.check(itemSchema, item, `${path}[${i}]`)));
      if (problems.length >= MAX_PROBLEMS) return problems;
    }
    const contains = own(schema, 'contains') as JsonSchema | undefined;
    if (contains === undefined) return problems;
    let found = 0;
    for (const item of items) if (yield* this.#matches(contains, item)) found++;
    const isEnough = found >= (count('minContains') ?? 1) && found <= (count('maxContains') ?? found);
    return isEnough ? problems : [...problems, `${at(path)}has the wrong number of matching items`];
  }

  *#checkObject(schema: SchemaObject, value: SchemaObject, path: string): SlicedCheck {
    const map = (keyword: string) => (own(schema, keyword) ?? {}) as Readonly<Record<string, JsonSchema>>;
    const names = Object.keys(value);
    this.#takeMembers(names.length + namesToCheck(schema));
    // A name can be as long as the data; only its beginning is copied.
    const inner = (name: string) => (path === '' ? name : `${path}.${name.slice(0, 200)}`).slice(0, 200);
    const problems = missingNames(schema, value).map((name) => `${inner(name)}: is required`);
    const [min, max] = [own(schema, 'minProperties'), own(schema, 'maxProperties')] as (number | undefined)[];
    if (names.length < (min ?? 0) || names.length > (max ?? names.length))
      problems.push(`${at(path)}has the wrong number of properties`);
    const properties = map('properties');
    const patterns = Object.entries(map('patternProperties'));
    const dependent = Object.entries(map('dependentSchemas'));
    this.#takeMembers(patterns.length + dependent.length);
    const additional = own(schema, 'additionalProperties') as JsonSchema | undefined;
    const nameSchema = own(schema, 'propertyNames') as JsonSchema | undefined;
    const checksAll = patterns.length > 0 || additional !== undefined || nameSchema !== undefined;
    for (const name of names) {
      if (problems.length >= MAX_PROBLEMS) return problems;
      if (!checksAll && !Object.hasOwn(properties, name)) continue;
      const checks = patterns.filter(([source]) => this.patterns.get(source)!.test(name, this.#take));
      const schemas = checks.map(([, part]) => part);
      if (Object.hasOwn(properties, name)) schemas.push(properties[name]!);
      if (schemas.length === 0 && additional === false) {
        const expected = Object.keys(properties);
        this.#takeMembers(expected.length);
        problems.push(`${inner(name)}: is not an argument; expected ${shortList(expected)}`);
      } else if (schemas.length === 0 && additional !== undefined) schemas.push(additional);
      for (const part of schemas) problems.push(...(yield* this.check(part, value[name], inner(name))));
      if (nameSchema !== undefined && !(yield* this.#matches(nameSchema, name)))
        problems.push(`${inner(name)}: the name is not allowed`);
    }
    for (const [name, part] of dependent)
      if (Object.hasOwn(value, name)) problems.push(...(yield* this.check(part, value, path)));
    return problems;
  }
}

/** Keywords that constrain values of any type, except `type`. */
const ANY_KEYWORDS = ['$ref', 'enum', 'const', 'allOf', 'anyOf', 'oneOf', 'not', 'if'];
const OBJECT_KEYWORDS = [
  'properties',
  'required',
  'additionalProperties',
  'patternProperties',
  'propertyNames',
  'minProperties',
  'maxProperties',
  'dependentRequired',
  'dependentSchemas',
];

/** The number of names in `required` and `dependentRequired`. */
function namesToCheck(schema: SchemaObject): number {
  const required = (own(schema, 'required') ?? []) as readonly string[];
  const dependent = Object.values((own(schema, 'dependentRequired') ?? {}) as Record<string, string[]>);
  return dependent.reduce((count, names) => count + names.length + 1, required.length);
}

/** The number of code points, which are the characters of JSON Schema. */
function characterCount(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at++) {
    if (text.codePointAt(at)! > 0xffff) at++;
    count++;
  }
  return count;
}

function missingNames(schema: SchemaObject, value: SchemaObject): string[] {
  const required = (own(schema, 'required') ?? []) as readonly string[];
  const dependent = Object.entries((own(schema, 'dependentRequired') ?? {}) as Record<string, string[]>)
    .filter(([name]) => Object.hasOwn(value, name))
    .flatMap(([, names]) => names);
  return [...new Set([...required, ...dependent])].filter((name) => !Object.hasOwn(value, name));
}

function checkNumber(schema: SchemaObject, value: number, path: string): string[] {
  const bound = (keyword: string) => own(schema, keyword) as number | undefined;
  const problem = (text: string) => [`${at(path)}${text}, got ${value}`];
  const [min, max] = [bound('minimum'), bound('maximum')];
  if (min !== undefined && value < min) return problem(`expected at least ${min}`);
  if (max !== undefined && value > max) return problem(`expected at most ${max}`);
  const [above, below] = [bound('exclusiveMinimum'), bound('exclusiveMaximum')];
  if (above !== undefined && value <= above) return problem(`expected more than ${above}`);
  if (below !== undefined && value >= below) return problem(`expected less than ${below}`);
  const factor = bound('multipleOf');
  if (factor === undefined || isMultiple(value, factor)) return [];
  return problem(`expected a multiple of ${factor}`);
}

/** Decimal fractions such as 0.3 and 0.1 have no exact quotient, so a rounding error is accepted. */
function isMultiple(value: number, factor: number): boolean {
  const quotient = value / factor;
  return Math.abs(quotient - Math.round(quotient)) <= 1e-9 * Math.max(1, Math.abs(quotient));
}

function typeName(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value;
}

function hasType(value: unknown, name: string): boolean {
  if (name === 'integer') return Number.isInteger(value);
  return typeName(value) === name;
}

const at = (path: string) => (path === '' ? '' : `${path}: `);

function shortList(values: readonly unknown[]): string {
  const texts = values.slice(0, 10).map((value) => (JSON.stringify(value) ?? 'undefined').slice(0, 60));
  return `${texts.join(', ') || 'none'}${values.length > 10 ? ', …' : ''}`;
}
