/**
 * Parses what a program displays: JSON text with the forms by MIME type, optionally followed by NUL and the bytes of an
 * image. The bytes are under the control of the program, so their size and shape are limited before they are parsed.
 */
import { JsonLimitScanner } from '../framing/json-limit-scanner.ts';
import { parseWithoutProto } from '../framing/limited-json.ts';
import { MESSAGE_SHAPE, RESULT_LIMITS } from './result-limits.ts';
import { parseTable, type Table } from './table.ts';

export interface DisplayMessage {
  readonly isMain: boolean;
  /** Texts and JSON data by MIME type. */
  readonly forms: ReadonlyMap<string, unknown>;
  /** An image, with the MIME type that the program claims. */
  readonly binary: { readonly mime: string; readonly bytes: Uint8Array } | undefined;
  readonly table: Table | undefined;
}

const MAX_FORMS = 20;
const MAX_MIME_CHARS = 100;

/**
 * Returns undefined for bytes that are not a message, and `too_complex` for one with too many elements or levels. The result
 * does not reference `bytes`.
 */
export function parseMessage(bytes: Uint8Array): DisplayMessage | 'too_complex' | undefined {
  if (bytes.length > RESULT_LIMITS.messageBytes) return undefined;
  const end = bytes.indexOf(0);
  const header = end < 0 ? bytes : bytes.subarray(0, end);
  if (isTooComplex(header)) return 'too_complex';
  const fields = parseObject(header);
  const data = fields?.['data'];
  if (fields === undefined || typeof data !== 'object' || data === null) return undefined;
  const { binary: mime } = fields;
  const entries = Object.entries(data).filter(([name]) => name.length <= MAX_MIME_CHARS);
  return {
    isMain: fields['main'] === true,
    forms: new Map(entries.slice(0, MAX_FORMS)),
    binary:
      end < 0 || typeof mime !== 'string'
        ? undefined
        : { mime: mime.slice(0, MAX_MIME_CHARS), bytes: bytes.slice(end + 1) },
    table: parseTable(fields['table']),
  };
}

/** Parses JSON text of a guest, which must be an object of limited depth and size; otherwise undefined. */
export function parseLimitedObject(bytes: Uint8Array): Record<string, unknown> | undefined {
  return isTooComplex(bytes) ? undefined : parseObject(bytes);
}

const isTooComplex = (bytes: Uint8Array) => new JsonLimitScanner(MESSAGE_SHAPE).scan(bytes) !== undefined;

function parseObject(bytes: Uint8Array): Record<string, unknown> | undefined {
  // A copy, because the memory of a guest may be shared, which decoders reject.
  const value = parseWithoutProto(new TextDecoder().decode(bytes.slice()));
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
}
