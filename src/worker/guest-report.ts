/**
 * Parses the report of a boot script about the end of a program. A program can manipulate the boot script, so the
 * report is untrusted: fields that do not match the schema are dropped, and parsing takes bounded time.
 */
import { MAX_REPORT_BYTES } from '../runtimes/runtime.ts';
import { type GuestError, type GuestReport, guestError, guestReport } from '../schema.ts';
import { parseStoppedAt } from './stopped-at.ts';

/** Limits of a result; boot scripts stay below them. */
const MAX_VALUES = 10_000;
const MAX_DEPTH = 100;

/** Returns undefined for text that is not a JSON object. */
export function parseGuestReport(text: string): GuestReport | undefined {
  const fields = text.length > MAX_REPORT_BYTES ? undefined : parseObject(text);
  if (fields === undefined) return undefined;
  const { exit_code, result_type } = guestReport.shape;
  const cause = parseError(fields['exit_cause']);
  const stopped = parseStoppedAt(fields['stopped_at']);
  const code = exit_code.safeParse(fields['exit_code']);
  const type = result_type.safeParse(fields['result_type']);
  const error = parseError(fields['error']);
  return {
    exit_code: code.success ? code.data : 1,
    ...(fields['result'] !== undefined &&
      isWithinLimits(fields['result']) && { result: fields['result'] as NonNullable<GuestReport['result']> }),
    ...(type.success && type.data !== undefined && { result_type: type.data }),
    ...(error !== undefined && { error }),
    ...(cause !== undefined && { exit_cause: cause }),
    ...(stopped !== undefined && { stopped_at: stopped }),
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
  const fields = Object.keys(guestError.shape).map((name) => {
    const field = (value as Record<string, unknown>)[name];
    const limit = name === 'type' ? 200 : 20_000;
    return [name, typeof field === 'string' ? field.slice(0, limit) : field] as const;
  });
  const parsed = guestError.safeParse(Object.fromEntries(fields));
  return parsed.success ? parsed.data : undefined;
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
