/** `request` and `get` of the modules `http` and `https`. The host sends the requests. */
import { addTick } from '../../program-events.js';
import EventEmitter from '../events.js';
import { Readable, Writable } from '../stream.js';
import { AbortError, codedError } from './errors.js';
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
        this.req._wait();
        if (bytes !== undefined) return this.push(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length));
        this.complete = true;
        this.push(null);
      },
      (error) => this.destroy(socketError(error, 'aborted')),
    );
  }
  _destroy(error, callback) {
    this._body.close();
    callback(error);
    // The request ends with its response.
    this.req.destroy();
  }
  setTimeout(milliseconds, callback = undefined) {
    if (callback !== undefined) this.once('timeout', callback);
    this.req.setTimeout(milliseconds, () => this.emit('timeout'));
    return this;
  }
}

const TOKEN = /^[!#$%&'*+\-.^_`|~\dA-Za-z]+$/;

function checkToken(what, text) {
  if (!TOKEN.test(text))
    throw codedError(TypeError, 'ERR_INVALID_HTTP_TOKEN', `${what} must be a valid HTTP token ["${text}"]`);
}

function checkHeader(name, value) {
  checkToken('Header name', `${name}`);
  if (value === undefined)
    throw codedError(
      TypeError,
      'ERR_HTTP_INVALID_HEADER_VALUE',
      `Invalid value "${value}" for header "${name}"`,
    );
  for (const one of [value].flat())
    if (/[^\t\u0020-\u007e\u0080-\u00ff]/.test(`${one}`))
      throw codedError(TypeError, 'ERR_INVALID_CHAR', `Invalid character in header content ["${name}"]`);
}

/** An error as the sockets of Node.js report it. `hangUp` is the message if the host has closed the connection. */
function socketError(error, hangUp) {
  if (error.code === 'ECONNRESET')
    return Object.assign(new Error(hangUp), { code: 'ECONNRESET', cause: error });
  if (error.code === 'ECONNREFUSED') error.syscall = 'connect';
  return error;
}

/** What libraries use of the socket of a request. Nothing can be sent over it. */
class RequestSocket extends EventEmitter {
  connecting = false;
  #request;
  constructor(request) {
    super();
    this.#request = request;
    this.encrypted = request.protocol === 'https:';
    request.on('timeout', () => this.emit('timeout'));
  }
  setTimeout(milliseconds, callback = undefined) {
    if (callback !== undefined) this.once('timeout', callback);
    this.#request.setTimeout(milliseconds);
    return this;
  }
  setKeepAlive() {
    return this;
  }
  setNoDelay() {
    return this;
  }
  destroy = (error) => this.#request.destroy(error);
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
  #timer;
  #isSent = false;

  constructor(protocol, args) {
    // It lives until its response has ended, not until its own data has been sent.
    super({ autoDestroy: false });
    const { options, callback } = readArguments(protocol, args);
    this.method = `${options.method ?? 'GET'}`.toUpperCase();
    checkToken('Method', this.method);
    this.protocol = protocol;
    this.path = options.path ?? '/';
    if (/[^\u0021-\u00ff]/.test(this.path))
      throw codedError(TypeError, 'ERR_UNESCAPED_CHARACTERS', 'Request path contains unescaped characters');
    this.host = options.hostname ?? options.host ?? 'localhost';
    this.aborted = false;
    this.reusedSocket = false;
    this._url = urlOf(options);
    this.#timeout = options.timeout ?? options.agent?.options?.timeout;
    const headers = Array.isArray(options.headers) ? options.headers : Object.entries(options.headers ?? {});
    for (const [name, value] of headers) this.setHeader(name, value);
    if (options.auth !== undefined && !this.hasHeader('authorization'))
      this.setHeader('Authorization', `Basic ${Buffer.from(options.auth).toString('base64')}`);
    if (callback !== undefined) this.once('response', callback);
    addTick(() => {
      this.socket = this.connection = new RequestSocket(this);
      this.emit('socket', this.socket);
    });
    const abort = () => this.destroy(new AbortError(undefined, { cause: options.signal.reason }));
    if (options.signal?.aborted) addTick(abort);
    options.signal?.addEventListener('abort', abort, { once: true });
  }
  setHeader(name, value) {
    checkHeader(name, value);
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
    if (this.#isSent) this._wait();
    return this;
  }
  /** Begins to wait for the next bytes. As in Node.js, the end of that time is an event and nothing more. */
  _wait() {
    clearTimeout(this.#timer);
    if (this.#timeout > 0 && !this.destroyed)
      this.#timer = setTimeout(() => this.emit('timeout'), this.#timeout);
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
      decode: false,
    };
    this.#isSent = true;
    this._wait();
    sendRequest(request, this.#aborter.signal).then(
      (response) => {
        if (this.destroyed) return response.body.close();
        this._wait();
        const message = new IncomingMessage(response, this._url);
        message.req = this;
        this.res = message;
        // As in Node.js, a response that nobody wants is discarded.
        if (!this.emit('response', message)) message.resume();
      },
      (error) => this.destroy(socketError(error, 'socket hang up')),
    );
  }
  _destroy(error, callback) {
    clearTimeout(this.#timer);
    const isEarly = this.res === undefined && !error;
    const cause = isEarly ? Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' }) : error;
    this.#aborter.abort(cause ?? new Error('socket hang up'));
    if (error && this.res !== undefined) this.res.destroy(error);
    else this.res?.destroy();
    callback(cause);
  }
  abort() {
    if (this.aborted) return;
    this.aborted = true;
    addTick(() => this.emit('abort'));
    this.destroy();
  }
}

class Agent {
  constructor(options = {}) {
    this.options = { ...options };
    this.keepAlive = options.keepAlive ?? false;
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
