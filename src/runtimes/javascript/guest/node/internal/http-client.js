/** `request` and `get` of the modules `http` and `https`. The host sends the requests. */
import { addTick } from '../../program-events.js';
import { Readable, Writable } from '../stream.js';
import { codedError } from './errors.js';
import { hasNetwork, sendRequest } from './requests.js';

/** Headers of which the first value counts. */
const SINGLE =
  'age authorization content-length content-type etag expires from host if-modified-since if-unmodified-since last-modified location max-forwards proxy-authorization referer retry-after server user-agent'.split(
    ' ',
  );

function collect(list) {
  const headers = {};
  for (const [name, value] of list) {
    const key = name.toLowerCase();
    if (key === 'set-cookie') headers[key] = [...(headers[key] ?? []), value];
    else if (headers[key] === undefined) headers[key] = value;
    else if (!SINGLE.includes(key)) headers[key] += `${key === 'cookie' ? '; ' : ', '}${value}`;
  }
  return headers;
}

export class IncomingMessage extends Readable {
  constructor({ status, reason, headers, body }, url) {
    super();
    this.httpVersion = '1.1';
    this.httpVersionMajor = 1;
    this.httpVersionMinor = 1;
    this.statusCode = status;
    this.statusMessage = reason;
    this.headers = collect(headers);
    this.rawHeaders = headers.flat();
    this.trailers = {};
    this.rawTrailers = [];
    this.complete = false;
    this.aborted = false;
    this.url = '';
    this.responseUrl = url;
    this.socket = this.connection = { encrypted: url.startsWith('https:'), remoteAddress: undefined };
    this._body = body;
  }
  _read() {
    this._body.next().then(
      (bytes) => {
        if (bytes !== undefined) return this.push(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length));
        this.complete = true;
        this.push(null);
      },
      (error) => this.destroy(error),
    );
  }
  _destroy(error, callback) {
    this._body.close();
    callback(error);
  }
  setTimeout() {
    return this;
  }
}

const invalidUrl = (cause) => codedError(TypeError, 'ERR_INVALID_URL', `Invalid URL: ${cause?.input ?? ''}`);

/** The URL and the options of the arguments of `request`. */
function readArguments(protocol, [first, second, third]) {
  const isUrl = typeof first === 'string' || first instanceof URL;
  const callback = [third, second].find((value) => typeof value === 'function');
  let base = {};
  if (isUrl) {
    let url;
    try {
      url = new URL(`${first}`);
    } catch (cause) {
      throw invalidUrl(cause);
    }
    const { hostname, port, pathname, search, username, password } = url;
    base = { protocol: url.protocol, hostname, port, path: `${pathname}${search}` };
    if (username !== '') base.auth = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  }
  const given = isUrl ? second : first;
  const options = { protocol, ...base, ...(typeof given === 'object' ? given : {}) };
  if (options.protocol !== protocol)
    throw codedError(
      TypeError,
      'ERR_INVALID_PROTOCOL',
      `Protocol "${options.protocol}" not supported. Expected "${protocol}"`,
    );
  return { options, callback };
}

function urlOf({ protocol, hostname, host = 'localhost', port, path = '/' }) {
  const name = hostname ?? host;
  const plain = name.includes(':') && !name.startsWith('[') ? `[${name}]` : name;
  return `${protocol}//${plain}${port === undefined || port === '' || port === null ? '' : `:${port}`}${path}`;
}

export class ClientRequest extends Writable {
  #headers = new Map();
  #parts = [];
  #aborter = new AbortController();
  #timeout;

  constructor(protocol, args) {
    // It lives until its response has ended, not until its own data has been sent.
    super({ autoDestroy: false });
    const { options, callback } = readArguments(protocol, args);
    this.method = `${options.method ?? 'GET'}`.toUpperCase();
    this.protocol = protocol;
    this.path = options.path ?? '/';
    this.host = options.hostname ?? options.host ?? 'localhost';
    this.aborted = false;
    this.reusedSocket = false;
    this._url = urlOf(options);
    this.#timeout = options.timeout;
    const headers = Array.isArray(options.headers) ? options.headers : Object.entries(options.headers ?? {});
    for (const [name, value] of headers) this.setHeader(name, value);
    if (options.auth !== undefined && !this.hasHeader('authorization'))
      this.setHeader('Authorization', `Basic ${Buffer.from(options.auth).toString('base64')}`);
    if (callback !== undefined) this.once('response', callback);
    options.signal?.addEventListener('abort', () => this.destroy(options.signal.reason), { once: true });
  }
  setHeader(name, value) {
    this.#headers.set(`${name}`.toLowerCase(), [`${name}`, value]);
    return this;
  }
  getHeader(name) {
    return this.#headers.get(`${name}`.toLowerCase())?.[1];
  }
  hasHeader(name) {
    return this.#headers.has(`${name}`.toLowerCase());
  }
  removeHeader(name) {
    this.#headers.delete(`${name}`.toLowerCase());
  }
  getHeaders() {
    return Object.fromEntries([...this.#headers].map(([key, [, value]]) => [key, value]));
  }
  getHeaderNames() {
    return [...this.#headers.keys()];
  }
  flushHeaders() {}
  setNoDelay() {}
  setSocketKeepAlive() {}
  setTimeout(milliseconds, callback = undefined) {
    this.#timeout = milliseconds;
    if (callback !== undefined) this.once('timeout', callback);
    return this;
  }
  _write(chunk, _encoding, callback) {
    this.#parts.push(chunk);
    callback();
  }
  _final(callback) {
    callback();
    this.#send();
  }
  #send() {
    const headers = [...this.#headers.values()].flatMap(([name, value]) =>
      Array.isArray(value) ? value.map((one) => [name, `${one}`]) : [[name, `${value}`]],
    );
    const request = {
      method: this.method,
      url: this._url,
      headers,
      body: Buffer.concat(this.#parts),
      timeout: this.#timeout,
    };
    sendRequest(request, this.#aborter.signal).then(
      (response) => {
        const message = new IncomingMessage(response, this._url);
        this.res = message;
        message.req = this;
        // As in Node.js, a response that nobody wants is discarded.
        if (!this.emit('response', message)) message.resume();
      },
      (error) => {
        if (error.kind === 'timeout') this.emit('timeout');
        this.destroy(error);
      },
    );
  }
  _destroy(error, callback) {
    this.#aborter.abort(error ?? new Error('socket hang up'));
    callback(error);
  }
  abort() {
    if (this.aborted) return;
    this.aborted = true;
    addTick(() => this.emit('abort'));
    this.destroy(Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' }));
  }
}

class Agent {
  constructor(options = {}) {
    this.options = { ...options };
    this.maxSockets = options.maxSockets ?? Number.POSITIVE_INFINITY;
    this.requests = this.sockets = this.freeSockets = {};
  }
  destroy() {}
}

/** Adds the parts that need a network to a module whose functions throw. They throw too if the program has none. */
export function withClient(name, module) {
  const { request: fail, get: failGet } = module;
  const request = (...args) => (hasNetwork() ? new ClientRequest(`${name}:`, args) : fail(...args));
  const get = (...args) => {
    if (!hasNetwork()) return failGet(...args);
    const made = request(...args);
    made.end();
    return made;
  };
  // Libraries create an agent when they are loaded.
  return Object.assign(module, {
    request,
    get,
    Agent,
    globalAgent: new Agent(),
    ClientRequest,
    IncomingMessage,
  });
}
