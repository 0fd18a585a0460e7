/** Encodes and decodes forms as multipart/form-data (RFC 7578). */
import { decodeUtf8, encodeUtf8 } from '../../text-encoding.js';
import { Blob, concatBytes, File } from './blob.js';

const utf8 = (text) => new Uint8Array(encodeUtf8(text));
const quoted = (text) => text.replaceAll('\n', '%0A').replaceAll('\r', '%0D').replaceAll('"', '%22');
const unquoted = (text) => text.replaceAll('%0A', '\n').replaceAll('%0D', '\r').replaceAll('%22', '"');

export function writeMultipart(form, boundary) {
  const parts = [];
  for (const [name, value] of form) {
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="${quoted(name)}"`;
    if (value instanceof Blob) {
      const type = value.type || 'application/octet-stream';
      parts.push(
        utf8(`${head}; filename="${quoted(value.name)}"\r\nContent-Type: ${type}\r\n\r\n`),
        value._bytes,
      );
    } else parts.push(utf8(`${head}\r\n\r\n${value.replace(/\r?\n|\r/g, '\r\n')}`));
    parts.push(utf8('\r\n'));
  }
  parts.push(utf8(`--${boundary}--\r\n`));
  return concatBytes(parts);
}

/** The index of `wanted` in `bytes`, or -1. */
function find(bytes, wanted, from) {
  for (let at = bytes.indexOf(wanted[0], from); at >= 0; at = bytes.indexOf(wanted[0], at + 1)) {
    let length = 1;
    while (length < wanted.length && bytes[at + length] === wanted[length]) length++;
    if (length === wanted.length) return at;
  }
  return -1;
}

const failure = () => new TypeError('Failed to parse body as FormData.');

function parameter(header, name) {
  const match = new RegExp(`;\\s*${name}=(?:"([^"]*)"|([^;\\s]*))`, 'i').exec(header);
  return match === null ? undefined : (match[1] ?? match[2]);
}

function readPart(bytes) {
  const end = find(bytes, utf8('\r\n\r\n'), 0);
  if (end < 0) throw failure();
  const headers = new Map();
  for (const line of decodeUtf8(bytes.subarray(0, end)).split('\r\n')) {
    const colon = line.indexOf(':');
    if (colon > 0) headers.set(line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim());
  }
  const disposition = headers.get('content-disposition') ?? '';
  const name = parameter(disposition, 'name');
  if (!/^form-data\s*;/i.test(disposition) || name === undefined) throw failure();
  const filename = parameter(disposition, 'filename');
  const content = bytes.subarray(end + 4);
  if (filename === undefined) return [unquoted(name), decodeUtf8(content)];
  const type = headers.get('content-type') ?? 'text/plain';
  return [unquoted(name), new File([content], unquoted(filename), { type })];
}

/** The names and values of a form. */
export function readMultipart(bytes, contentType) {
  const boundary = parameter(contentType, 'boundary');
  if (!boundary) throw failure();
  const separator = utf8(`\r\n--${boundary}`);
  // The first separator may be the start of the body, without a line break before it.
  const body = concatBytes([utf8('\r\n'), bytes]);
  const entries = [];
  let start = find(body, separator, 0);
  for (;;) {
    if (start < 0) throw failure();
    start += separator.length;
    if (body[start] === 0x2d && body[start + 1] === 0x2d) return entries;
    if (body[start] !== 0x0d || body[start + 1] !== 0x0a) throw failure();
    // The separator of an empty part follows immediately.
    const end = find(body, separator, start);
    if (end < 0) throw failure();
    entries.push(readPart(body.subarray(start + 2, end)));
    start = end;
  }
}
