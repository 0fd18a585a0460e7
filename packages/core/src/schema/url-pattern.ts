/**
 * URL patterns of network rules, such as `https://*.example.com/v1/*`. A URL is parsed once, here. Rules, questions, records and
 * connections use the result, which every other parser reads in the same way. A pattern never matches more than it says: the
 * scheme, the port and the host are exact unless a wildcard is written.
 */

/** A pattern that was parsed. */
export interface UrlPattern {
  readonly text: string;
  readonly scheme: 'http:' | 'https:';
  /** The host as it appears in parsed URLs. For `*.example.com`, it is `example.com`; for `*`, it is empty. */
  readonly host: string;
  readonly hosts: 'exact' | 'subdomains' | 'any';
  readonly port: string;
  /** The parts of the path between wildcards; undefined if every path matches. */
  readonly path: readonly string[] | undefined;
}

/** A URL in the form that is matched and sent. */
export interface CheckedUrl {
  readonly scheme: 'http:' | 'https:';
  /** A name in lower case, or an address in its usual notation; IPv6 addresses have brackets. */
  readonly host: string;
  readonly port: string;
  readonly path: string;
  /** The path as a server may read it. */
  readonly decodedPath: string;
  /** The query with its question mark, or empty. */
  readonly query: string;
}

const PATTERN = /^(https?):\/\/([^/?#]*)(\/.*)?$/is;
const PORT_AT_END = /:(\d{1,5})$/;
/** Characters that the parser removes or changes. */
const HIDDEN = /[\p{Cc} \\]/u;
const AUTHORITY = /^https?:\/\/([^/?#]*)/i;
const NOT_HTTP = /^(?!https?:)[a-z][\w+.-]*:/i;
const MAX_DECODINGS = 8;
const UNRESERVED = /^[\w.~-]$/;
/** A name without an empty part, or the usual notation of an address. */
const HOST = /^(?:\[[\da-f:]+\]|(?!.{254})[\w-]{1,63}(?:\.[\w-]{1,63})*)$/;
const DEFAULT_PORTS = { 'http:': '80', 'https:': '443' } as const;
export const MAX_URL_CHARACTERS = 8192;

/**
 * Decodes the characters that need no encoding, and writes other encodings in upper case (RFC 3986, section 6.2.2). A percent sign
 * that begins no encoding is encoded, so that decoding around it cannot produce one.
 */
function canonicalPath(path: string): string {
  return path.replace(/%([\da-f]{2})?/gi, (encoded, hex?: string) => {
    if (hex === undefined) return '%25';
    const character = String.fromCharCode(Number.parseInt(hex, 16));
    return UNRESERVED.test(character) ? character : encoded.toUpperCase();
  });
}

/** Decodes a path several times, and reads backslashes as slashes, as some servers do. */
function decodePath(path: string): string {
  let read = path;
  for (let i = 0; i < MAX_DECODINGS && read.includes('%'); i++)
    read = read.replace(/%([\da-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return read.replaceAll('\\', '/');
}

function parse(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

/**
 * The host of a URL without the dot that ends a fully qualified name. Undefined if it is not canonical: other parsers, or the
 * resolver, could take it for another host.
 */
function canonicalHost(url: URL | undefined): string | undefined {
  const host = url?.hostname.replace(/\.$/, '') ?? '';
  return HOST.test(host) && parse(`http://${host}/`)?.hostname === host ? host : undefined;
}

/** Parses a URL that a program requests. Returns what is wrong with it as a clause. */
export function checkUrl(text: string): CheckedUrl | string {
  if (text.length > MAX_URL_CHARACTERS) return `it is longer than ${MAX_URL_CHARACTERS} characters`;
  // The parser would remove these characters, so that a URL that looks refused would be sent.
  if (HIDDEN.test(text)) return 'it contains a blank, a backslash or a control character';
  if (NOT_HTTP.test(text)) return 'only http: and https: are supported';
  const authority = AUTHORITY.exec(text)?.[1];
  if (authority === undefined) return 'it is not a valid URL: it must begin with https:// or http://';
  if (authority.includes('@'))
    return 'it contains a user name or a password; send the header Authorization instead';
  const url = parse(text);
  if (authority === '' || url === undefined) return 'it is not a valid URL';
  const host = canonicalHost(url);
  if (host === undefined) return 'its host is neither a valid name nor an address';
  const scheme = url.protocol as CheckedUrl['scheme'];
  const path = canonicalPath(url.pathname);
  return {
    scheme,
    host,
    port: url.port === '' ? DEFAULT_PORTS[scheme] : url.port,
    path,
    decodedPath: decodePath(path),
    query: url.search,
  };
}

/** The host and the port, without a port that is the default. */
export const authorityOf = ({ scheme, host, port }: CheckedUrl) =>
  port === DEFAULT_PORTS[scheme] ? host : `${host}:${port}`;

export const originOf = (url: CheckedUrl) => `${url.scheme}//${authorityOf(url)}`;

export const hrefOf = (url: CheckedUrl) => `${originOf(url)}${url.path}${url.query}`;

/** A URL as it is sent, for persons and records; as it is if it cannot be sent. */
export function sentUrl(text: string): string {
  const url = checkUrl(text);
  return typeof url === 'string' ? text : hrefOf(url);
}

interface PatternHost extends Pick<UrlPattern, 'host' | 'hosts' | 'port'> {}

function parseHost(scheme: UrlPattern['scheme'], authority: string): PatternHost | string {
  if (authority.includes('@')) return 'must not contain a user name or a password';
  const port = PORT_AT_END.exec(authority)?.[1];
  const name = port === undefined ? authority : authority.slice(0, -port.length - 1);
  if (Number(port ?? 1) < 1 || Number(port ?? 1) > 65_535) return 'must have a port from 1 to 65535';
  const written = port === undefined ? DEFAULT_PORTS[scheme] : String(Number(port));
  if (name === '*') return { host: '', hosts: 'any', port: written };
  const isWild = name.startsWith('*.');
  const rest = isWild ? name.slice(2) : name;
  if (rest.includes('*'))
    return 'may have a wildcard only as the whole host or as its first label, as in *.example.com';
  const host = /[\s\\%]/.test(rest) ? undefined : canonicalHost(parse(`${scheme}//${rest}/`));
  if (host === undefined) return 'must have a valid host';
  if (isWild && (/^[\d.]+$/.test(host) || host.startsWith('[')))
    return 'must not have a wildcard before an address';
  return { host, hosts: isWild ? 'subdomains' : 'exact', port: written };
}

/** Parses a pattern. Returns what is wrong with it as a clause. */
export function parseUrlPattern(text: string): UrlPattern | string {
  const match = PATTERN.exec(text);
  if (match === null) return 'must begin with https:// or http://, as in https://api.example.com/v1/*';
  const scheme = `${match[1]!.toLowerCase()}:` as UrlPattern['scheme'];
  const host = parseHost(scheme, match[2]!);
  if (typeof host === 'string') return host;
  const written = match[3];
  if (written === undefined) return { text, scheme, ...host, path: undefined };
  if (/[?#]/.test(written)) return 'must not contain ? or #: rules match paths, with any query';
  if (HIDDEN.test(written)) return 'must not contain a blank, a backslash or a control character';
  const path = canonicalPath(new URL(`${scheme}//host${written}`).pathname);
  return { text, scheme, ...host, path: path === '/*' ? undefined : path.split('*') };
}

function matchesHost({ hosts, host }: UrlPattern, given: string): boolean {
  if (hosts === 'any') return true;
  return hosts === 'exact' ? given === host : given.endsWith(`.${host}`);
}

/** Whether a text consists of these parts with anything between them. */
function matchesParts(parts: readonly string[], text: string): boolean {
  const [first, ...rest] = parts as [string, ...string[]];
  const last = rest.pop();
  if (last === undefined) return text === first;
  if (!text.startsWith(first) || text.length < first.length + last.length || !text.endsWith(last))
    return false;
  let from = first.length;
  for (const part of rest) {
    const at = text.indexOf(part, from);
    if (at < 0) return false;
    from = at + part.length;
  }
  return from <= text.length - last.length;
}

/** A path that some servers resolve to another one: with dot segments that are encoded or have parameters. */
const isAmbiguous = ({ decodedPath }: CheckedUrl) =>
  /(?:^|\/)\.\.?(?:;[^/]*)?(?:\/|$)|%[\da-f]{2}/i.test(decodedPath);

const isAt = (pattern: UrlPattern, { scheme, host, port }: CheckedUrl) =>
  pattern.scheme === scheme && pattern.port === port && matchesHost(pattern, host);

/** Whether a rule permits a URL. A rule for some paths permits no path that servers could resolve to another one. */
export function permits(pattern: UrlPattern, url: CheckedUrl): boolean {
  if (!isAt(pattern, url)) return false;
  if (pattern.path === undefined) return true;
  return !isAmbiguous(url) && matchesParts(pattern.path, url.path);
}

/** Whether a rule forbids a URL. It also forbids other spellings of its paths. */
export function forbids(pattern: UrlPattern, url: CheckedUrl): boolean {
  if (!isAt(pattern, url)) return false;
  if (pattern.path === undefined) return true;
  // Some servers ignore parameters of segments, and empty segments.
  const plain = url.decodedPath.replace(/;[^/]*/g, '');
  const forms = [
    url.path,
    ...[url.decodedPath, plain].flatMap((form) => [form, form.replace(/\/{2,}/g, '/')]),
  ];
  return isAmbiguous(url) || forms.some((form) => matchesParts(pattern.path!, form));
}

/** Whether every URL that the first pattern permits is also permitted by the second. */
export function isNarrower(inner: UrlPattern, outer: UrlPattern): boolean {
  if (inner.scheme !== outer.scheme || inner.port !== outer.port) return false;
  const isHostWithin =
    outer.hosts === 'any' ||
    (outer.hosts === 'exact'
      ? inner.hosts === 'exact' && inner.host === outer.host
      : inner.hosts !== 'any' &&
        (inner.host.endsWith(`.${outer.host}`) ||
          (inner.hosts === 'subdomains' && inner.host === outer.host)));
  if (!isHostWithin) return false;
  if (outer.path === undefined) return true;
  // A wildcard of the inner pattern is text that only a wildcard of the outer one matches.
  return inner.path !== undefined && matchesParts(outer.path, inner.path.join('*'));
}
