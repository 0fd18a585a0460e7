/**
 * Checks of untrusted JSON data, for the formats that worker threads read. Threads do not load Zod, because that takes longer
 * than starting a guest. Objects must have exactly the properties that are described. A check takes time linear in the data.
 */

/** Returns the path of the first value that does not match, '' for the value itself, or undefined if all of it matches. */
export interface Check<T> {
  (value: unknown): string | undefined;
  /** Never set; carries the type of a value that matches. */
  readonly matched?: T;
}
export type Matched<C> = C extends Check<infer T> ? T : never;

const check =
  <T>(matches: (value: unknown) => boolean): Check<T> =>
  (value) =>
    matches(value) ? undefined : '';

const at = (key: string | number, path: string | undefined) =>
  path === undefined ? undefined : path === '' ? `${key}` : `${key}.${path}`;

export const number = (min: number, max: number) =>
  check<number>((value) => typeof value === 'number' && value >= min && value <= max);

export const integer = (min: number, max = Number.MAX_SAFE_INTEGER) =>
  check<number>(
    (value) => Number.isSafeInteger(value) && min <= (value as number) && (value as number) <= max,
  );

/** Text of at most `max` code units. */
export const text = (max = Number.POSITIVE_INFINITY, pattern?: RegExp) =>
  check<string>(
    (value) =>
      typeof value === 'string' && value.length <= max && (pattern === undefined || pattern.test(value)),
  );

export const boolean = check<boolean>((value) => typeof value === 'boolean');

export const oneOf = <const T extends readonly unknown[]>(...values: T) =>
  check<T[number]>((value) => values.includes(value));

export const either = <A, B>(one: Check<A>, other: Check<B>): Check<A | B> =>
  check((value) => one(value) === undefined || other(value) === undefined);

export const nullable =
  <T>(inner: Check<T>): Check<T | null> =>
  (value) =>
    value === null ? undefined : inner(value);

/** A property that may be missing. */
export const optional =
  <T>(inner: Check<T>): Check<T | undefined> =>
  (value) =>
    value === undefined ? undefined : inner(value);

export const list =
  <T>(item: Check<T>, max = Number.POSITIVE_INFINITY, min = 0): Check<T[]> =>
  (value) => {
    if (!Array.isArray(value) || value.length > max || value.length < min) return '';
    for (const [i, element] of value.entries()) {
      const found = at(i, item(element));
      if (found !== undefined) return found;
    }
    return undefined;
  };

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** An object with any keys. */
export const record =
  <T>(item: Check<T>): Check<Record<string, T>> =>
  (value) => {
    if (!isObject(value)) return '';
    for (const key of Object.keys(value)) {
      const found = at(key, item(value[key]));
      if (found !== undefined) return found;
    }
    return undefined;
  };

type Fields = Readonly<Record<string, Check<unknown>>>;
type ObjectOf<F extends Fields> = {
  [K in keyof F as undefined extends Matched<F[K]> ? never : K]: Matched<F[K]>;
} & { [K in keyof F as undefined extends Matched<F[K]> ? K : never]?: Matched<F[K]> };

/** An object with these properties and no others. */
export const object =
  <F extends Fields>(fields: F): Check<ObjectOf<F>> =>
  (value) => {
    if (!isObject(value)) return '';
    for (const key of Object.keys(value)) if (!Object.hasOwn(fields, key)) return key;
    for (const [key, field] of Object.entries(fields)) {
      const found = at(key, field(Object.hasOwn(value, key) ? value[key] : undefined));
      if (found !== undefined) return found;
    }
    return undefined;
  };

/** An object whose property `kind` selects the other properties. */
export const byKind =
  <V extends Readonly<Record<string, Fields>>>(
    variants: V,
  ): Check<{ [K in keyof V & string]: { kind: K } & ObjectOf<V[K]> }[keyof V & string]> =>
  (value) => {
    const kind = isObject(value) ? value['kind'] : undefined;
    if (typeof kind !== 'string' || !Object.hasOwn(variants, kind)) return 'kind';
    return object({ kind: text(), ...variants[kind] })(value);
  };

/** The value, if it matches. Otherwise throws the error for the path of the first value that does not. */
export function checked<T>(schema: Check<T>, value: unknown, error: (path: string) => Error): T {
  const path = schema(value);
  if (path === undefined) return value as T;
  throw error(path === '' ? 'the top level' : path.slice(0, 200));
}
