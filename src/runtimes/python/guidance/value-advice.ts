/** Advice for values of the wrong type, by the message of the exception and the names that programs expect. */
import type { AnalysisInput } from '../../../analysis/input.ts';
import type { GuestError } from '../../../schema.ts';

const SOURCE_MAX = 32_768;
const LINE_MAX = 300;
const DATETIME_METHODS = /^(now|utcnow|today|strptime|strftime|fromisoformat|fromtimestamp|combine)$/;
export const AWAIT =
  'The value is a coroutine: await the call to the async function, as in data = await load()';
/** Advice by the message of a TypeError. */
const TYPE_ADVICE: readonly (readonly [RegExp, string])[] = [
  [/'coroutine'/, AWAIT],
  [
    /offset-naive and offset-aware/,
    'One datetime has a time zone and the other has none: add it with value.replace(tzinfo=timezone.utc), or remove it with value.replace(tzinfo=None)',
  ],
  [
    /unhashable type/,
    'Dict keys and set members must be immutable: use a tuple instead of a list, or frozenset',
  ],
  [/not JSON serializable/, 'Convert it before json.dumps (str(), list(), isoformat()), or pass default=str'],
  [
    /indices must be integers or slices, not float|'float' object cannot be interpreted as an integer/,
    'Division with / returns a float: use //, or convert with int()',
  ],
  [
    /indices must be integers or slices, not str/,
    'The value is a list, not a dict: take an item first, as in rows[0]["name"], or loop over the list',
  ],
  [
    /can only concatenate str|unsupported operand type\(s\) for \+: '\w+' and 'str'/,
    'Convert the number with str(), or use an f-string: f"total: {value}"; convert text to a number with int() or float()',
  ],
  [
    /object is not callable/,
    'The value is not a function: rename a variable that has the name of a function, and write an index in square brackets, as in items[0]',
  ],
];
/** Methods that return None because they change their object. */
const IN_PLACE = /=\s*[\w.[\]]+\.(sort|reverse|append|extend|insert|update|add|remove|clear|shuffle)\(/;
/** Names of other languages and versions, by type and attribute. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  'list.push': 'append()',
  'list.length': 'len(items)',
  'list.size': 'len(items)',
  'list.forEach': 'for item in items',
  'list.map': 'a list comprehension',
  'list.filter': 'a list comprehension',
  'list.add': 'append()',
  'list.contains': 'item in items',
  'list.includes': 'item in items',
  'list.join': '", ".join(items)',
  'str.length': 'len(text)',
  'str.contains': 'part in text',
  'str.includes': 'part in text',
  'str.substring': 'text[start:end]',
  'str.trim': 'strip()',
  'str.toUpperCase': 'upper()',
  'str.toLowerCase': 'lower()',
  'str.append': 'text += part',
  'str.decode': 'the text itself; a str is already decoded',
  'dict.has_key': 'key in d',
  'dict.iteritems': 'items()',
  'dict.append': 'd[key] = value',
  'dict.add': 'd[key] = value',
};

export function otherName({ container, name, module_name }: GuestError): string | undefined {
  if (module_name === 'datetime' && DATETIME_METHODS.test(name ?? ''))
    return `The class is datetime.datetime: use datetime.datetime.${name}, or import it with "from datetime import datetime"`;
  const key = `${container}.${name}`;
  return Object.hasOwn(OTHER_NAMES, key) ? `Use instead: ${OTHER_NAMES[key]}` : undefined;
}

/** Why a value is None, as far as the source shows it. */
export function noneLine({ source, error }: AnalysisInput): string {
  const lines = source
    .slice(0, SOURCE_MAX)
    .split('\n')
    .slice(0, error?.line ?? undefined);
  const method = lines.map((line) => IN_PLACE.exec(line.slice(0, LINE_MAX))?.[1]).findLast(Boolean);
  return method === undefined
    ? 'The value is None: a function returned nothing or a search found nothing; check for None first'
    : `The value is None: ${method}() changes its object and returns None, so do not assign its result`;
}

/** Advice for an operation that does not support the types of its operands. */
export function typeAdvice({ message }: GuestError): string {
  return (
    TYPE_ADVICE.find(([pattern]) => pattern.test(message))?.[1] ??
    'Convert explicitly with str(), int(), float() or list(), or check the type first'
  );
}
