/** Requests of a program. The host sends them, if its rules permit, and returns the responses. */
import { host } from '../../host-calls.js';
import { sendCall, withdrawCall } from './async-calls.js';

/** The code of Node.js for each kind of failure. */
const CODES = {
  refused: 'EACCES',
  denied: 'EACCES',
  dns: 'ENOTFOUND',
  connect: 'ECONNREFUSED',
  reset: 'ECONNRESET',
  timeout: 'ETIMEDOUT',
  tls: 'ERR_TLS_CERT_ALTNAME_INVALID',
  limit: 'ENOBUFS',
  invalid: 'EINVAL',
  protocol: 'HPE_INVALID_CONSTANT',
};

/** Whether the program may send requests. */
export const hasNetwork = () => host.hasNetwork() === 1;

function failure(kind, message) {
  const code = CODES[kind] ?? 'ENETUNREACH';
  return Object.assign(new Error(message), { code, kind });
}

/** Resolves with the answer of the host; rejects with an error that has `code` and `kind`. */
function ask(name, text, signal = undefined) {
  return new Promise((resolve, reject) => {
    const settle = (answer) => {
      signal?.removeEventListener('abort', abort);
      const { value, code, message, refusal } = answer;
      if (refusal !== undefined) reject(failure('failed', 'the request was not accepted: it is too long'));
      else if (code !== undefined) reject(failure(code, message));
      else if (value?.error !== undefined) reject(failure(value.error.kind, value.error.message));
      else resolve(value);
    };
    const id = sendCall(name, text, settle);
    function abort() {
      withdrawCall(id, 'the program aborted the request');
      reject(signal.reason);
    }
    signal?.addEventListener('abort', abort, { once: true });
  });
}

/** The body of a response. */
class ResponseBody {
  #handle;
  #first;

  constructor({ body, handle }) {
    this.#first = Uint8Array.fromBase64(body);
    this.#handle = handle;
  }
  /** Whether all bytes have arrived. */
  get isComplete() {
    return this.#handle === undefined;
  }
  /** The next bytes; undefined at the end. */
  async next(signal) {
    for (;;) {
      const first = this.#first;
      this.#first = undefined;
      if (first?.length > 0) return first;
      if (this.#handle === undefined) return undefined;
      const { body, handle } = await ask('network:read', `${this.#handle}`, signal);
      this.#first = Uint8Array.fromBase64(body);
      this.#handle = handle;
    }
  }
  close() {
    const handle = this.#handle;
    this.#handle = undefined;
    this.#first = undefined;
    if (handle !== undefined) sendCall('network:close', `${handle}`, () => {});
  }
}

/** Sends a request. `headers` is a list of names and values, `body` is bytes or undefined, and the host decompresses with `decode`. */
export async function sendRequest({ method, url, headers, body, timeout, decode = true }, signal) {
  const text = JSON.stringify({
    method,
    url,
    headers,
    decode,
    ...(body?.length > 0 && { body: body.toBase64() }),
    ...(timeout > 0 && { timeout_ms: timeout }),
  });
  const answer = await ask('network:request', text, signal);
  const { status, reason, headers: received } = answer;
  return { status, reason, headers: received, body: new ResponseBody(answer) };
}
