/** The command wget. Its options, files and exit codes are those of GNU Wget; the host sends the requests. */
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeSync } from '../../fs.js';
import { join } from '../../path.js';
import { headerOf, redirected, send } from './http-transfer.js';

const EXIT = { generic: 1, usage: 2, io: 3, network: 4, tls: 5, login: 6, server: 8 };
const USAGE = "Usage: wget [OPTION]... [URL]...\n\nTry `wget --help' for more options.\n";
const MAX_REDIRECTS = 20;

class WgetError extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

const set = (field) => (options) => Object.assign(options, { [field]: true });
const FLAGS = {
  q: set('quiet'),
  quiet: set('quiet'),
  nv: set('brief'),
  'no-verbose': set('brief'),
  S: set('showsHead'),
  'server-response': set('showsHead'),
  spider: set('spider'),
  nc: set('noClobber'),
  'no-clobber': set('noClobber'),
  'content-on-error': set('contentOnError'),
  'auth-no-challenge': set('isEager'),
  c: set(''),
  continue: set(''),
  v: set(''),
  verbose: set(''),
  4: set(''),
  6: set(''),
  'inet4-only': set(''),
  'inet6-only': set(''),
  'show-progress': set(''),
  'no-cache': set(''),
};
const VALUES = {
  O: 'output',
  'output-document': 'output',
  P: 'folder',
  'directory-prefix': 'folder',
  U: 'agent',
  'user-agent': 'agent',
  T: 'timeout',
  timeout: 'timeout',
  'read-timeout': 'timeout',
  t: 'tries',
  tries: 'tries',
  header: 'headers',
  'post-data': 'data',
  'post-file': 'file',
  'body-data': 'data',
  'body-file': 'file',
  method: 'method',
  user: 'user',
  'http-user': 'user',
  password: 'password',
  'http-password': 'password',
  referer: 'referer',
  i: 'list',
  'input-file': 'list',
  'max-redirect': 'redirects',
  progress: '',
};
const REFUSED = {
  'no-check-certificate': 'certificates are always verified by the host of the sandbox. Leave the option out',
  r: 'recursive retrieval is not supported',
  recursive: 'recursive retrieval is not supported',
  m: 'recursive retrieval is not supported',
  mirror: 'recursive retrieval is not supported',
};

function setOption(options, name, next) {
  if (Object.hasOwn(REFUSED, name)) throw new WgetError(EXIT.usage, `${name}: ${REFUSED[name]}`);
  if (Object.hasOwn(FLAGS, name)) return FLAGS[name](options);
  const shown = name.length > 1 ? `option '--${name}'` : `option -- '${name}'`;
  if (!Object.hasOwn(VALUES, name))
    throw new WgetError(EXIT.usage, name.length > 1 ? `unrecognized ${shown}` : `invalid ${shown}`);
  const value = next();
  if (value === undefined) throw new WgetError(EXIT.usage, `${shown} requires an argument`);
  const field = VALUES[name];
  if (field === 'headers') options.headers.push(value);
  else options[field] = value;
  if (name.startsWith('post-')) options.method ??= 'POST';
}

function readShort(options, letters, rest) {
  for (let i = 0; i < letters.length; i++) {
    const two = letters.slice(i, i + 2);
    const name = ['nv', 'nc'].includes(two) ? two : letters[i];
    i += name.length - 1;
    if (!Object.hasOwn(VALUES, name)) setOption(options, name);
    else {
      const attached = letters.slice(i + 1);
      return setOption(options, name, () => (attached === '' ? rest.shift() : attached));
    }
  }
}

function readOptions(words) {
  const options = { headers: [], urls: [], redirects: MAX_REDIRECTS };
  const rest = [...words];
  while (rest.length > 0) {
    const word = rest.shift();
    if (word.startsWith('--')) {
      const [name, value] = word.slice(2).split(/=(.*)/s);
      setOption(options, name, () => value ?? rest.shift());
    } else if (word.startsWith('-') && word !== '-') readShort(options, word.slice(1), rest);
    else options.urls.push(word);
  }
  if (options.list)
    options.urls.push(
      ...readFileSync(options.list === '-' ? 0 : options.list, 'utf8')
        .split('\n')
        .filter(Boolean),
    );
  if (options.urls.length === 0) {
    const missing = new WgetError(EXIT.generic, `wget: missing URL\n${USAGE.trimEnd()}`);
    missing.isShown = true;
    throw missing;
  }
  return options;
}

