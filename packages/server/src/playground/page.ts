/**
 * The files of the page. They contain no secret, so they are served without a token. The headers keep the page from loading
 * anything but these files, and keep other pages from framing it.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { sha256Hex } from '@llm-wasm-sandbox/core/internal';
import { readServerFile } from '../server/server-file.ts';

/** Path of the page. */
export const PAGE_PATH = '/playground/';

/**
 * Scripts come from this server only. Style attributes are allowed, because HTML that programs display inherits this policy
 * in its frame; styles can load nothing. Images are data of results.
 */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "frame-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  'trusted-types guest-html',
].join('; ');

export const SECURITY_HEADERS = {
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), microphone=(), geolocation=()',
} as const;

const FILES: Readonly<Record<string, { readonly name: string; readonly type: string }>> = {
  [PAGE_PATH]: { name: 'index.html', type: 'text/html; charset=utf-8' },
  [`${PAGE_PATH}app.js`]: { name: 'app.js', type: 'text/javascript; charset=utf-8' },
  [`${PAGE_PATH}app.css`]: { name: 'app.css', type: 'text/css; charset=utf-8' },
  [`${PAGE_PATH}icon.svg`]: { name: 'icon.svg', type: 'image/svg+xml' },
};

const loaded = new Map<string, PageFile>();

/** A file of the page, plain and compressed. */
interface PageFile {
  readonly bytes: Buffer;
  /** Brotli. */
  readonly compressed: Buffer;
  readonly digest: string;
}

/** Reads a file of `dist/playground/page`. */
function readPageFile(name: string): PageFile {
  const bytes = readServerFile(`playground/page/${name}`);
  const compressed = readServerFile(`playground/page/${name}.br`);
  return { bytes, compressed, digest: sha256Hex(bytes).slice(0, 32) };
}

/** Sends a file of the page. Returns false if the page has no file at this path. */
export function sendPageFile(request: IncomingMessage, response: ServerResponse, path: string): boolean {
  if (`${path}/` === PAGE_PATH) {
    response.writeHead(308, { ...SECURITY_HEADERS, location: PAGE_PATH }).end();
    return true;
  }
  const file = Object.hasOwn(FILES, path) ? FILES[path] : undefined;
  if (file === undefined) return false;
  const { bytes, compressed, digest } = loaded.get(path) ?? readPageFile(file.name);
  loaded.set(path, { bytes, compressed, digest });
  const etag = `"${digest}"`;
  const headers = {
    ...SECURITY_HEADERS,
    'content-type': file.type,
    'cache-control': 'no-cache',
    vary: 'accept-encoding',
    etag,
  };
  if (request.headers['if-none-match'] === etag) {
    response.writeHead(304, headers).end();
    return true;
  }
  const isCompressed = /\bbr\b/.test(String(request.headers['accept-encoding'] ?? ''));
  const body = isCompressed ? compressed : bytes;
  const encoding = isCompressed ? { 'content-encoding': 'br' } : {};
  response.writeHead(200, { ...headers, ...encoding, 'content-length': body.length }).end(body);
  return true;
}
