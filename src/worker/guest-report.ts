/**
 * Reads what a boot script says about the end of a program. A program can reach the boot script's objects and make it
 * say anything, so each field is taken only as far as it fits, and reading costs a bounded time whatever is written.
 */
import { MAX_REPORT_BYTES } from '../runtimes/runtime.ts';
import { type GuestError, type GuestReport, guestError, guestReport } from '../schema.ts';

/** Values in a result, and how deep they nest; boot scripts send less. */
const MAX_VALUES = 10_000;
const MAX_DEPTH = 100;

/** Absent when what was said is not even an object. */
export function parseGuestReport(text: string): GuestReport | undefined {
  const said = text.length > MAX_REPORT_BYTES ? undefined : parseObject(text);
  if (said === undefined) return undefined;
  const { exit_code, result_type } = guestReport.shape;
  const cause = readError(said['exit_cause']);
  const code = exit_code.safeParse(said['exit_code']);
  const type = result_type.safeParse(said['result_type']);
  const error = readError(said['error']);
  return {
    exit_code: code.success ? code.data : 1,
    ...(said['result'] !== undefined &&
      isBounded(said['result']) && { result: said['result'] as NonNullable<GuestReport['result']> }),
    ...(type.success && type.data !== undefined && { result_type: type.data }),
    ...(error !== undefined && { error }),
    ...(cause !== undefined && { exit_cause: cause }),
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

/** The error with its texts cut to what the schema allows. */
function readError(value: unknown): GuestError | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const fields = Object.keys(guestError.shape).map((name) => {
    const field = (value as Record<string, unknown>)[name];
    const limit = name === 'type' ? 200 : 20_000;
    return [name, typeof field === 'string' ? field.slice(0, limit) : field] as const;
  });
  const parsed = guestError.safeParse(Object.fromEntries(fields));
  return parsed.success ? parsed.data : undefined;
}

/** Whether JSON data is small enough to pass on. Takes out keys that would change the prototype of a copy. */
function isBounded(data: unknown): boolean {
  const pending = [{ value: data, depth: 0 }];
  let seen = 0;
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { value, depth } = next;
    if (typeof value !== 'object' || value === null) continue;
    if (depth >= MAX_DEPTH) return false;
    // biome-ignore lint/suspicious/noProto: an own key of that name is what is taken out
    if (Object.hasOwn(value, '__proto__')) delete (value as Record<string, unknown>)['__proto__'];
    const items = Object.values(value);
    seen += items.length;
    if (seen > MAX_VALUES) return false;
    for (const item of items) pending.push({ value: item, depth: depth + 1 });
  }
  return true;
}