/** The request with a name and a password. They are sent only when a server asks for them. */
const withLogin = (request, login) =>
  login === undefined
    ? request
    : { ...request, login: undefined, headers: [...request.headers, ['Authorization', `Basic ${login}`]] };

const wantsLogin = (response) =>
  response.status === 401 && /^basic\b/i.test(headerOf(response, 'www-authenticate') ?? '');

function requestOf(options, given) {
  const text = /^[a-z][\w+.-]*:\/\//i.test(given) ? given : `http://${given}`;
  if (!URL.canParse(text)) throw new WgetError(EXIT.generic, `${given}: Invalid host name.`);
  const url = new URL(text);
  if (!/^https?:$/.test(url.protocol))
    throw new WgetError(EXIT.generic, `${given}: Unsupported scheme ‘${url.protocol.slice(0, -1)}’.`);
  const user = options.user ?? decodeURIComponent(url.username);
  const password = options.password ?? decodeURIComponent(url.password);
  url.username = url.password = '';
  const body = options.file
    ? readFileSync(options.file)
    : options.data === undefined
      ? undefined
      : Buffer.from(options.data);
  const own = options.headers.map((line) => [
    line.slice(0, line.indexOf(':')).trim(),
    line.slice(line.indexOf(':') + 1).trim(),
  ]);
  const names = own.map(([name]) => name.toLowerCase());
  const headers = [
    ['User-Agent', options.agent ?? 'Wget/1.21.3'],
    ['Accept', '*/*'],
    ['Accept-Encoding', 'identity'],
    ...(options.referer ? [['Referer', options.referer]] : []),
    ...(body === undefined ? [] : [['Content-Type', 'application/x-www-form-urlencoded']]),
  ].filter(([name]) => !names.includes(name.toLowerCase()));
  const method = options.method ?? (options.spider ? 'HEAD' : 'GET');
  const login = user === '' ? undefined : Buffer.from(`${user}:${password}`).toString('base64');
  const request = { method, url, headers: [...headers, ...own], body };
  return options.isEager ? withLogin(request, login) : { ...request, login };
}

