/** The module `url`: URL and URLSearchParams, and the older functions parse, format and resolve. */
import { URL, URLSearchParams } from '../url.js';
import { codedError, invalidArgType, unavailable, validateString } from './internal/errors.js';
import punycode from './punycode.js';
import querystring from './querystring.js';

const WITH_SLASHES = new Set(
  ['http', 'https', 'ftp', 'file', 'ws', 'wss', 'gopher'].flatMap((name) => [name, `${name}:`]),
);
const FIELDS = 'protocol slashes auth host port hostname hash search query pathname path href'.split(' ');

export class Url {
  constructor() {
    for (const name of FIELDS) this[name] = null;
  }
  parse(text, parseQuery = false, slashesDenoteHost = false) {
    return Object.assign(this, parse(text, parseQuery, slashesDenoteHost));
  }
  format() {
    return formatLegacy(this);
  }
  resolve(relative) {
    return resolve(this.href, relative);
  }
}

const escapeSpecial = (text) =>
  text.replace(/[\t\n\r "'<>\\^`{|}]/g, (char) =>
    char === '\\'
      ? '/'
      : encodeURIComponent(char) === char
        ? `%${char.charCodeAt(0).toString(16).toUpperCase()}`
        : encodeURIComponent(char),
  );

export function parse(text, parseQuery = false, slashesDenoteHost = false) {
  if (text instanceof Url) return text;
  validateString(text, 'url');
  const url = new Url();
  let rest = text.trim();
  const hashAt = rest.indexOf('#');
  if (hashAt >= 0) {
    url.hash = rest.slice(hashAt);
    rest = rest.slice(0, hashAt);
  }
  const scheme = /^[a-z][a-z0-9+.-]*:/i.exec(rest)?.[0];
  if (scheme !== undefined) {
    url.protocol = scheme.toLowerCase();
    rest = rest.slice(scheme.length);
  }
  const hasSlashes = rest.startsWith('//');
  if (hasSlashes && (scheme !== undefined || slashesDenoteHost) && scheme !== 'javascript:') {
    url.slashes = true;
    rest = rest.slice(2);
    const end = rest.search(/[/?]/);
    let authority = end < 0 ? rest : rest.slice(0, end);
    rest = end < 0 ? '' : rest.slice(end);
    const at = authority.lastIndexOf('@');
    if (at >= 0) {
      url.auth = decodeURIComponent(authority.slice(0, at));
      authority = authority.slice(at + 1);
    }
    const port = /:(\d*)$/.exec(authority);
    if (port !== null) {
      if (port[1] !== '') url.port = port[1];
      authority = authority.slice(0, port.index);
    }
    url.hostname = authority.toLowerCase().replace(/^\[(.*)\]$/, '$1');
    if (/[^\x20-\x7e]/.test(url.hostname)) url.hostname = new URL(`http://${url.hostname}`).hostname;
    url.host =
      (authority.startsWith('[') ? `[${url.hostname}]` : url.hostname) +
      (url.port === null ? '' : `:${url.port}`);
    if (rest === '' && WITH_SLASHES.has(url.protocol)) rest = '/';
    else if (rest.startsWith('?') && WITH_SLASHES.has(url.protocol)) rest = `/${rest}`;
  }
  rest = escapeSpecial(rest);
  const queryAt = rest.indexOf('?');
  if (queryAt >= 0) {
    url.search = rest.slice(queryAt);
    url.query = rest.slice(queryAt + 1);
    rest = rest.slice(0, queryAt);
  } else if (parseQuery) {
    url.search = null;
    url.query = '';
  }
  if (parseQuery) url.query = querystring.parse(url.query ?? '');
  if (rest !== '') url.pathname = rest;
  if (url.pathname !== null || url.search !== null) url.path = (url.pathname ?? '') + (url.search ?? '');
  url.href = formatLegacy(url);
  return url;
}

function formatLegacy(url) {
  const auth = url.auth ? `${encodeURIComponent(url.auth).replace(/%3A/i, ':')}@` : '';
  let protocol = url.protocol ?? '';
  if (protocol !== '' && !protocol.endsWith(':')) protocol += ':';
  let host = '';
  if (url.host) host = auth + url.host;
  else if (url.hostname) {
    host =
      auth +
      (url.hostname.includes(':') && !url.hostname.startsWith('[') ? `[${url.hostname}]` : url.hostname);
    if (url.port) host += `:${url.port}`;
  }
  const query = url.query !== null && typeof url.query === 'object' ? querystring.stringify(url.query) : '';
  let search = url.search || (query && `?${query}`) || '';
  let pathname = url.pathname ?? '';
  if (url.slashes || ((protocol === '' || WITH_SLASHES.has(protocol)) && host !== '')) {
    host = `//${host}`;
    if (pathname !== '' && !pathname.startsWith('/')) pathname = `/${pathname}`;
  }
  let hash = url.hash ?? '';
  if (hash !== '' && !hash.startsWith('#')) hash = `#${hash}`;
  if (search !== '' && !search.startsWith('?')) search = `?${search}`;
  return (
    protocol + host + pathname.replace(/[?#]/g, encodeURIComponent) + search.replaceAll('#', '%23') + hash
  );
}

export function format(url, options = {}) {
  if (typeof url === 'string') return formatLegacy(parse(url));
  if (typeof url !== 'object' || url === null) throw invalidArgType('urlObject', ['Object', 'string'], url);
  if (!(url instanceof URL)) return formatLegacy(url);
  const { fragment = true, search = true, auth = true, unicode = false } = options;
  const copy = new URL(url.href);
  if (!fragment) copy.hash = '';
  if (!search) copy.search = '';
  if (!auth) [copy.username, copy.password] = ['', ''];
  return unicode ? copy.href.replace(copy.hostname, domainToUnicode(copy.hostname)) : copy.href;
}

export function resolve(from, to) {
  const isRelative = !/^[a-z][a-z0-9+.-]*:/i.test(from);
  const base = new URL(from, 'resolve://x/');
  if (isRelative && from.startsWith('//')) return new URL(to, `http:${from}`).href.replace(/^http:/, '');
  const found = new URL(to, base);
  if (found.protocol !== 'resolve:') return found.href.replace(/^(\w+:\/\/[^/?#]+)$/, '$1/');
  const path = found.pathname + found.search + found.hash;
  return from.startsWith('/') || to.startsWith('/') ? path : path.replace(/^\//, '');
}

const missingArgument = (name) =>
  codedError(TypeError, 'ERR_MISSING_ARGS', `The "${name}" argument must be specified`);

export function domainToASCII(...args) {
  if (args.length === 0) throw missingArgument('domain');
  try {
    return new URL(`ws://${args[0]}`).hostname;
  } catch {
    return '';
  }
}
export function domainToUnicode(...args) {
  if (args.length === 0) throw missingArgument('domain');
  try {
    return punycode.toUnicode(domainToASCII(args[0]));
  } catch {
    return '';
  }
}

function refuseWindows(name, options) {
  if (!options?.windows) return;
  throw unavailable(
    `${name} with the option windows is not available in the sandbox. Use a path with slashes.`,
  );
}

export function fileURLToPath(input, options = undefined) {
  refuseWindows('fileURLToPath', options);
  const url = typeof input === 'string' ? new URL(input) : input;
  if (typeof url !== 'object' || url === null || url.href === undefined)
    throw invalidArgType('path', ['string', 'URL'], input);
  if (url.protocol !== 'file:')
    throw codedError(TypeError, 'ERR_INVALID_URL_SCHEME', 'The URL must be of scheme file');
  if (url.hostname !== '')
    throw codedError(
      TypeError,
      'ERR_INVALID_FILE_URL_HOST',
      'File URL host must be "localhost" or empty on linux',
    );
  if (/%2f/i.test(url.pathname))
    throw codedError(
      TypeError,
      'ERR_INVALID_FILE_URL_PATH',
      'File URL path must not include encoded / characters',
    );
  return decodeURIComponent(url.pathname);
}

const encodePath = (path, characters) =>
  path.replace(characters, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`);

export function pathToFileURL(path, options = undefined) {
  validateString(path, 'path');
  refuseWindows('pathToFileURL', options);
  const full = path.startsWith('/') ? path : `${globalThis.process.cwd()}/${path}`;
  const url = new URL('file:///');
  url.pathname = encodePath(full, /[%\\\n\r\t?#]/g);
  return url;
}

export const urlToHttpOptions = (url) => ({
  __proto__: null,
  // Properties of the program, such as those of a copied URL.
  ...url,
  protocol: url.protocol,
  hostname: url.hostname?.replace(/^\[(.*)\]$/, '$1'),
  hash: url.hash,
  search: url.search,
  pathname: url.pathname,
  path: `${url.pathname ?? ''}${url.search ?? ''}`,
  href: url.href,
  ...(url.port !== '' && url.port !== undefined && { port: Number(url.port) }),
  ...((url.username || url.password) && {
    auth: `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`,
  }),
});

export default {
  Url,
  parse,
  resolve,
  resolveObject: (from, to) => parse(resolve(from, to)),
  format,
  URL,
  URLSearchParams,
  domainToASCII,
  domainToUnicode,
  pathToFileURL,
  fileURLToPath,
  urlToHttpOptions,
};
