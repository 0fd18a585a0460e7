/** Advice for values of the wrong type, by the message of the exception and the names that programs expect. */
import type { AnalysisInput } from '../../../analysis/input.ts';
import { failedStatement, oneLine } from '../../../analysis/quote-guest-text.ts';
import type { GuestError } from '../../../schema.ts';

const LINE_MAX = 300;
const DATETIME_METHODS = /^(now|utcnow|today|strptime|strftime|fromisoformat|fromtimestamp|combine)$/;
const AWAIT = 'The value is a coroutine: await the call to the async function, as in data = await load()';
/** Advice by the message of a TypeError. */
const TYPE_ADVICE: readonly (readonly [RegExp, string])[] = [
  [
    /offset-naive and offset-aware/,
    'One datetime has a time zone and the other has none: add a time zone with value.replace(tzinfo=timezone.utc), or remove it with value.replace(tzinfo=None)',
  ],
  [
    /unhashable type/,
    'Dict keys, set members and arguments of cached functions must be hashable: use a tuple instead of a list, and a frozenset instead of a set',
  ],
  [
    /^Can't instantiate abstract class/,
    'Define each abstract method in the subclass under exactly this name, and instantiate the subclass',
  ],
  [
    /'(?:decimal\.)?Decimal' and 'float'|'float' and '(?:decimal\.)?Decimal'/,
    'Decimal and float cannot be mixed: write the number as text, Decimal("1.2"), or convert it with Decimal(str(value))',
  ],
  [
    /^'[<>]=?' not supported between instances of '(\w+)' and '\1'/,
    'Values of this type have no order: pass key= to sort, min and max; in a tuple for heapq put a unique number before the value, as in (priority, number, value)',
  ],
  [
    /^'[<>]=?' not supported between instances/,
    'The values have different types: convert them to one type first, or filter out values of other types, as in [x for x in values if x is not None]',
  ],
  [
    /'(?:int|float|bool)' object is not (?:iterable|subscriptable)/,
    'The value is a single number, not a list: loop over range(value) to count, or check with isinstance(value, list) first',
  ],
  [
    /(?:a real number is required|an integer is required|must be real number), not str|%[dfxi] format/,
    'The value is text: convert it with int() or float() first',
  ],
  [
    /^non-default argument '\w+' follows default argument/,
    'Put the fields without a default value first, give this field a default value, or use @dataclass(kw_only=True)',
  ],
  [/'async_generator' object is not iterable/, 'Loop over it with async for, inside an async function'],
  [
    /requires an object with __aiter__ method/,
    'The value is not asynchronous: loop over it with a plain for',
  ],
  [
    /accepts \d+ positional sub-patterns?/,
    'Name the attributes in the pattern, as in Point(x=a, y=b), or define __match_args__ in the class',
  ],
  [
    /for \/: (?:'PosixPath' and '\w+'|'\w+' and 'PosixPath')/,
    'Only text and paths can be joined to a path: convert the value with str()',
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
    'The value is not a function: if a variable has the same name as a function, rename the variable; to use an index, write square brackets, as in items[0]',
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
  'str.strftime': 'datetime.fromisoformat(text).strftime(...); the value is text, not a date',
  'str.isoformat': 'the text itself, or datetime.fromisoformat(text); the value is text, not a date',
  'str.year': 'datetime.fromisoformat(text).year; the value is text, not a date',
  'str.month': 'datetime.fromisoformat(text).month; the value is text, not a date',
  'str.timestamp': 'datetime.fromisoformat(text).timestamp(); the value is text, not a date',
  'str.items': 'json.loads(text).items(), if the text is JSON',
  'str.keys': 'json.loads(text).keys(), if the text is JSON',
  'str.get': 'json.loads(text).get(key), if the text is JSON',
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

const MAX_LINES = 2_000;
const MAX_FUNCTIONS = 40;

/** The async function whose call the program does not await, if there is one such function. */
function unawaitedFunction(source: string): string | undefined {
  const lines = source.split('\n', MAX_LINES).map((line) => line.slice(0, LINE_MAX));
  const defined = lines.flatMap((line) => /^\s*async def (\w{1,80})\(/.exec(line)?.[1] ?? []);
  const found = [...new Set(defined)].slice(0, MAX_FUNCTIONS).filter((name) => {
    const plain = new RegExp(`(?:=|\\breturn)\\s*(?:self\\.)?${name}\\(`);
    return lines.some((line) => plain.test(line));
  });
  return found.length === 1 ? found[0] : undefined;
}

/** Advice for a value that is a coroutine. */
export function awaitLine({ source }: AnalysisInput): string {
  const name = unawaitedFunction(source);
  return name === undefined ? AWAIT : `The value is a coroutine: write await ${name}(...)`;
}

/** The values of an enum that the program defines. */
export function enumValuesLine({ message }: GuestError, { source }: AnalysisInput): string | undefined {
  const [, name] = /is not a valid (\w{1,80})$/.exec(message) ?? [];
  if (name === undefined) return undefined;
  const lines = source.split('\n');
  const start = lines.findIndex((line) => line.startsWith(`class ${name}(`));
  if (start < 0) return undefined;
  const values = [];
  for (const line of lines.slice(start + 1, start + 60)) {
    if (/^\S/.test(line)) break;
    const [, value] =
      /^\s+\w{1,80}\s*=\s*('[^']{0,40}'|"[^"]{0,40}"|-?\d{1,12})\s*(?:#.*)?$/.exec(line) ?? [];
    if (value !== undefined) values.push(value);
  }
  return values.length === 0 ? undefined : `The values of ${name} are ${values.slice(0, 12).join(', ')}`;
}

/** Why a value is None, as far as the source shows it. */
export function noneLine({ source, error }: AnalysisInput): string {
  const lines = source.split('\n').slice(0, error?.line ?? undefined);
  const method = lines.map((line) => IN_PLACE.exec(line.slice(0, LINE_MAX))?.[1]).findLast(Boolean);
  return method === undefined
    ? 'The value is None: a function returned nothing or a search found nothing; check for None first'
    : `The value is None: ${method}() changes its object and returns None, so do not assign its result`;
}

/** Advice for an operation that does not support the types of its operands. */
export function typeAdvice({ message }: GuestError, input: AnalysisInput): string {
  if (/unhashable type: 'list'/.test(message) && /\bgather\(/.test(failedStatement(input)))
    return 'asyncio.gather takes the coroutines as separate arguments: await asyncio.gather(*tasks)';
  if (/'coroutine'/.test(message)) return awaitLine(input);
  return (
    TYPE_ADVICE.find(([pattern]) => pattern.test(message))?.[1] ??
    'Convert explicitly with str(), int(), float() or list(), or check the type first'
  );
}

/** Advice by the message of a ValueError or a similar exception. */
const VALUE_ADVICE: readonly (readonly [RegExp, string])[] = [
  [/^time data/, 'The format string must match the text exactly: print(repr(text)) and compare'],
  [
    /^invalid literal for int\(\) with base 10: '\s*-?\d+\.\d*\s*'/,
    'The text has decimals: convert it with float() first, as in int(float(text))',
  ],
  [
    /^invalid literal for int|^could not convert string to float/,
    'Clean the text first: strip(), remove thousands separators and units, skip empty values',
  ],
  [
    / iterable argument is empty$/,
    'There are no items: check first, or pass default=0; a generator or iterator has no items left after its first use, so store them with list()',
  ],
  [/^mutable default /, 'Write the field as: name: list = field(default_factory=list)'],
  [
    /ConversionSyntax/,
    'Decimal cannot parse this text: remove thousands separators and units, and write a decimal point, not a comma',
  ],
  [
    /^Invalid isoformat string/,
    'The accepted form is 2026-01-31T12:00:00+00:00; parse other forms with datetime.strptime(text, format)',
  ],
  [
    /contains fields not in fieldnames/,
    "Add these fields to fieldnames, or pass extrasaction='ignore' to leave them out",
  ],
  [
    /^Circular reference detected/,
    'The data contains a reference to itself, which JSON cannot represent: omit the back reference, or write the id of the object instead',
  ],
  [
    /is not a valid \w+$/,
    'Enum(value) looks up a value; for a name use square brackets, as in Color["RED"]; list(Color) shows the members',
  ],
  [
    /No time zone found with key/,
    'Use an IANA name such as Europe/Berlin or America/New_York; zoneinfo.available_timezones() lists them',
  ],
];

export const valueAdvice = ({ message }: GuestError): string | undefined =>
  VALUE_ADVICE.find(([pattern]) => pattern.test(message))?.[1];

/** Advice for a method of the program that lacks its first parameter. */
export function missingSelf(error: GuestError, { source }: AnalysisInput): string | undefined {
  const [, name, takes, given] =
    /^\w{1,80}\.(\w{1,80})\(\) takes (\d+) positional arguments? but (\d+) (?:was|were) given/.exec(
      error.message,
    ) ?? [];
  if (name === undefined || Number(given) !== Number(takes) + 1) return undefined;
  const isMissing = source.split('\n').some((line) => {
    const [, found, first] = /^\s+def (\w{1,80})\(\s*(\w{0,80})/.exec(line.slice(0, LINE_MAX)) ?? [];
    return found === name && first !== 'self' && first !== 'cls';
  });
  return isMissing ? `Add self as the first parameter of the method: def ${name}(self, ...)` : undefined;
}

/** Advice for an attribute that no method of the program's own class has set. */
export function ownAttribute({ container, name }: GuestError, input: AnalysisInput): string | undefined {
  if (container == null || name == null || !/^\w{1,80}$/.test(container)) return undefined;
  const isOwn = new RegExp(`^[ \\t]*class ${container}\\b`, 'm').test(input.source);
  const isOnSelf = failedStatement(input).includes(`self.${name}`);
  return isOwn && isOnSelf
    ? `Assign self.${oneLine(name, 60)} in __init__ of ${container} before other methods use it`
    : undefined;
}
