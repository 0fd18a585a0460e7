/**
 * URL patterns of network rules, such as `https://*.example.com/v1/*`. URLs and patterns are compared in the form in which they are
 * sent: parsed by the same parser, with the same encoding. A pattern never matches more than it says: the scheme, the port and
 * the host are exact unless a wildcard is written.
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
  readonly host: string;
  readonly port: string;
  readonly path: string;
  /** The query with its question mark, or empty. */
  readonly query: string;
}

const PATTERN = /^(https?):\/\/([^/?#]*)(\/.*)?$/is;
const PORT_AT_END = /:(\d{1,5})$/;
/** Characters that the parser removes or changes. */
const HIDDEN = /[\p{Cc} \\]/u;
const UNRESERVED = /^[\w.~-]$/;
const DEFAULT_PORTS = { 'http:': '80', 'https:': '443' } as const;
export const MAX_URL_CHARACTERS = 8192;

/** Decodes the characters that need no encoding, and writes other encodings in upper case (RFC 3986, section 6.2.2). */
function canonicalPath(path: string): string {
  return path.replace(/%([\da-f]{2})/gi, (encoded, hex: string) => {
    const character = String.fromCharCode(Number.parseInt(hex, 16));
    return UNRESERVED.test(character) ? character : encoded.toUpperCase();
  });
}

/** The host of a URL without the dot that ends a fully qualified name. */
const plainHost = (hostname: string) => hostname.replace(/\.$/, '');

function parse(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

/** Parses a URL that a program requests. Returns what is wrong with it as a clause. */
export function checkUrl(text: string): CheckedUrl | string {
  if (text.length > MAX_URL_CHARACTERS) return `it is longer than ${MAX_URL_CHARACTERS} characters`;
  // The parser would remove these characters, so that a URL that looks refused would be sent.
  if (HIDDEN.test(text)) return 'it contains a blank, a backslash or a control character';
  let url = parse(text);
  if (url === undefined) return 'it is not a valid URL';
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return 'only http: and https: are supported';
  if (url.username !== '' || url.password !== '' || /^\w+:\/\/[^/?#]*@/.test(text))
    return 'it contains a user name or a password; send the header Authorization instead';
  // Decoding can produce dot segments, which the parser then removes.
  const path = canonicalPath(url.pathname);
  if (path !== url.pathname) url = new URL(`${url.origin}${path}${url.search}`);
  const host = plainHost(url.hostname);
  if (host === '') return 'it has no host';
  return {
    scheme: url.protocol as CheckedUrl['scheme'],
    host,
    port: url.port === '' ? DEFAULT_PORTS[url.protocol as CheckedUrl['scheme']] : url.port,
    path: canonicalPath(url.pathname),
    query: url.search,
  };
}

/** The scheme, host and port, without a port that is the default. */
export function originOf({ scheme, host, port }: Pick<CheckedUrl, 'scheme' | 'host' | 'port'>): string {
  return `${scheme}//${host}${port === DEFAULT_PORTS[scheme] ? '' : `:${port}`}`;
}

export const hrefOf = (url: CheckedUrl) => `${originOf(url)}${url.path}${url.query}`;

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
  const parsed = /[\s\\%]/.test(rest) ? undefined : parse(`${scheme}//${rest}/`);
  const host = plainHost(parsed?.hostname ?? '');
  if (host === '') return 'must have a valid host';
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

/** A path as a server may read it: with encoded slashes decoded. */
const readPath = (path: string) => path.replace(/%(?:25)*(?:2F|5C)/gi, '/').replace(/%(?:25)+2E/gi, '.');
/** A path that some servers resolve to another one: with dot segments that are encoded or have parameters. */
const isAmbiguous = (path: string) => /(?:^|\/)\.\.?(?:;[^/]*)?(?:\/|$)/.test(readPath(path));

const isAt = (pattern: UrlPattern, { scheme, host, port }: CheckedUrl) =>
  pattern.scheme === scheme && pattern.port === port && matchesHost(pattern, host);

/** Whether a rule permits a URL. A rule for some paths permits no path that servers could resolve to another one. */
export function permits(pattern: UrlPattern, url: CheckedUrl): boolean {
  if (!isAt(pattern, url)) return false;
  if (pattern.path === undefined) return true;
  return !isAmbiguous(url.path) && matchesParts(pattern.path, url.path);
}

/** Whether a rule forbids a URL. It also forbids other spellings of its paths. */
export function forbids(pattern: UrlPattern, url: CheckedUrl): boolean {
  if (!isAt(pattern, url)) return false;
  if (pattern.path === undefined) return true;
  const forms = [url.path, readPath(url.path), readPath(url.path).replace(/\/{2,}/g, '/')];
  return isAmbiguous(url.path) || forms.some((form) => matchesParts(pattern.path!, form));
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
