/**
 * A request as it is sent. Everything that a program passes is checked here: the method, the URL, and each header. Headers that
 * describe the connection are never taken from a program.
 */
import { type CheckedUrl, checkUrl, MAX_URL_CHARACTERS, sentUrl } from '../schema/url-pattern.ts';
import { NetworkError } from './network-error.ts';

export type HeaderList = readonly (readonly [string, string])[];

export interface WireRequest {
  readonly method: string;
  readonly url: CheckedUrl;
  readonly headers: HeaderList;
  readonly body: Uint8Array | undefined;
}

const TOKEN = /^[!#$%&'*+\-.^_`|~\dA-Za-z]{1,200}$/;
/** Visible characters, blanks and bytes beyond ASCII. No control characters, so that a value cannot end its line. */
const VALUE = /^[\t\u0020-\u007e\u0080-\u00ff]*$/;
const MAX_HEADERS = 100;
const MAX_HEADER_CHARACTERS = 32 * 1024;
const MAX_RECORDED_URL = 2000;
/** Methods that change what the connection is. */
const REFUSED_METHODS = ['CONNECT', 'TRACE', 'TRACK', 'PRI'];

/** Headers about the connection. The broker sets them for requests and removes them from responses. */
const CONNECTION_HEADERS = new Set(
  'connection content-length expect host http2-settings keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer transfer-encoding upgrade'.split(
    ' ',
  ),
);
export const isConnectionHeader = (name: string) => CONNECTION_HEADERS.has(name.toLowerCase());

const invalid = (message: string) => new NetworkError('invalid', message);

function checkHeaders(given: unknown): HeaderList {
  if (!Array.isArray(given) || given.length > MAX_HEADERS)
    throw invalid(`a request has at most ${MAX_HEADERS} headers`);
  let characters = 0;
  const headers = given.map((pair: unknown) => {
    const [name, value] = Array.isArray(pair) ? (pair as unknown[]) : [];
    if (typeof name !== 'string' || typeof value !== 'string' || !TOKEN.test(name))
      throw invalid('the name of a header is not valid');
    if (!VALUE.test(value))
      throw invalid(`the value of the header ${name} contains a character that headers cannot have`);
    characters += name.length + value.length + 4;
    return [name, value.trim()] as const;
  });
  if (characters > MAX_HEADER_CHARACTERS)
    throw invalid(`the headers are longer than ${MAX_HEADER_CHARACTERS} characters`);
  // A header that Connection names would also be one about the connection.
  const named = headers
    .filter(([name]) => name.toLowerCase() === 'connection')
    .flatMap(([, value]) => value.split(','));
  const removed = new Set(named.map((name) => name.trim().toLowerCase()));
  return headers.filter(([name]) => !isConnectionHeader(name) && !removed.has(name.toLowerCase()));
}

function checkBody(given: unknown): Uint8Array | undefined {
  if (given === undefined || given === null || given === '') return undefined;
  if (typeof given !== 'string' || !/^[\d+/A-Za-z]*={0,2}$/.test(given))
    throw invalid('the body is not base64');
  return Buffer.from(given, 'base64');
}

/** The method and the URL as it is sent, for the record of a request, which may be invalid. */
export function describeRequest({ method, url }: Record<string, unknown>): { method: string; url: string } {
  const text = (value: unknown, max: number) => (typeof value === 'string' ? value.slice(0, max) : '');
  return { method: text(method, 20), url: sentUrl(text(url, MAX_URL_CHARACTERS)).slice(0, MAX_RECORDED_URL) };
}

/** Checks a request of a program. Throws `NetworkError`. */
export function toWireRequest(args: Record<string, unknown>): WireRequest {
  const { method, url: text, headers, body } = args;
  if (typeof method !== 'string' || !/^[A-Za-z][\w-]{0,19}$/.test(method))
    throw invalid('the method is not valid');
  if (REFUSED_METHODS.includes(method.toUpperCase())) throw invalid(`the method ${method} is not supported`);
  if (typeof text !== 'string') throw invalid('the URL is missing');
  const url = checkUrl(text);
  if (typeof url === 'string') throw invalid(`the URL cannot be requested: ${url}`);
  return { method: method.toUpperCase(), url, headers: checkHeaders(headers ?? []), body: checkBody(body) };
}
