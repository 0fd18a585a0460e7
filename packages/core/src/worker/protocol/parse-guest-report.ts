/**
 * Parses the report of a boot script about the end of a program. A program can manipulate the boot script, so the
 * report is untrusted: fields that do not match the schema are dropped, and parsing takes bounded time.
 */
import { boolean, type Check, integer, list, nullable, optional, text } from '../../framing/json-checks.ts';
import { MAX_REPORT_BYTES } from '../../runtimes/runtime.ts';
import { REPORT_MAX } from '../../schema/report-limits.ts';
import type { GuestError, GuestReport } from '../../schema.ts';
import { parseStoppedAt } from './limit-stopped-at.ts';

/** Limits of a result; boot scripts stay below them. */
const MAX_VALUES = 10_000;
const MAX_DEPTH = 100;

const string = text(REPORT_MAX.text);
const shortText = optional(text(REPORT_MAX.shortText));
const anyInteger = integer(Number.MIN_SAFE_INTEGER);
const exitCode = integer(0, REPORT_MAX.exitCode);
const typeName = text(REPORT_MAX.typeName);

/** The fields of an error. They accept what the schema of `GuestError` accepts; test/worker compares the two. */
export const ERROR_FIELDS: { readonly [K in keyof Required<GuestError>]: Check<GuestError[K]> } = {
  type: string,
  message: string,
  line: optional(nullable(anyInteger)),
  file: shortText,
  column: optional(nullable(anyInteger)),
  stack: optional(nullable(string)),
  module: shortText,
  kind: shortText,
  raised: optional(boolean),
  thrower: shortText,
  errno: optional(nullable(anyInteger)),
  path: optional(nullable(string)),
  path2: optional(string),
  cwd: shortText,
  name: optional(nullable(string)),
  missing: optional(list(text(REPORT_MAX.shortText), REPORT_MAX.items)),
  attribute: shortText,
  module_name: shortText,
  on_path: optional(boolean),
  suggestion: shortText,
  container: shortText,
  key: shortText,
  available: optional(list(text(REPORT_MAX.shortText), REPORT_MAX.items)),
  length: optional(anyInteger),
  position: optional(anyInteger),
  near: shortText,
  code: shortText,
  tool: shortText,
};

/** Returns undefined for text that is not a JSON object. */
export function parseGuestReport(text: string): GuestReport | undefined {
  const fields = text.length > MAX_REPORT_BYTES ? undefined : parseObject(text);
  if (fields === undefined) return undefined;
  const cause = parseError(fields['exit_cause']);
  const stopped = parseStoppedAt(fields['stopped_at']);
  const { exit_code: code, result_type: type, result_text: shown } = fields;
  const error = parseError(fields['error']);
  return {
    exit_code: exitCode(code) === undefined ? (code as number) : 1,
    ...(fields['result'] !== undefined &&
      isWithinLimits(fields['result']) && { result: fields['result'] as NonNullable<GuestReport['result']> }),
    ...(typeName(type) === undefined && { result_type: type as string }),
    ...(string(shown) === undefined && { result_text: shown as string }),
    ...(error !== undefined && { error }),
    ...(cause !== undefined && { exit_cause: cause }),
    ...(stopped !== undefined && { stopped_at: stopped }),
    ...(fields['uses_threads'] === true && { uses_threads: true as const }),
    ...(fields['asks_float_errors'] === true && { asks_float_errors: true as const }),
  };
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** Parses an error, with its strings truncated to the lengths that the schema allows. */
function parseError(value: unknown): GuestError | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const error: Record<string, unknown> = {};
  for (const [name, check] of Object.entries(ERROR_FIELDS)) {
    const field = Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined;
    const limit = name === 'type' ? 200 : 20_000;
    const limited = typeof field === 'string' ? field.slice(0, limit) : field;
    if (check(limited) !== undefined) return undefined;
    if (limited !== undefined) error[name] = limited;
  }
  return error as unknown as GuestError;
}

/** Whether JSON data is within the limits. Removes `__proto__` keys, which would change the prototype of a copy. */
export function isWithinLimits(data: unknown): boolean {
  const pending = [{ value: data, depth: 0 }];
  let count = 0;
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { value, depth } = next;
    if (typeof value !== 'object' || value === null) continue;
    if (depth >= MAX_DEPTH) return false;
    // biome-ignore lint/suspicious/noProto: removes an own property of this name
    if (Object.hasOwn(value, '__proto__')) delete (value as Record<string, unknown>)['__proto__'];
    const items = Object.values(value);
    count += items.length;
    if (count > MAX_VALUES) return false;
    for (const item of items) pending.push({ value: item, depth: depth + 1 });
  }
  return true;
}
