/**
 * The files of a form (multipart/form-data) as clients of E2B send it. It is read in steps, one for each part and slice, because
 * a small compressed body can be a large form with many parts. What no client sends is refused.
 */
import { SLICE_BYTES } from '@llm-wasm-sandbox/core/internal';
import { HttpError } from '../server/http-error.ts';

/** Files of one request. SDKs send all files of one call in one form. */
const MAX_PARTS = 1000;
/** The headers of a part, with a path of at most 4,096 bytes. */
const MAX_HEADER_BYTES = 8192;
const CRLF = Buffer.from('\r\n');
const HEADERS_END = Buffer.from('\r\n\r\n');
const FORM_END = Buffer.from('--');

interface FormFile {
  /** Empty if the part has none. */
  readonly name: string;
  /** Part of the body, not copied. */
  readonly bytes: Uint8Array;
}

const unreadable = () => new HttpError(400, 'The form cannot be read');

/** The parts of a form that are named `file`. Each step is short. */
export function* formFiles(body: Uint8Array, contentType: string): Generator<undefined, FormFile[]> {
  // biome-ignore lint/plugin: a view, which copies nothing
  const buffer = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const boundary = /;\s*boundary=(?:"([^"]{1,70})"|([^\s";,]{1,70})(?=\s*(?:;|$)))/i.exec(contentType);
  if (boundary === null) throw unreadable();
  const delimiter = Buffer.from(`\r\n--${boundary[1] ?? boundary[2]}`, 'latin1');
  const hasAt = (text: Buffer, at: number) => buffer.subarray(at, at + text.length).equals(text);
  // The first delimiter has no line before it.
  if (!hasAt(delimiter.subarray(CRLF.length), 0)) throw unreadable();
  const files: FormFile[] = [];
  let at = delimiter.length - CRLF.length;
  for (let parts = 0; !hasAt(FORM_END, at); parts++) {
    if (parts === MAX_PARTS)
      throw new HttpError(413, `The form has more than ${MAX_PARTS} parts. Send it as several requests`);
    const head = buffer.subarray(at, at + MAX_HEADER_BYTES);
    const headEnd = head.indexOf(HEADERS_END);
    if (!hasAt(CRLF, at) || headEnd < 0) throw unreadable();
    const start = at + headEnd + HEADERS_END.length;
    const end = yield* indexOf(buffer, delimiter, start);
    const { name, filename } = disposition(head.subarray(0, headEnd).toString('utf8'));
    if (name === 'file') files.push({ name: filename ?? '', bytes: buffer.subarray(start, end) });
    at = end + delimiter.length;
    yield;
  }
  return files;
}

/** Where a text begins in a slice of the rest of a form, or in a later one. */
function* indexOf(buffer: Buffer, text: Buffer, from: number): Generator<undefined, number> {
  for (let at = from; at < buffer.length; at += SLICE_BYTES) {
    const found = buffer.subarray(at, at + SLICE_BYTES + text.length - 1).indexOf(text);
    if (found >= 0) return at + found;
    yield;
  }
  throw unreadable();
}

/** The names in the headers of a part. Each match of the pattern begins where the last one ended, so the time is linear. */
function disposition(headers: string): { readonly name?: string; readonly filename?: string } {
  const start = /\r\ncontent-disposition:[ \t]*form-data/i.exec(headers);
  if (start === null) throw unreadable();
  const parameter = /[ \t]*;[ \t]*([\w*-]+)=(?:"([^"\r\n]*)"|([^\s";]*))/y;
  parameter.lastIndex = start.index + start[0].length;
  const found: Record<string, string> = Object.create(null);
  for (let match = parameter.exec(headers); match !== null; match = parameter.exec(headers))
    found[match[1]!.toLowerCase()] = unescaped(match[2] ?? match[3]!);
  return found;
}

/** Clients escape what would end a quoted name, and nothing else. */
const unescaped = (text: string) =>
  text.replaceAll('%22', '"').replaceAll(/%0d/gi, '\r').replaceAll(/%0a/gi, '\n');
