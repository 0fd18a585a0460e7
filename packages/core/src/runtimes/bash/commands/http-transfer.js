/** One request of a command with its redirects. The host sends it, if its rules permit. */
import { hasNetwork, sendRequest } from 'node:internal/requests';

const REDIRECTS = [301, 302, 303, 307, 308];

/** A failure, with the kind that the host gives it. */
export class TransferError extends Error {
  constructor(kind, message) {
    super(message);
    this.kind = kind;
  }
}

const noNetwork = (method, { href, origin }) =>
  `${method} ${href} is not permitted: the sandbox has no network. Only the person who runs it can permit requests to ${origin}/*. Trying again will not help. Call a tool that gets the data, or pass the data as files or standard input.`;

const without = (headers, ...names) => headers.filter(([name]) => !names.includes(name.toLowerCase()));

export const headerOf = ({ headers }, name) => headers.find(([key]) => key.toLowerCase() === name)?.[1];

/** The request that a redirect leads to; undefined if there is none. */
export function redirected(request, response, { keepsMethod = false, isTrusted = false } = {}) {
  const location = headerOf(response, 'location');
  if (!REDIRECTS.includes(response.status) || !location) return undefined;
  if (!URL.canParse(location, request.url))
    throw new TransferError('invalid', 'The redirect target URL could not be parsed');
  const url = new URL(location, request.url);
  const next = { ...request, url };
  if (url.hash === '') url.hash = request.url.hash;
  const { status } = response;
  const isPost = request.method === 'POST' || (keepsMethod && request.body !== undefined);
  if ((status === 303 && request.method !== 'HEAD') || (status < 303 && isPost)) {
    next.body = undefined;
    next.headers = without(next.headers, 'content-type');
    if (!keepsMethod) next.method = 'GET';
  }
  if (url.origin !== request.url.origin && !isTrusted)
    next.headers = without(next.headers, 'authorization', 'cookie');
  return next;
}

/** Sends one request: `{ status, reason, headers, body }`. `endsMs` is the time at which it fails. */
export async function send({ method, url, headers, body }, { decode = false, endsMs = Infinity } = {}) {
  if (!hasNetwork()) throw new TransferError('refused', noNetwork(method, url));
  const left = endsMs - performance.now();
  if (left <= 0) throw new TransferError('timeout', 'the time is over');
  const sent = new URL(url);
  sent.hash = '';
  const timeout = left === Infinity ? undefined : Math.max(1, left);
  return await sendRequest({ method, url: sent.href, headers, body, timeout, decode });
}
