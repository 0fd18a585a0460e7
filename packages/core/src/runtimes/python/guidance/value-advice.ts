/** Advice for values of the wrong type, by the message of the exception and the names that programs expect. */
import type { AnalysisInput } from '../../../analysis/input.ts';
import { failedStatement, oneLine } from '../../../analysis/quote-guest-text.ts';
import type { GuestError } from '../../../schema.ts';
import { OTHER_NAMES, typeErrorAdvice } from './advice.ts';

const LINE_MAX = 300;
const DATETIME_METHODS = /^(now|utcnow|today|strptime|strftime|fromisoformat|fromtimestamp|combine)$/;
const AWAIT = 'The value is a coroutine: await the call to the async function, as in data = await load()';
/** Methods that return None because they change their object. */
const IN_PLACE = /=\s*[\w.[\]]+\.(sort|reverse|append|extend|insert|update|add|remove|clear|shuffle)\(/;

export function otherName({ container, name, module_name }: GuestError): string | undefined {
  if (module_name === 'datetime' && DATETIME_METHODS.test(name ?? ''))
    return `The class is datetime.datetime: use datetime.datetime.${name}, or import it with "from datetime import datetime"`;
  const other = OTHER_NAMES.get(`${container}.${name}`);
  return other && `Use instead: ${other}`;
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
    typeErrorAdvice(message) ??
    'Convert explicitly with str(), int(), float() or list(), or check the type first'
  );
}

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
