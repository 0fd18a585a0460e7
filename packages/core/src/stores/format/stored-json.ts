/** JSON of the session format: parsing untrusted files against a schema, and the two layouts in which JSON is written. */
import type { z } from 'zod';
import { SandboxError } from '../../errors.ts';

/** Version of session.json, of trees and of workspace.json. */
export const FORMAT = 3;

/** `path` names the file or the bundle that is damaged. */
export function damaged(path: string, problem: string, cause?: unknown): SandboxError {
  return new SandboxError('session_damaged', `${path} ${problem}.`, { cause });
}

/** Throws `session_damaged` with the first field that does not match; `path` is for the message. */
export function decodeJson<T extends z.ZodType>(schema: T, bytes: Uint8Array, path: string): z.output<T> {
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    throw damaged(path, 'is not valid JSON', error);
  }
  const parsed = schema.safeParse(json);
  if (parsed.success) return parsed.data;
  const format = (json as { format?: unknown } | null)?.format;
  if (Number.isSafeInteger(format) && format !== FORMAT)
    throw damaged(path, `has format version ${format}; this release reads version ${FORMAT}`);
  const { path: field, message } = parsed.error.issues[0]!;
  throw damaged(path, `is invalid at ${field.join('.').slice(0, 200) || 'the top level'}: ${message}`);
}

export const encodeText = (text: string) => new TextEncoder().encode(text);

export const encodePrettyJson = (value: unknown) => encodeText(`${JSON.stringify(value, undefined, 2)}\n`);

/** The items of a JSON array, one per line, for line-based tools such as diff. Each item is a step. */
export function* jsonLines(items: Iterable<unknown>): Generator<undefined, string> {
  const lines: string[] = [];
  for (const item of items) {
    lines.push(JSON.stringify(item));
    yield;
  }
  return lines.join(',\n');
}