/** A part of a URL as the name of a file: decoded, except for what would lead to another folder or cannot be shown. */
function fileName(text) {
  const bytes = text.replace(/%([\da-f]{2})/gi, (_, code) => String.fromCharCode(parseInt(code, 16)));
  return Buffer.from(bytes, 'latin1')
    .toString()
    .replace(/[/\p{Cc}]/gu, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`);
}

function targetOf(options, url) {
  if (options.output !== undefined) return options.output;
  const name = fileName(url.pathname.slice(url.pathname.lastIndexOf('/') + 1)) || 'index.html';
  const folder = options.folder ?? '';
  if (folder !== '') mkdirSync(folder, { recursive: true });
  const path = join(folder, `${name}${fileName(url.search)}`);
  if (!existsSync(path) || options.noClobber) return path;
  let number = 1;
  while (existsSync(`${path}.${number}`)) number++;
  return `${path}.${number}`;
}

const FAILED = {
  dns: ({ hostname }) => [EXIT.network, `wget: unable to resolve host address ‘${hostname}’`],
  connect: () => [EXIT.network, 'failed: Connection refused.'],
  timeout: () => [EXIT.network, 'Read error (Connection timed out) in headers.'],
  reset: () => [EXIT.network, 'No data received.'],
  invalid: (_, message) => [EXIT.generic, message],
  tls: (_, message) => [EXIT.tls, `ERROR: cannot verify the certificate: ${message}`],
};

function failureOf(error, url) {
  if (error instanceof WgetError) return error;
  const { kind, message } = error;
  if (kind === undefined) return new WgetError(EXIT.io, message);
  const [code, text] = FAILED[kind]?.(url, message) ?? [EXIT.network, `wget: ${message}`];
  const failure = new WgetError(code, text);
  failure.isShown = FAILED[kind] === undefined;
  return failure;
}

const now = () => new Date().toISOString().slice(0, 19).replace('T', ' ');

async function follow(options, first, log) {
  const endsMs = options.timeout > 0 ? performance.now() + Number(options.timeout) * 1000 : Infinity;
  let request = first;
  for (let left = Number(options.redirects); ; left--) {
    const response = await send(request, { endsMs });
    log(`HTTP request sent, awaiting response... ${response.status} ${response.reason}\n`);
    if (options.showsHead)
      process.stderr.write(
        `  HTTP/1.1 ${response.status} ${response.reason}\n${response.headers.map(([name, value]) => `  ${name}: ${value}\n`).join('')}`,
      );
    if (request.login !== undefined && wantsLogin(response)) {
      response.body.close();
      request = withLogin(request, request.login);
      continue;
    }
    const next = redirected(request, response);
    if (next === undefined) return { request, response };
    response.body.close();
    log(`Location: ${headerOf(response, 'location')} [following]\n`);
    if (left <= 0) throw new WgetError(EXIT.server, `${options.redirects} redirections exceeded.`);
    request = next.url.origin === request.url.origin ? next : { ...next, login: undefined };
    log(`--${now()}--  ${request.url.href}\n`);
  }
}

/** Opens a file. All documents are written to that of -O, which exists even if there are none. */
function open(options, target) {
  if (options.output === undefined) return openSync(target, 'w');
  options.fd ??= target === '-' ? 1 : openSync(target, 'w');
  return options.fd;
}

async function save(options, response, target) {
  const fd = open(options, target);
  let size = 0;
  for (let piece = await response.body.next(); piece !== undefined; piece = await response.body.next()) {
    for (let at = 0; at < piece.length; ) at += writeSync(fd, piece, at);
    size += piece.length;
  }
  if (fd !== options.fd) closeSync(fd);
  return size;
}

/** The failure of a request that the server rejects. */
function rejected({ spider, brief }, { url }, { status, reason }) {
  if (status === 401) return new WgetError(EXIT.login, 'Username/Password Authentication Failed.');
  const problem = spider
    ? 'Remote file does not exist -- broken link!!!'
    : `${now()} ERROR ${status}: ${reason}.`;
  return new WgetError(EXIT.server, brief ? `${url.href}:\n${problem}` : problem);
}

function reportFound({ brief }, { url }, { status, reason }, log) {
  if (brief) process.stderr.write(`${now()} URL: ${url.href} ${status} ${reason}\n`);
  else log('Remote file exists.\n\n');
}

async function download(options, given) {
  const log = (text) => {
    if (!options.quiet && !options.brief) process.stderr.write(text);
  };
  const request = requestOf(options, given);
  try {
    const target = targetOf(options, request.url);
    if (options.output !== undefined) open(options, target);
    if (options.noClobber && options.output === undefined && existsSync(target)) return;
    log(`--${now()}--  ${request.url.href}\n`);
    const { response, request: last } = await follow(options, request, log);
    const isError = response.status >= 400;
    if (isError && !options.contentOnError) {
      response.body.close();
      throw rejected(options, last, response);
    }
    if (options.spider) return void reportFound(options, last, response, log);
    const length = headerOf(response, 'content-length');
    const type = headerOf(response, 'content-type');
    log(
      `Length: ${length ?? 'unspecified'}${type === undefined ? '' : ` [${type}]`}\nSaving to: ‘${target === '-' ? 'STDOUT' : target}’\n\n`,
    );
    const size = response.status === 204 ? 0 : await save(options, response, target);
    log(
      `${now()} - ${target === '-' ? 'written to stdout' : `‘${target}’ saved`} [${size}${length ? `/${length}` : ''}]\n\n`,
    );
    if (options.brief)
      process.stderr.write(
        `${now()} URL:${last.url.href} [${size}${length ? `/${length}` : ''}] -> "${target}" [1]\n`,
      );
    if (isError) throw new WgetError(EXIT.server, '');
  } catch (error) {
    throw failureOf(error, request.url);
  }
}

/** Runs a command line and ends the process with the exit code of the first failure. */
export async function main(words) {
  let code = 0;
  let options = {};
  const fail = (error) => {
    if (!(error instanceof WgetError)) throw error;
    code ||= error.code;
    if (error.message !== '' && (!options.quiet || error.isShown || error.code === EXIT.usage))
      process.stderr.write(
        error.code === EXIT.usage ? `wget: ${error.message}\n${USAGE}` : `${error.message}\n`,
      );
  };
  try {
    options = readOptions(words);
    for (const given of options.urls) await download(options, given).catch(fail);
  } catch (error) {
    fail(error);
  }
  process.exit(code);
}
