/** Settings of the HTTP transport: address, tokens, and limits of requests and connections. */
import * as z from 'zod';

export const MiB = 1024 * 1024;

export const positiveCount = (fallback: number, description: string) =>
  z.number().int().min(1).max(1_000_000).default(fallback).describe(description);
export const stringList = (description: string) =>
  z.array(z.string().min(1)).default([]).describe(description);

const SECRET = /^[\x21-\x7e]{16,512}$/;
const token = z
  .string()
  .regex(
    /^(?:[\w.-]{1,64}=)?[\x21-\x7e]{16,512}$/,
    'must be SECRET or NAME=SECRET, where SECRET has 16 to 512 ASCII characters and no spaces, and NAME has at most 64 letters, digits, ".", "_" and "-"',
  );

export const httpSettings = {
  host: z.string().min(1).default('127.0.0.1').describe('Address to listen on.'),
  port: z
    .number()
    .int()
    .min(0)
    .max(65_535)
    .default(8765)
    .describe('Port to listen on; 0 selects a free port.'),
  playground: z
    .boolean()
    .default(false)
    .describe('Serve the playground, a web page for running programs, at /playground/. Requires a token.'),
  e2b: z
    .boolean()
    .default(false)
    .describe(
      "Also answer the protocol of E2B's SDKs, at all paths that nothing else uses. Tokens are the API keys, and sandboxes are sessions.",
    ),
  jupyter: z
    .boolean()
    .default(false)
    .describe(
      'Also answer the interface of Jupyter Server, at /api/ and /files/. Kernels are sessions, which share the files of the session "jupyter".',
    ),
  tokens: z
    .array(token)
    .default([])
    .describe(
      'Bearer tokens, as SECRET or NAME=SECRET. Each token is a separate tenant. The name identifies the stored sessions of the tenant. If there is no name, a digest of the secret identifies them.',
    ),
  metrics_token: z
    .string()
    .regex(SECRET, 'must have 16 to 512 ASCII characters and no spaces')
    .optional()
    .describe(
      'Bearer token for /metrics, which shows metrics of all tenants. Without metrics_token, /metrics is available only if there are no tokens.',
    ),
  allowed_hosts: stringList(
    'Host names accepted in the Host header in addition to loopback names; "*" accepts any.',
  ),
  cors_origins: stringList('Origins of web pages that may call the server, such as https://app.example.'),
  max_body_bytes: z
    .number()
    .int()
    .min(1024)
    .max(256 * MiB)
    .default(4 * MiB)
    .describe(
      'Maximum size of a request body, and of a workspace file or output that a client can read as a resource.',
    ),
  max_connections: positiveCount(
    512,
    'Open connections. An eighth of them is kept for clients that have not sent a token yet. If the tenants use all others, event streams and WebSockets included, the tenant with the most loses one; its own further requests are rejected with 429.',
  ),
  rate_per_minute: positiveCount(600, 'Requests that one tenant may send per minute.'),
  cpu_seconds_per_minute: z
    .number()
    .positive()
    .max(60)
    .default(30)
    .describe(
      'Seconds of main-thread time that the requests of one tenant may use per minute. This time covers reading, validating and answering requests. It does not include programs, which run in their own threads. Further requests are rejected with rate_limited.',
    ),
};

/** Limits that no setting changes. */
export const HTTP_LIMITS = {
  /**
   * Bytes that the server holds for one tenant: request bodies in progress, and responses that the client has not received yet.
   * A connection may have half of them, so that a client that does not read its responses affects only itself. At least one body fits.
   */
  bufferedBytes: 64 * MiB,
  /** Time after which a connection whose client does not read a pending response is closed. */
  writeTimeoutMs: 30_000,
  /** Open connections of 2025-era clients. At the limit, an idle one is closed to make room for a new one. */
  maxClients: 256,
  /** Idle time after which a connection of a 2025-era client is closed. */
  clientIdleMs: 1_800_000,
};
