/** The messages for input that does not match a schema. Messages that a schema defines itself take precedence. */

import type { z } from 'zod';
import { nounFor } from '../quantities.ts';
import { similarNames } from './similar-names.ts';

type Issue = z.core.$ZodIssue;
type RawIssue = z.core.$ZodRawIssue;

const KEYS_MAX = 5;
const KEY_CHARS_MAX = 80;
/** Characters of a name in the path of a field: keys of a record can be of any length. */
const PART_CHARS_MAX = 256;
const NO_MESSAGE = 'is not valid';

const TYPES: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'an integer',
  boolean: 'a boolean',
  array: 'an array',
  object: 'an object',
  record: 'an object',
  function: 'a function',
};
const UNITS: Readonly<Record<string, string>> = { string: 'character', array: 'item', number: '', int: '' };

const oneOf = (choices: readonly string[]) =>
  choices.length < 2 ? choices.join() : `${choices.slice(0, -1).join(', ')} or ${choices.at(-1)}`;

/** The message for an issue; undefined keeps Zod's message. */
export function describeIssue(issue: RawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return describeType(String(issue.expected), issue.input);
    case 'invalid_value':
      return describeChoice(issue.values as unknown[]);
    case 'too_small':
      return describeBound(issue.origin, issue.minimum, issue.inclusive === false ? 'more than' : 'at least');
    case 'too_big':
      return describeBound(issue.origin, issue.maximum, issue.inclusive === false ? 'less than' : 'at most');
    case 'unrecognized_keys':
      return describeKeys(issue.keys as string[], issue.inst);
    case 'invalid_key':
      return (issue.issues as readonly Issue[])[0]?.message;
    case 'invalid_union':
      return issue.options === undefined ? NO_MESSAGE : describeChoice(issue.options as unknown[]);
    default:
      return undefined;
  }
}

const describeChoice = (values: readonly unknown[]) =>
  `must be ${oneOf(values.map((value) => JSON.stringify(value)))}`;

function describeType(expected: string, input: unknown): string {
  const type = Object.hasOwn(TYPES, expected) ? TYPES[expected]! : `an instance of ${expected}`;
  if (input === undefined) return `must be ${type}, but is missing`;
  return typeof input === 'number' && expected === 'number' ? 'must be a finite number' : `must be ${type}`;
}

function describeBound(origin: unknown, bound: unknown, comparison: string): string | undefined {
  const unit = UNITS[String(origin)];
  if (unit === undefined) return undefined;
  if (unit === '') return `must be ${comparison} ${bound}`;
  return `must have ${comparison} ${bound} ${nounFor(Number(bound), unit)}`;
}

/** The fields of an object, also of one that is optional or has a default. */
function shapeOf(schema: unknown): Readonly<Record<string, unknown>> {
  const def = (schema as z.core.$ZodType | undefined)?._zod?.def as
    | { readonly shape?: Readonly<Record<string, unknown>>; readonly innerType?: unknown }
    | undefined;
  return def?.shape ?? (def?.innerType === undefined ? {} : shapeOf(def.innerType));
}

/** The field that has the key as a field of its own, as in `policy.fuel_budget`. */
function nestedField(key: string, shape: Readonly<Record<string, unknown>>): string | undefined {
  const outer = Object.keys(shape).find((name) => Object.hasOwn(shapeOf(shape[name]), key));
  return outer && `${outer}.${key}`;
}

function describeKeys(keys: readonly string[], schema: unknown): string {
  const shape = shapeOf(schema);
  const shown = keys.slice(0, KEYS_MAX).map((key) => key.slice(0, KEY_CHARS_MAX));
  const similar = shown.flatMap(
    (key) => nestedField(key, shape) ?? similarField(key, Object.keys(shape)) ?? [],
  );
  const names = oneOf(shown.map((key) => JSON.stringify(key)));
  const suggestion = oneOf([...new Set(similar)].map((name) => JSON.stringify(name)));
  return `has no field ${names}.${suggestion === '' ? '' : ` Did you mean ${suggestion}?`}`;
}

const similarField = (key: string, fields: readonly string[]) =>
  fields.find((field) => key !== '' && field.startsWith(`${key}_`)) ?? similarNames(key, fields, 1)[0];

const nameOf = (path: readonly PropertyKey[]) =>
  path.map((part) => String(part).slice(0, PART_CHARS_MAX)).join('.');

/** One message per problem, which starts with the path of the field. */
export function problemsOf(issues: readonly Issue[], parents: readonly PropertyKey[]): string[] {
  return issues.flatMap((issue) => {
    const path = [...parents, ...issue.path];
    if (issue.code === 'invalid_union' && issue.message === NO_MESSAGE) return unionProblems(issue, path);
    const name = nameOf(path);
    return issue.code === 'unrecognized_keys' ? `${name} ${issue.message}` : `${name}: ${issue.message}`;
  });
}

/** The problems of the alternative whose type matches; if none does, the types that are accepted. */
function unionProblems({ errors }: z.core.$ZodIssueInvalidUnion, path: readonly PropertyKey[]): string[] {
  const isInside = (issue: Issue) => issue.path.length > 0 || issue.code === 'unrecognized_keys';
  const matching = errors.find((issues) => issues.length > 0 && issues.every(isInside));
  if (matching !== undefined) return problemsOf(matching, path);
  const messages = errors.flatMap((issues) => issues.slice(0, 1).map(({ message }) => message));
  const accepted = messages.map((message) => message.replace('must be ', ''));
  const isPlain = messages.length > 0 && messages.every((message) => message.startsWith('must be '));
  return [`${nameOf(path)}: ${isPlain ? `must be ${oneOf(accepted)}` : (messages[0] ?? NO_MESSAGE)}`];
}
