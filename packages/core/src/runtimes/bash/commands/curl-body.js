/** The bodies that curl sends: data, forms and files. */
import { readFileSync } from 'node:fs';
import { CurlError } from './curl-options.js';

const bytes = (value) => Buffer.from(value, 'utf8');

/** The bytes of a file; `-` stands for standard input. */
export function readInput(name, code = 26) {
  try {
    return readFileSync(name === '-' ? 0 : name);
  } catch {
    throw new CurlError(
      code,
      code === 26 ? `Failed to open/read local data from file/application` : `Failed to open ${name}`,
    );
  }
}

/** Percent-encoding with a plus sign for a blank. */
function escapeBytes(data) {
  const escapeByte = (byte) => {
    const character = String.fromCharCode(byte);
    if (byte < 128 && /[\w.~-]/.test(character)) return character;
    return byte === 32 ? '+' : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  };
  return Array.from(data, escapeByte).join('');
}

function urlEncoded(value) {
  const at = value.search(/[=@]/);
  if (at < 0) return bytes(escapeBytes(bytes(value)));
  const name = value.slice(0, at);
  const rest = value.slice(at + 1);
  const content = escapeBytes(value[at] === '@' ? readInput(rest) : bytes(rest));
  return bytes(name === '' ? content : `${name}=${content}`);
}

function dataBytes({ kind, value }) {
  if (kind === 'urlencode') return urlEncoded(value);
  if (kind === 'raw' || !value.startsWith('@')) return bytes(value);
  const read = readInput(value.slice(1));
  return kind === 'data' ? read.filter((byte) => byte !== 10 && byte !== 13 && byte !== 0) : read;
}

/** The data of all options, as curl joins them. */
export function joinData(parts) {
  const joined = [];
  for (const part of parts) {
    if (joined.length > 0 && part.kind !== 'json') joined.push(bytes('&'));
    joined.push(dataBytes(part));
  }
  return Buffer.concat(joined);
}

const TYPES = {
  gif: 'image/gif',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  png: 'image/png',
  svg: 'image/svg+xml',
  txt: 'text/plain',
  htm: 'text/html',
  html: 'text/html',
  pdf: 'application/pdf',
  xml: 'application/xml',
};

const quoted = (name) => name.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A');

function formPart({ value, isLiteral }) {
  const at = value.indexOf('=');
  if (at <= 0) throw new CurlError(2, 'Illegally formatted input field');
  const name = value.slice(0, at);
  const rest = value.slice(at + 1);
  const head = `Content-Disposition: form-data; name="${quoted(name)}"`;
  if (isLiteral) return [head, bytes(rest)];
  const [first, ...settings] = rest.split(';');
  const setting = (key) =>
    settings
      .find((one) => one.trim().startsWith(`${key}=`))
      ?.trim()
      .slice(key.length + 1);
  if (first.startsWith('<')) return [head, readInput(first.slice(1))];
  if (!first.startsWith('@'))
    return [
      `${head}${setting('type') ? `\r\nContent-Type: ${setting('type')}` : ''}`,
      bytes(setting('type') ? first : rest),
    ];
  const path = first.slice(1);
  const shown = setting('filename') ?? path.slice(path.lastIndexOf('/') + 1);
  const type = setting('type') ?? TYPES[/\.(\w+)$/.exec(shown)?.[1]] ?? 'application/octet-stream';
  return [`${head}; filename="${quoted(shown)}"\r\nContent-Type: ${type}`, readInput(path)];
}

/** A form as multipart/form-data: `{ body, type }`. */
export function formBody(fields) {
  const random = crypto.getRandomValues(new Uint8Array(8));
  const boundary = `------------------------${Buffer.from(random).toString('hex')}`;
  const parts = fields
    .map(formPart)
    .flatMap(([head, content]) => [bytes(`--${boundary}\r\n${head}\r\n\r\n`), content, bytes('\r\n')]);
  return {
    body: Buffer.concat([...parts, bytes(`--${boundary}--\r\n`)]),
    type: `multipart/form-data; boundary=${boundary}`,
  };
}
