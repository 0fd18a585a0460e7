/** Parses JSON text of unknown origin within limits, now or when its value is first read. */
import { JsonLimitScanner, type JsonLimits } from './json-limit-scanner.ts';

/** Parses JSON text; undefined if it is invalid or exceeds the limits. */
function parseLimitedJson(text: string, limits: JsonLimits): unknown {
  const bytes = new TextEncoder().encode(text);
  return new JsonLimitScanner(limits).scan(bytes) === undefined ? parseWithoutProto(text) : undefined;
}

/** Parses JSON text without `__proto__` keys, which would change the prototype of a copy; undefined if it is invalid. */
export function parseWithoutProto(text: string): unknown {
  try {
    return MAY_HAVE_PROTO.test(text) ? JSON.parse(text, withoutProto) : JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Text that may contain the key `__proto__`, possibly with escaped characters. */
const MAY_HAVE_PROTO = /__proto__|\\u00/;

function withoutProto(key: string, value: unknown): unknown {
  return key === '__proto__' ? undefined : value;
}

/** Defines a field whose value is parsed when it is first read. */
export function defineJson(target: object, field: string, text: string, limits: JsonLimits): void {
  Object.defineProperty(target, field, {
    configurable: true,
    enumerable: true,
    get() {
      const value = parseLimitedJson(text, limits);
      Object.defineProperty(target, field, { value, writable: true });
      return value;
    },
  });
}
