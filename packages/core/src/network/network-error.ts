/** Why a request failed, in the form that programs receive. Messages contain no address and no path of the host. */

/**
 * `refused`: no rule permits the request. `limit`: a limit was reached. `replay`: the request is not in the recording. The others
 * are failures of the network.
 */
export const NETWORK_ERROR_KINDS = [
  'invalid',
  'refused',
  'limit',
  'replay',
  'timeout',
  'dns',
  'connect',
  'reset',
  'tls',
  'protocol',
  'failed',
] as const;
export type NetworkErrorKind = (typeof NETWORK_ERROR_KINDS)[number];

export class NetworkError extends Error {
  constructor(
    readonly kind: NetworkErrorKind,
    message: string,
  ) {
    super(message);
  }
}

/** Requests with these failures were not sent. */
export const NOT_SENT: readonly NetworkErrorKind[] = ['invalid', 'refused', 'replay'];

const KINDS: Readonly<Record<string, readonly [NetworkErrorKind, string]>> = {
  ENOTFOUND: ['dns', 'the host name does not resolve'],
  EAI_AGAIN: ['dns', 'the name server did not answer'],
  ECONNREFUSED: ['connect', 'the host refused the connection'],
  EHOSTUNREACH: ['connect', 'the host cannot be reached'],
  ENETUNREACH: ['connect', 'the host cannot be reached'],
  ETIMEDOUT: ['timeout', 'connecting took too long'],
  UND_ERR_CONNECT_TIMEOUT: ['timeout', 'connecting took too long'],
  UND_ERR_HEADERS_TIMEOUT: ['timeout', 'the host did not answer in time'],
  UND_ERR_BODY_TIMEOUT: ['timeout', 'the host did not send its response in time'],
  ECONNRESET: ['reset', 'the host closed the connection'],
  EPIPE: ['reset', 'the host closed the connection'],
  UND_ERR_SOCKET: ['reset', 'the host closed the connection'],
  UND_ERR_HEADERS_OVERFLOW: ['limit', 'the headers of the response are too long'],
  UND_ERR_RES_EXCEEDED_MAX_SIZE: ['limit', 'the response is too long'],
  Z_BUF_ERROR: ['protocol', 'the compressed response is incomplete'],
};

/** The code of an error or, if it has none, of its cause. */
function codeOf(cause: unknown): string {
  for (let error = cause, depth = 0; error instanceof Error && depth < 4; error = error.cause, depth++) {
    const { code } = error as { code?: unknown };
    if (typeof code === 'string') return code;
    if (error.name === 'HTTPParserError') return 'HPE_INVALID';
    if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0]);
  }
  return '';
}

/** Anything that sending a request throws, as an error for the program. */
export function toNetworkError(cause: unknown): NetworkError {
  if (cause instanceof NetworkError) return cause;
  const code = codeOf(cause);
  const known = Object.hasOwn(KINDS, code) ? KINDS[code] : undefined;
  if (known !== undefined) return new NetworkError(...known);
  if (/CERT|SIGNATURE|^ERR_TLS|^ERR_SSL|^EPROTO|SELF_SIGNED|ISSUER/.test(code))
    return new NetworkError(
      'tls',
      `the certificate or the TLS connection of the host is not valid (${code})`,
    );
  if (/^HPE_|^Z_|BROTLI|^ERR_(?:PADDING|_?BR)|^UND_ERR_(?:RES|INFO|NOT_SUP|INVALID)/.test(code))
    return new NetworkError('protocol', `the response of the host is not valid (${code})`);
  return new NetworkError('failed', `the request failed${/^[\w-]{1,60}$/.test(code) ? ` (${code})` : ''}`);
}
