/** The command curl. Its options, output and exit codes are those of curl 7.88; the host sends the requests. */
import { closeSync, existsSync, mkdirSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { formBody, joinData, readInput } from './curl-body.js';
import { CurlError, readOptions } from './curl-options.js';
import { headerOf, redirected, send } from './http-transfer.js';

const VERSION = '7.88.1';
const TRY = "curl: try 'curl --help' or 'curl --manual' for more information\n";
const HELP = `Usage: curl [options...] <url>
 -d, --data <data>          HTTP POST data
 -f, --fail                 Fail fast with no output on HTTP errors
 -i, --include              Include protocol response headers in the output
 -o, --output <file>        Write to file instead of stdout
 -O, --remote-name          Write output to a file named as the remote file
 -s, --silent               Silent mode
 -H, --header <header>      Pass custom header(s) to server
 -L, --location             Follow redirects
 -u, --user <user:password> Server user and password
 -X, --request <method>     Specify request method to use
`;

/** Exit codes of curl by the kind of a failure, and its messages. */
const FAILURES = {
  dns: [6, ({ url }) => `Could not resolve host: ${url.hostname}`],
  connect: [
    7,
    ({ url, ms }) =>
      `Failed to connect to ${url.hostname} port ${url.port || (url.protocol === 'https:' ? 443 : 80)} after ${ms} ms: Couldn't connect to server`,
  ],
  refused: [7, ({ message }) => message],
  denied: [7, ({ message }) => message],
  replay: [7, ({ message }) => message],
  limit: [63, ({ message }) => message],
  invalid: [3, ({ message }) => message],
  timeout: [
    28,
    ({ ms, received }) => `Operation timed out after ${ms} milliseconds with ${received} bytes received`,
  ],
  reset: [
    52,
    ({ received }) => (received === 0 ? 'Empty reply from server' : 'Recv failure: Connection reset by peer'),
  ],
  tls: [60, ({ message }) => `SSL certificate problem: ${message}`],
  protocol: [1, ({ message }) => message],
};
/** Failures that are shown even with -s, because nothing else says what to do. */
const ALWAYS_SHOWN = ['refused', 'denied', 'replay', 'limit'];

function failureOf(error, context) {
  if (error instanceof CurlError) return error;
  const { kind, message } = error;
  if (kind === undefined) throw error;
  const [code, text] = FAILURES[kind] ?? [56, () => message];
  const failed = new CurlError(code, text({ ...context, message }));
  if (kind === 'reset' && context.received > 0) failed.code = 56;
  if (kind === 'tls' && !/CERT|SIGNED|ISSUER|SIGNATURE/.test(message)) failed.code = 35;
  failed.isShown = ALWAYS_SHOWN.includes(kind);
  return failed;
}

// ---- requests ----

/** Text in braces or brackets that is not the address of a host. */
const PATTERN = /[{}]|\[(?![\da-f:.]+\])/i;

function parseUrl(given, isLiteral) {
  if (!isLiteral && PATTERN.test(given))
    throw new CurlError(
      3,
      `patterns such as {a,b} and [1-3] are not supported in URLs. Use a loop of the shell, or -g if the URL contains these characters:\n${given}`,
    );
  const text = /^[a-z][\w+.-]*:\/\//i.test(given) ? given : `http://${given}`;
  const [, scheme] = /^([^:]+):/.exec(text);
  if (!/^https?$/i.test(scheme))
    throw new CurlError(1, `Protocol "${scheme}" not supported or disabled in libcurl`);
  if (!URL.canParse(text) || /[\s\0]/.test(text))
    throw new CurlError(3, 'URL using bad/illegal format or missing URL');
  return new URL(text);
}

function bodyOf(options) {
  if (options.upload !== undefined) return { body: readInput(options.upload), method: 'PUT' };
  if (options.form.length > 0) return { ...formBody(options.form), method: 'POST' };
  if (options.data.length === 0) return {};
  const isJson = options.data.some(({ kind }) => kind === 'json');
  const type = isJson ? 'application/json' : 'application/x-www-form-urlencoded';
  return { body: joinData(options.data), type, isJson, method: 'POST' };
}

/** Applies -H: adds and replaces headers, and removes those without a value. */
function applyHeaders(defaults, given) {
  const lines = given.flatMap((one) =>
    one.startsWith('@') ? readInput(one.slice(1)).toString().split(/\r?\n/) : [one],
  );
  const own = lines.filter(Boolean).map((line) => {
    const [, name, mark, value] = /^([^:;]*)([:;])(.*)$/s.exec(line) ?? [null, line, ':', ''];
    return { name: name.trim(), value: value.trim(), isEmpty: mark === ';' };
  });
  const names = own.map(({ name }) => name.toLowerCase());
  const kept = defaults.filter(([name]) => !names.includes(name.toLowerCase()));
  return [
    ...kept,
    ...own.filter(({ value, isEmpty }) => value !== '' || isEmpty).map(({ name, value }) => [name, value]),
  ];
}

const withJson = (headers) => {
  const names = headers.map((line) => line.toLowerCase());
  const added = ['Content-Type: application/json', 'Accept: application/json'].filter(
    (line) => !names.some((name) => name.startsWith(line.slice(0, line.indexOf(':') + 1).toLowerCase())),
  );
  return [...headers, ...added];
};

function requestOf(options, given) {
  const url = parseUrl(given, options.globOff);
  const { body, type, isJson, method } = bodyOf(options);
  const credentials =
    options.user ?? (url.username === '' ? undefined : decodeURIComponent(`${url.username}:${url.password}`));
  url.username = url.password = '';
  const headers = [];
  if (credentials !== undefined) {
    const pair = credentials.includes(':') ? credentials : `${credentials}:`;
    headers.push(['Authorization', `Basic ${Buffer.from(pair).toString('base64')}`]);
  }
  if (options.bearer !== undefined) headers.push(['Authorization', `Bearer ${options.bearer}`]);
  if (options.range !== undefined) headers.push(['Range', `bytes=${options.range}`]);
  if (options.userAgent !== '') headers.push(['User-Agent', options.userAgent ?? `curl/${VERSION}`]);
  if (!isJson) headers.push(['Accept', '*/*']);
  if (options.compressed) headers.push(['Accept-Encoding', 'deflate, gzip, br']);
  if (options.referer) headers.push(['Referer', options.referer.replace(/;auto$/, '')]);
  if (options.cookies.length > 0) headers.push(['Cookie', options.cookies.join('; ')]);
  if (type !== undefined && !options.get && !isJson) headers.push(['Content-Type', type]);
  if (options.get && body !== undefined) url.search += `${url.search === '' ? '?' : '&'}${body}`;
  const usual = options.head ? 'HEAD' : options.get ? 'GET' : (method ?? 'GET');
  return {
    method: options.method ?? usual,
    url,
    headers: applyHeaders(headers, isJson ? withJson(options.headers) : options.headers),
    body: options.get ? undefined : body,
  };
}

// ---- output ----

function outputPath({ outputs, outputFolder }, index, url) {
  const output = outputs[index];
  if (output === undefined || output.file === '-') return undefined;
  const name = output.file ?? url.pathname.slice(url.pathname.lastIndexOf('/') + 1);
  if (name === '') throw new CurlError(23, 'Remote file name has no length!');
  return outputFolder === undefined ? name : join(outputFolder, name);
}

/** Writes to a file that is created with its first bytes, or to standard output. */
class Output {
  #fd;
  size = 0;

  constructor(path, createsFolders) {
    this.path = path;
    this.createsFolders = createsFolders;
  }
  write(bytes) {
    this.size += bytes.length;
    this.#put(bytes);
  }
  writeHead(text) {
    this.#put(Buffer.from(text, 'latin1'));
  }
  #put(bytes) {
    try {
      this.#fd ??= this.#open();
      for (let at = 0; at < bytes.length; ) at += writeSync(this.#fd, bytes, at);
    } catch (error) {
      if (error.code === 'EPIPE') throw new CurlError(23, 'Failed writing body');
      throw new CurlError(23, `Failure writing output to destination`);
    }
  }
  #open() {
    if (this.path === undefined) return 1;
    if (this.createsFolders && !existsSync(dirname(this.path)))
      mkdirSync(dirname(this.path), { recursive: true });
    return openSync(this.path, 'w');
  }
  /** A response without a body also creates the file. */
  finish() {
    if (this.#fd === undefined && this.path !== undefined) this.#put(Buffer.alloc(0));
    if (this.#fd > 2) closeSync(this.#fd);
  }
}

const headText = ({ status, reason, headers }) =>
  [`HTTP/1.1 ${status} ${reason}`, ...headers.map(([name, value]) => `${name}: ${value}`), '', ''].join(
    '\r\n',
  );

function showVerbose(request, response) {
  const path = `${request.url.pathname}${request.url.search}`;
  const sent = [
    `${request.method} ${path} HTTP/1.1`,
    `Host: ${request.url.host}`,
    ...request.headers.map(([name, value]) => `${name}: ${value}`),
    '',
  ];
  const received = headText(response).split('\r\n').slice(0, -1);
  process.stderr.write(
    [...sent.map((line) => `> ${line}\n`), ...received.map((line) => `< ${line}\n`)].join(''),
  );
}

const ESCAPES = { n: '\n', t: '\t', r: '\r' };

function writeOut(format, result) {
  const source = format.startsWith('@') ? readInput(format.slice(1)).toString() : format;
  const seconds = () => result.seconds.toFixed(6);
  const { response, request } = result;
  const location = response && headerOf(response, 'location');
  const values = {
    http_code: () => String(response?.status ?? 0).padStart(3, '0'),
    response_code: () => String(response?.status ?? 0).padStart(3, '0'),
    url_effective: () => request?.url.href ?? result.given,
    url: () => result.given,
    size_download: () => result.size,
    size_upload: () => request?.body?.length ?? 0,
    size_header: () => (response ? headText(response).length : 0),
    content_type: () => (response && headerOf(response, 'content-type')) ?? '',
    num_redirects: () => result.redirects,
    num_headers: () => response?.headers.length ?? 0,
    num_connects: () => (response ? 1 : 0),
    redirect_url: () =>
      location && response.status >= 300 && response.status < 400
        ? (URL.parse(location, request.url)?.href ?? '')
        : '',
    method: () => request?.method ?? '',
    scheme: () => request?.url.protocol.slice(0, -1).toUpperCase() ?? '',
    http_version: () => (response ? '1.1' : '0'),
    filename_effective: () => result.path ?? '',
    exitcode: () => result.failure?.code ?? 0,
    errormsg: () => result.failure?.message ?? '',
    ssl_verify_result: () => 0,
    speed_download: () => Math.round(result.size / Math.max(result.seconds, 0.000001)),
  };
  let stream = process.stdout;
  for (const [token, name, header, escaped] of source.matchAll(
    /%\{([\w]+)\}|%header\{([^}]*)\}|\\(.)|%%|[^%\\]+|./gs,
  )) {
    if (name === 'stderr' || name === 'stdout') stream = process[name];
    else if (name?.startsWith('time_')) stream.write(seconds());
    else if (name !== undefined) stream.write(String(values[name]?.() ?? ''));
    else if (header !== undefined) stream.write((response && headerOf(response, header.toLowerCase())) ?? '');
    else if (escaped !== undefined) stream.write(ESCAPES[escaped] ?? token);
    else stream.write(token === '%%' ? '%' : token);
  }
}

// ---- transfers ----

async function follow(options, context, state, output) {
  const endsMs = options.maxTime === undefined ? Infinity : state.startedMs + options.maxTime * 1000;
  const rules = { keepsMethod: options.method !== undefined, isTrusted: options.trusted };
  for (;;) {
    state.response = await send(state.request, { decode: options.compressed === true, endsMs });
    const { response } = state;
    if (options.verbose) showVerbose(state.request, response);
    if (options.dumpHeader !== undefined) context.head += headText(response);
    if (options.include || options.head) output.writeHead(headText(response));
    const next = options.follow ? redirected(state.request, response, rules) : undefined;
    if (next === undefined) return;
    response.body.close();
    if (state.redirects >= options.maxRedirects)
      throw new CurlError(47, `Maximum (${options.maxRedirects}) redirects followed`);
    if (!/^https?:$/.test(next.url.protocol))
      throw new CurlError(
        1,
        `Protocol "${next.url.protocol.slice(0, -1)}" not supported or disabled in libcurl`,
      );
    state.redirects++;
    state.request = next;
  }
}

async function receive(options, state, output) {
  const { response } = state;
  const isError = response.status >= 400;
  const failed = () => new CurlError(22, `The requested URL returned error: ${response.status}`);
  if (isError && options.fail) {
    response.body.close();
    throw failed();
  }
  if (state.request.method !== 'HEAD')
    for (let piece = await response.body.next(); piece !== undefined; piece = await response.body.next()) {
      output.write(piece);
      state.size += piece.length;
    }
  output.finish();
  if (isError && options.failWithBody) throw failed();
}

const isTransient = ({ failure, response }) =>
  failure?.code === 28 || [408, 429, 500, 502, 503, 504].includes(response?.status);

async function attempt(options, context, { given, index }) {
  const state = { given, startedMs: performance.now(), redirects: 0, size: 0 };
  const elapsed = () => performance.now() - state.startedMs;
  try {
    state.request = requestOf(options, given);
    state.path = outputPath(options, index, state.request.url);
    const output = new Output(state.path, options.createFolders);
    await follow(options, context, state, output);
    await receive(options, state, output);
  } catch (error) {
    const ms = Math.round(elapsed());
    state.failure = failureOf(error, { url: state.request?.url, ms, received: state.size });
  }
  state.seconds = elapsed() / 1000;
  return state;
}

function report({ silent, showError }, { code, message, isShown }) {
  if (!silent || showError || isShown) process.stderr.write(`curl: (${code}) ${message}\n`);
}

async function transfer(options, context, source) {
  for (
    let left = options.retry ?? 0, delay = options.retryDelay || 1;
    ;
    left--, delay = options.retryDelay || delay * 2
  ) {
    const state = await attempt(options, context, source);
    const { failure } = state;
    if (left > 0 && isTransient(state)) {
      await new Promise((resolve) => setTimeout(resolve, delay * 1000));
      continue;
    }
    if (failure !== undefined) report(options, failure);
    if (options.writeOut !== undefined) writeOut(options.writeOut, state);
    return failure?.code ?? 0;
  }
}

async function run(words) {
  const options = readOptions(words);
  if (options.version) return void process.stdout.write(`curl ${VERSION} (sandbox)\nProtocols: http https\n`);
  if (options.help) return void process.stdout.write(HELP);
  if (options.urls.length === 0) throw new CurlError(2, 'no URL specified!');
  const context = { head: '' };
  let code = 0;
  for (const [index, given] of options.urls.entries())
    code = await transfer(options, context, { given, index });
  if (options.dumpHeader !== undefined)
    writeFileSync(options.dumpHeader === '-' ? 1 : options.dumpHeader, context.head);
  return code;
}

/** Runs a command line and ends the process. */
export async function main(words) {
  try {
    process.exit((await run(words)) ?? 0);
  } catch (error) {
    if (!(error instanceof CurlError)) throw error;
    process.stderr.write(`curl: ${error.message}\n${error.code === 2 ? TRY : ''}`);
    process.exit(error.code);
  }
}
