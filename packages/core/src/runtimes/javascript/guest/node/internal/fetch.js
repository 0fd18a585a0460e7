/**
 * Headers, FormData, Request, Response and `fetch`. `fetch` serves `data:` URLs. The host sends other requests; without a network,
 * they are rejected with an error that names the alternative.
 */
import { defineHidden } from '../../define.js';
import { customInspect, inspect } from '../../inspect.js';
import { decodeUtf8, encodeUtf8 } from '../../text-encoding.js';
import { Blob, concatBytes, File } from './blob.js';
import { readMultipart, writeMultipart } from './multipart.js';
import { hasNetwork, sendRequest } from './requests.js';

const TOKEN = /^[!#$%&'*+\-.^_`|~\dA-Za-z]+$/;

/** A text of characters that are one byte each in a message. */
function byteString(value) {
  const text = `${value}`;
  if (/[^\0-\xff]/.test(text)) throw new TypeError(`Cannot convert ${text} to a ByteString`);
  return text;
}

function headerName(name) {
  const text = byteString(name);
  if (!TOKEN.test(text)) throw new TypeError(`Headers: ${text} is an invalid header name.`);
  return text.toLowerCase();
}

function headerValue(value) {
  const text = byteString(value).replace(/^[\t\n\r ]+|[\t\n\r ]+$/g, '');
  if (/[\0\r\n]/.test(text)) throw new TypeError(`Headers: ${text} is an invalid header value.`);
  return text;
}

/** The headers that an object describes: pairs, or properties. Properties are read one after another. */
function headerPairs(init) {
  if (typeof init[Symbol.iterator] !== 'function')
    return Reflect.ownKeys(init).flatMap((key) =>
      Reflect.getOwnPropertyDescriptor(init, key)?.enumerable
        ? [[byteString(key), byteString(init[key])]]
        : [],
    );
  return Array.from(init, (pair) => {
    const parts = typeof pair === 'object' ? [...pair] : [];
    if (parts.length !== 2) throw new TypeError('Headers: each header must be a name and a value');
    return parts;
  });
}

/** Makes the headers of a received response immutable, and says whether they are. */
let freeze;
let isFrozen;

/** The methods of a list of pairs, over its method `entries`. */
const pairMethods = {
  *keys() {
    for (const [key] of this.entries()) yield key;
  },
  *values() {
    for (const [, value] of this.entries()) yield value;
  },
  forEach(callback, thisArg = undefined) {
    for (const [key, value] of this.entries()) callback.call(thisArg, value, key, this);
  },
  [Symbol.iterator]() {
    return this.entries();
  },
};
export class Headers {
  #list = new Map();
  /** The names in their original spelling, by lower-case name. */
  #names = new Map();
  #isFrozen = false;

  static {
    freeze = (headers) => {
      headers.#isFrozen = true;
    };
    isFrozen = (headers) => headers.#isFrozen;
  }
  #check() {
    if (this.#isFrozen) throw new TypeError('immutable');
  }
  constructor(init = undefined) {
    if (init === undefined) return;
    if (init === null || typeof init !== 'object')
      throw new TypeError('Headers: the argument must be an object');
    for (const [name, value] of headerPairs(init)) this.append(name, value);
  }
  append(name, value) {
    const [key, text] = [headerName(name), headerValue(value)];
    this.#check();
    const values = this.#list.get(key);
    if (values === undefined) this.set(name, text);
    else values.push(text);
  }
  set(name, value) {
    const key = headerName(name);
    this.#check();
    this.#list.set(key, [headerValue(value)]);
    this.#names.set(key, `${name}`);
  }
  get(name) {
    return this.#list.get(headerName(name))?.join(', ') ?? null;
  }
  getSetCookie() {
    return [...(this.#list.get('set-cookie') ?? [])];
  }
  has(name) {
    return this.#list.has(headerName(name));
  }
  delete(name) {
    const key = headerName(name);
    this.#check();
    this.#list.delete(key);
  }
  #sorted() {
    const pairs = (key) =>
      key === 'set-cookie' ? this.#list.get(key).map((value) => [key, value]) : [[key, this.get(key)]];
    return [...this.#list.keys()].sort().flatMap(pairs);
  }
  /** What changes during the iteration is seen by it. */
  *entries() {
    let pairs = this.#sorted();
    for (let i = 0; i < pairs.length; i++) {
      yield pairs[i];
      pairs = this.#sorted();
    }
  }
  get [Symbol.toStringTag]() {
    return 'Headers';
  }
  [customInspect](depth, options) {
    if (depth < 0) return this;
    const shown = Object.fromEntries(
      [...this.#list.keys()].map((key) => [this.#names.get(key), this.get(key)]),
    );
    return `Headers ${inspect(shown, options)}`;
  }
}

defineHidden(Headers.prototype, pairMethods);

export class FormData {
  #entries = [];

  constructor(form = undefined) {
    if (form !== undefined) throw new TypeError('FormData: there are no forms in the sandbox');
  }
  static #entry(name, value, filename) {
    if (!(value instanceof Blob)) {
      if (filename !== undefined) throw new TypeError('FormData: only a Blob can have a file name');
      return [`${name}`, `${value}`];
    }
    if (value instanceof File && filename === undefined) return [`${name}`, value];
    const { type, lastModified } = value;
    return [`${name}`, new File([value], `${filename ?? 'blob'}`, { type, lastModified })];
  }
  append(name, value, filename = undefined) {
    this.#entries.push(FormData.#entry(name, value, filename));
  }
  set(name, value, filename = undefined) {
    const entry = FormData.#entry(name, value, filename);
    const index = this.#entries.findIndex(([key]) => key === entry[0]);
    if (index < 0) this.#entries.push(entry);
    else {
      this.#entries = this.#entries.filter(([key], i) => i <= index || key !== entry[0]);
      this.#entries[index] = entry;
    }
  }
  get(name) {
    return this.#entries.find(([key]) => key === `${name}`)?.[1] ?? null;
  }
  getAll(name) {
    return this.#entries.filter(([key]) => key === `${name}`).map(([, value]) => value);
  }
  has(name) {
    return this.#entries.some(([key]) => key === `${name}`);
  }
  delete(name) {
    this.#entries = this.#entries.filter(([key]) => key !== `${name}`);
  }
  *entries() {
    for (let i = 0; i < this.#entries.length; i++) yield [...this.#entries[i]];
  }
  get [Symbol.toStringTag]() {
    return 'FormData';
  }
  [customInspect](depth, options) {
    if (depth < 0) return this;
    const groups = Map.groupBy(this.#entries, ([key]) => key);
    const shown = Array.from(groups, ([key, [[, first], ...others]]) => [
      key,
      others.length === 0 ? first : [first, ...others.map(([, value]) => value)],
    ]);
    return `FormData ${inspect(Object.fromEntries(shown), options)}`;
  }
}

defineHidden(FormData.prototype, pairMethods);

const utf8 = (text) => new Uint8Array(encodeUtf8(text));

async function joined(chunks) {
  const parts = [];
  for await (const part of chunks) parts.push(part.slice());
  return concatBytes(parts);
}

async function* byteChunks(stream) {
  for await (const part of stream) {
    if (!(part instanceof Uint8Array)) throw new TypeError('Received non-Uint8Array chunk');
    yield part;
  }
}

/** The chunks of what is sent can also be texts. */
async function* sentChunks(iterable) {
  for await (const part of iterable) yield typeof part === 'string' ? utf8(part) : new Uint8Array(part);
}

/** The bytes of a body, or the stream that supplies them, and the type of its contents. */
function readBody(body) {
  if (body instanceof Blob) return { bytes: body._bytes, type: body.type || undefined };
  if (body instanceof ArrayBuffer) return { bytes: new Uint8Array(body.slice(0)) };
  if (ArrayBuffer.isView(body))
    return { bytes: new Uint8Array(body.buffer.slice(body.byteOffset, body.byteOffset + body.byteLength)) };
  if (body instanceof URLSearchParams)
    return { bytes: utf8(`${body}`), type: 'application/x-www-form-urlencoded;charset=UTF-8' };
  if (body instanceof FormData) {
    const boundary = `----formdata-${crypto.randomUUID()}`;
    return { bytes: writeMultipart(body, boundary), type: `multipart/form-data; boundary=${boundary}` };
  }
  if (typeof body === 'object' && typeof body[Symbol.asyncIterator] === 'function') {
    if (typeof body.getReader !== 'function') return { stream: ReadableStream.from(sentChunks(body)) };
    if (body.locked || body._disturbed)
      throw new TypeError('Response body object should not be disturbed or locked');
    return { stream: body };
  }
  return { bytes: utf8(`${body}`), type: 'text/plain;charset=UTF-8' };
}

class Body {
  #content;
  #stream;
  #isUsed = false;

  constructor(body, headers) {
    this.#content = body === null || body === undefined ? undefined : readBody(body);
    const type = this.#content?.type;
    if (type !== undefined && !headers.has('content-type')) headers.set('content-type', type);
  }
  get body() {
    if (this.#content === undefined) return null;
    const { bytes, stream } = this.#content;
    if (this.#stream !== undefined) return this.#stream;
    this.#stream =
      stream ??
      new ReadableStream({
        start(controller) {
          if (bytes.length > 0) controller.enqueue(bytes);
          controller.close();
        },
      });
    this.#lockIfUsed();
    return this.#stream;
  }
  get bodyUsed() {
    const { stream } = this.#content ?? {};
    return this.#isUsed || (this.#stream ?? stream)?._disturbed === true;
  }
  #checkUsable() {
    const { stream } = this.#content ?? {};
    if (this.bodyUsed || (this.#stream ?? stream)?.locked)
      throw new TypeError('Body is unusable: Body has already been read');
  }
  /** A body that was read has a stream that cannot be read. */
  #lockIfUsed() {
    if (this.#isUsed && this.#content.stream === undefined) this.#stream?.getReader();
  }
  async bytes() {
    return this._read(byteChunks);
  }
  async _read(chunksOf) {
    this.#checkUsable();
    if (this.#content === undefined) return new Uint8Array();
    this.#isUsed = true;
    this.#lockIfUsed();
    const { bytes, stream } = this.#content;
    return stream === undefined ? bytes.slice() : joined(chunksOf(stream));
  }
  async arrayBuffer() {
    return (await this.bytes()).buffer;
  }
  async blob() {
    return new Blob([await this.bytes()], { type: this.headers.get('content-type') ?? '' });
  }
  async text() {
    const text = decodeUtf8(await this.bytes());
    return text.startsWith('\ufeff') ? text.slice(1) : text;
  }
  async json() {
    return JSON.parse(await this.text());
  }
  async formData() {
    const type = this.headers.get('content-type') ?? '';
    const form = new FormData();
    const bytes = await this.bytes();
    if (/^multipart\/form-data\s*;/i.test(type)) {
      for (const part of readMultipart(bytes, type)) form.append(...part);
    } else if (/^application\/x-www-form-urlencoded\s*(?:;|$)/i.test(type)) {
      for (const [name, value] of new URLSearchParams(decodeUtf8(bytes))) form.append(name, value);
    } else
      throw new TypeError(
        'Content-Type was not one of "multipart/form-data" or "application/x-www-form-urlencoded".',
      );
    return form;
  }
  get _isStream() {
    return this.#content?.stream !== undefined;
  }
  /** The body for a copy. */
  _copy() {
    this.#checkUsable();
    if (this.#content?.stream === undefined) return this.#content?.bytes;
    const [own, copy] = this.#content.stream.tee();
    this.#content = { stream: own };
    this.#stream = undefined;
    return copy;
  }
  /** The body for another request, which takes it over. */
  _take() {
    if (this.#content === undefined) return undefined;
    this.#checkUsable();
    this.#isUsed = true;
    return this.#content.bytes ?? this.#content.stream;
  }
}

const FORBIDDEN_METHODS = ['CONNECT', 'TRACE', 'TRACK'];
const METHODS = ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT'];

function checkedUrl(input) {
  let url;
  try {
    url = new URL(`${input}`);
  } catch (cause) {
    throw new TypeError(`Failed to parse URL from ${input}`, { cause });
  }
  const { href, username, password } = url;
  if (username !== '' || password !== '')
    throw new TypeError(`Request cannot be constructed from a URL that includes credentials: ${href}`);
  return href;
}

/** Options of a request with their values. The first is the default. They have no effect, except for `redirect`. */
const REQUEST_OPTIONS = {
  redirect: ['follow', 'error', 'manual'],
  mode: ['cors', 'no-cors', 'same-origin'],
  credentials: ['same-origin', 'omit', 'include'],
  cache: ['default', 'no-store', 'reload', 'no-cache', 'force-cache', 'only-if-cached'],
};

function readOptions(init, source) {
  const read = ([name, values]) => {
    const value = init[name] === undefined ? (source?.[name] ?? values[0]) : `${init[name]}`;
    if (!values.includes(value)) throw new TypeError(`Request constructor: ${value} is not a valid ${name}.`);
    return [name, value];
  };
  if (init.duplex !== undefined && init.duplex !== 'half')
    throw new TypeError(`Request constructor: ${init.duplex} is not a valid duplex.`);
  if (init.integrity) throw new TypeError('Request constructor: the sandbox does not support integrity.');
  return Object.fromEntries(Object.entries(REQUEST_OPTIONS).map(read));
}

function readSignal({ signal }, source) {
  if (signal === undefined && source !== undefined) return source.signal;
  if (signal === undefined || signal === null) return new AbortController().signal;
  if (signal instanceof AbortSignal) return signal;
  throw new TypeError('Request constructor: Expected signal to be an instance of AbortSignal.');
}

export class Request extends Body {
  constructor(input, init = {}) {
    const source = input instanceof Request ? input : undefined;
    const url = source?.url ?? checkedUrl(input);
    const upper = `${init.method ?? source?.method ?? 'GET'}`.toUpperCase();
    const method = METHODS.includes(upper) ? upper : `${init.method ?? source?.method}`;
    if (!TOKEN.test(method)) throw new TypeError(`'${method}' is not a valid HTTP method.`);
    if (FORBIDDEN_METHODS.includes(upper)) throw new TypeError(`'${method}' HTTP method is unsupported.`);
    const options = { ...readOptions(init, source), signal: readSignal(init, source) };
    const headers = new Headers(init.headers ?? source?.headers);
    const body = init.body ?? source?._take();
    if (body != null && (method === 'GET' || method === 'HEAD'))
      throw new TypeError('Request with GET/HEAD method cannot have body.');
    if (typeof init.body?.[Symbol.asyncIterator] === 'function' && init.duplex === undefined)
      throw new TypeError('RequestInit: duplex option is required when sending a body.');
    super(body, headers);
    Object.assign(this, { method, url, headers, ...options, duplex: 'half' });
  }
  clone() {
    const { url, method, headers, signal, redirect, mode, credentials, cache } = this;
    const options = { method, headers, signal, redirect, mode, credentials, cache };
    return new Request(url, { ...options, body: this._copy(), duplex: 'half' });
  }
  get [Symbol.toStringTag]() {
    return 'Request';
  }
}

const NULL_BODY = [101, 204, 205, 304];

export class Response extends Body {
  constructor(body = null, init = {}) {
    const status = init.status === undefined ? 200 : Number(init.status);
    if (!(status >= 200 && status <= 599))
      throw new RangeError('init["status"] must be in the range of 200 to 599, inclusive.');
    if (body !== null && NULL_BODY.includes(status))
      throw new TypeError(`Response constructor: Invalid response status code ${status}`);
    const headers = new Headers(init.headers);
    super(body, headers);
    const statusText = byteString(init.statusText ?? '');
    if (/[^\t\x20-\x7e\x80-\xff]/.test(statusText)) throw new TypeError('Invalid statusText');
    Object.assign(this, {
      status,
      statusText,
      headers,
      ok: status < 300,
      type: 'default',
      url: '',
      redirected: false,
    });
  }
  static json(data, init = {}) {
    const text = JSON.stringify(data);
    if (text === undefined) throw new TypeError('Value is not JSON serializable');
    const headers = new Headers(init.headers);
    if (!headers.has('content-type')) headers.set('content-type', 'application/json');
    return new Response(text, { ...init, headers });
  }
  static error() {
    const response = new Response();
    freeze(response.headers);
    return Object.assign(response, { type: 'error', status: 0, ok: false });
  }
  static redirect(url, status = 302) {
    if (![301, 302, 303, 307, 308].includes(status)) throw new RangeError(`Invalid status code ${status}`);
    return new Response(null, { status, headers: { location: new URL(`${url}`).href } });
  }
  clone() {
    const { status, statusText, headers, ok, type, url, redirected } = this;
    const copy = new Response(this._copy() ?? null, { headers });
    if (isFrozen(headers)) freeze(copy.headers);
    return Object.assign(copy, { status, statusText, ok, type, url, redirected });
  }
  get [Symbol.toStringTag]() {
    return 'Response';
  }
  [customInspect](depth, options) {
    if (depth < 0) return this;
    const { status, statusText, headers, body, bodyUsed, ok, redirected, type, url } = this;
    const shown = { status, statusText, headers, body, bodyUsed, ok, redirected, type, url };
    return `Response ${inspect(shown, options)}`;
  }
}

function dataResponse(url) {
  const match = /^data:([^,]*?)(;base64)?,(.*)$/s.exec(url);
  if (match === null) throw new TypeError('fetch failed', { cause: new Error('invalid data: URL') });
  const [, type, base64, data] = match;
  const body = base64
    ? Uint8Array.from(atob(decodeURIComponent(data)), (one) => one.charCodeAt(0))
    : decodeURIComponent(data);
  return new Response(body, { headers: { 'content-type': type || 'text/plain;charset=US-ASCII' } });
}

const NO_NETWORK =
  'fetch is not available in the sandbox: it has no network. Call a tool that gets the data, or pass the data as files or standard input';
const REDIRECTS = [301, 302, 303, 307, 308];
const MAX_REDIRECTS = 20;
const DEFAULT_HEADERS = {
  accept: '*/*',
  'accept-language': '*',
  'sec-fetch-mode': 'cors',
  'user-agent': 'node',
};
/** Headers that describe a body, and headers that another host must not get. */
const BODY_HEADERS = [
  'content-encoding',
  'content-language',
  'content-location',
  'content-type',
  'content-length',
];
const OWN_HEADERS = ['authorization', 'cookie', 'proxy-authorization', 'host'];

function failed(cause) {
  // What a person can permit must be visible, also where only the message is shown.
  const message = cause?.code === 'EACCES' ? `fetch failed: ${cause.message}` : 'fetch failed';
  return new TypeError(message, { cause });
}

/** The response of the host as a `Response`. */
async function toResponse({ status, reason, headers, body }, url, signal) {
  const isEmpty = NULL_BODY.includes(status);
  const list = new Headers();
  for (const [name, value] of headers) list.append(name, value);
  let content = null;
  // A body that has arrived can be copied by clone().
  if (!isEmpty && body.isComplete) content = (await body.next()) ?? new Uint8Array();
  else if (!isEmpty)
    content = new ReadableStream({
      async pull(controller) {
        try {
          const bytes = await body.next(signal);
          if (bytes === undefined) controller.close();
          else controller.enqueue(bytes);
        } catch (cause) {
          controller.error(signal.aborted ? signal.reason : new TypeError('terminated', { cause }));
        }
      },
      cancel: () => body.close(),
    });
  const response = new Response(content, { headers: list });
  freeze(response.headers);
  return Object.assign(response, {
    status,
    statusText: reason,
    ok: status >= 200 && status < 300,
    type: 'basic',
    url,
  });
}

/** The request that follows a redirect; undefined if the response is not one. */
function redirected(request, { status, headers }) {
  const location = headers.find(([name]) => name.toLowerCase() === 'location')?.[1];
  if (!REDIRECTS.includes(status) || location === undefined) return undefined;
  let url;
  try {
    url = new URL(location, request.url);
  } catch (cause) {
    throw failed(Object.assign(new Error('the redirect has an invalid URL'), { cause }));
  }
  if (!['http:', 'https:'].includes(url.protocol))
    throw failed(new Error('URL scheme must be a HTTP(S) scheme'));
  const isOther = url.origin !== new URL(request.url).origin;
  const changes = status === 303 ? request.method !== 'HEAD' : request.method === 'POST' && status < 307;
  const drops = (name) =>
    (changes && BODY_HEADERS.includes(name.toLowerCase())) ||
    (isOther && OWN_HEADERS.includes(name.toLowerCase()));
  url.hash ||= new URL(request.url).hash;
  return {
    method: changes && request.method !== 'GET' ? 'GET' : request.method,
    url: url.href,
    headers: request.headers.filter(([name]) => !drops(name)),
    body: changes ? undefined : request.body,
  };
}

async function follow(first, { redirect, signal }) {
  let request = first;
  for (let count = 0; ; count++) {
    const answer = await sendRequest(request, signal).catch((cause) => {
      throw signal.aborted ? signal.reason : failed(cause);
    });
    const next = redirect === 'manual' ? undefined : redirected(request, answer);
    if (next === undefined) {
      const response = await toResponse(answer, request.url.replace(/#.*$/, ''), signal);
      return Object.assign(response, { redirected: count > 0 });
    }
    answer.body.close();
    if (redirect === 'error') throw failed(new Error('unexpected redirect'));
    if (first.isStream && answer.status !== 303) throw failed(new Error('a stream cannot be sent again'));
    if (count >= MAX_REDIRECTS) throw failed(new Error('redirect count exceeded'));
    request = next;
  }
}

export async function fetch(input, init = undefined) {
  const request = new Request(input, init);
  request.signal.throwIfAborted();
  if (request.url.startsWith('data:')) return dataResponse(request.url);
  if (!hasNetwork()) {
    const cause = Object.assign(new Error(`connect ENETUNREACH ${new URL(request.url).host}`), {
      code: 'ENETUNREACH',
      syscall: 'connect',
    });
    throw new TypeError(NO_NETWORK, { cause });
  }
  const { method, url, headers, redirect, signal } = request;
  const codings = url.startsWith('https:') ? 'br, gzip, deflate' : 'gzip, deflate';
  for (const [name, value] of Object.entries({ ...DEFAULT_HEADERS, 'accept-encoding': codings }))
    if (!headers.has(name)) headers.set(name, value);
  const isStream = request._isStream;
  const bytes = await request._read(sentChunks).catch((cause) => {
    throw failed(cause);
  });
  const body = bytes.length > 0 ? bytes : undefined;
  return follow({ method, url, headers: [...headers], body, isStream }, { redirect, signal });
}
