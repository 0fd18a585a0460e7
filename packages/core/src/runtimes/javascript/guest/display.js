/**
 * What a program displays: `display`, `text` and `image`, and the value of its last expression. A value becomes forms by MIME
 * type, which are written to /dev/results as one message: JSON, and for an image NUL and its bytes. The host checks and limits
 * everything.
 */
import { LINUX_ERRNO } from '../linux-errno.js';
import { readBytes } from './file-helpers.js';
import { host } from './host-calls.js';
import { safeInspect as inspect } from './inspect.js';
import { encodeUtf8 } from './text-encoding.js';

const DEVICE = '/dev/results';
const O_WRITE = 1;
/** Limits that avoid unnecessary work. The host enforces its own. */
const TEXT_LIMIT = 20_000;
const TABLE_ROWS = 1000;
const TABLE_COLUMNS = 100;
const CELL_LIMIT = 1000;
/** The method with which objects describe themselves to Jupyter front ends, as in Deno. */
const JUPYTER_DISPLAY = Symbol.for('Jupyter.display');
const VEGA_LITE = 'application/vnd.vegalite.v6+json';

const { stringify } = JSON;
const { getPrototypeOf, keys, hasOwn } = Object;
const { isArray } = Array;
const ObjectPrototype = Object.prototype;

const isPlainObject = (value) => {
  if (typeof value !== 'object' || value === null) return false;
  const prototype = getPrototypeOf(value);
  return prototype === ObjectPrototype || prototype === null;
};

function bytesOf(value) {
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  return undefined;
}

const FAILURES = {
  [LINUX_ERRNO.EFBIG]: 'the value is larger than 8 MiB. Write it to a file instead.',
  [LINUX_ERRNO.EINVAL]: 'the value has no form that can be shown.',
  [LINUX_ERRNO.E2BIG]:
    'the value has more than 400,000 elements, or is nested more than 100 levels deep. Sample or aggregate it, or write it to a file.',
};

function send(message, image) {
  const json = encodeUtf8(stringify(message));
  const bytes = new Uint8Array(json.length + (image === undefined ? 0 : image.length + 1));
  bytes.set(json);
  if (image !== undefined) bytes.set(image, json.length + 1);
  const fd = host.open(DEVICE, O_WRITE, 0);
  const written = fd < 0 ? fd : host.write(fd, bytes.buffer, 0, bytes.length);
  if (fd >= 0) host.close(fd);
  if (written < 0) throw new Error(`display: ${FAILURES[-written] ?? `error ${-written}`}`);
}

const truncate = (text, limit) => (text.length <= limit ? text : `${text.slice(0, limit)}…`);

function cellOf(value) {
  if (value === null || value === undefined) return null;
  if (typeof value === 'boolean') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  if (typeof value === 'string') return truncate(value, CELL_LIMIT);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  return truncate(typeof value === 'bigint' ? String(value) : inspect(value), CELL_LIMIT);
}

/** An array of records as a table, or undefined. Its columns are the names of all records, in the order in which they occur. */
function tableOf(value) {
  if (!isArray(value) || value.length === 0 || !isPlainObject(value[0])) return undefined;
  const records = value.slice(0, TABLE_ROWS);
  const columns = new Set();
  for (const record of records) {
    if (!isPlainObject(record)) return undefined;
    for (const name of keys(record)) columns.add(name);
    if (columns.size > TABLE_COLUMNS) return undefined;
  }
  if (columns.size === 0) return undefined;
  const names = [...columns];
  const rows = records.map((record) =>
    names.map((name) => (hasOwn(record, name) ? cellOf(record[name]) : null)),
  );
  return { columns: names, rows, total: value.length };
}

/** The rich forms of a value: its own, a chart for a Vega-Lite specification, and an image for the bytes of one. */
function formsOf(value) {
  if (typeof value !== 'object' || value === null) return {};
  if (typeof value[JUPYTER_DISPLAY] === 'function') return { data: { ...value[JUPYTER_DISPLAY]() } };
  const bytes = bytesOf(value);
  if (bytes !== undefined) return isImage(bytes) ? { data: {}, image: bytes, mime: 'image/png' } : {};
  const spec = typeof value.toSpec === 'function' ? value.toSpec() : value;
  if (typeof spec?.$schema === 'string' && spec.$schema.includes('/vega'))
    return { data: { [VEGA_LITE]: spec } };
  const table = tableOf(value);
  return table === undefined ? {} : { data: {}, table };
}

/** Whether bytes start with the signature of a PNG, JPEG, GIF or WebP image. The host determines the format. */
function isImage(bytes) {
  const start = String.fromCharCode(...bytes.subarray(0, 12));
  return /^(?:\x89PNG|\xff\xd8\xff|GIF8|RIFF....WEBP)/s.test(start);
}

/** Sends forms. A form that is bytes, or base64 of an image type, is the image of the message. */
function publish(data, { table, image, mime, isMain }) {
  const forms = {};
  let picture = image;
  let pictureMime = mime;
  for (const [type, form] of Object.entries(data)) {
    const isBinary = type.startsWith('image/') && type !== 'image/svg+xml';
    if (!isBinary) forms[type] = bytesOf(form) === undefined ? form : new TextDecoder().decode(form);
    else if (picture === undefined) {
      picture = bytesOf(form) ?? Uint8Array.fromBase64(String(form));
      pictureMime = type;
    }
  }
  const message = { data: forms, main: isMain, table };
  if (picture !== undefined) message.binary = pictureMime;
  send(message, picture);
}

const textOf = (value) => ({
  'text/plain': truncate(typeof value === 'string' ? value : inspect(value), TEXT_LIMIT),
});

/** Shows a value: as its rich forms, as a table if it is an array of records, or as text. With `mime`, it is text or bytes of this type. */
export function display(value, mime = undefined) {
  if (mime !== undefined) {
    const type = String(mime);
    const isText = typeof value === 'string' || bytesOf(value) !== undefined;
    publish({ [type]: isText || type.endsWith('json') ? value : String(value) }, {});
    return;
  }
  const { data = textOf(value), ...parts } = formsOf(value);
  publish(data, parts);
}

/** Shows text. Other values are shown as JSON, or as the console shows them. */
export function text(value) {
  display(typeof value === 'string' ? value : (stringify(value) ?? inspect(value)), 'text/plain');
}

/** Shows an image: its bytes, the name of a file, a data URL, or an object with the base64 `data` of one. */
export function image(source) {
  const bytes = bytesOf(source) ?? imageBytes(source);
  if (!isImage(bytes)) {
    const start = new TextDecoder().decode(bytes.subarray(0, 200)).trimStart();
    if (start.startsWith('<svg') || start.startsWith('<?xml')) return display(bytes, 'image/svg+xml');
    throw new TypeError('image: not a PNG, JPEG, GIF, WebP or SVG image');
  }
  return display(bytes, 'image/png');
}

function imageBytes(source) {
  const data = typeof source === 'string' ? source : (source?.image_url ?? source?.data);
  if (typeof data !== 'string')
    throw new TypeError('image: expected bytes, the name of a file or a data URL');
  if (/^https?:/.test(data))
    throw new TypeError('image: the sandbox has no network. Pass bytes or the name of a file.');
  if (data.startsWith('data:')) return Uint8Array.fromBase64(data.slice(data.indexOf(',') + 1));
  return typeof source === 'string' ? readBytes('image', source) : Uint8Array.fromBase64(data);
}

/** Displays the value of the last expression, if it has rich forms. A failure leaves its text. */
export function displayMain(value) {
  try {
    const { data, ...parts } = formsOf(value);
    if (data === undefined) return;
    publish(data, { ...parts, isMain: true });
  } catch {
    // The host shows the result of the report.
  }
}
