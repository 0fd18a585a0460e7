/** The part of a policy that permits requests. Without it, programs have no network. */
import * as z from 'zod';
import { described, optionalField, wholeNumber } from './fields.ts';
import { parseUrlPattern } from './url-pattern.ts';

const MiB = 1024 * 1024;
const MAX_RULES = 100;

/** Host names, addresses and paths that may be requested. */
export const urlPattern = z
  .string()
  .max(2000)
  .check(({ value, issues }) => {
    const parsed = parseUrlPattern(value);
    if (typeof parsed === 'string') issues.push({ code: 'custom', message: parsed, input: value });
  });

/** What is wrong with something that is neither a pattern nor a rule. */
function patternProblem({ input }: { readonly input?: unknown }): string {
  const parsed = typeof input === 'string' ? parseUrlPattern(input.slice(0, 2000)) : undefined;
  return typeof parsed === 'string' ? parsed : 'must be a URL pattern or a rule with `url`';
}

/** Patterns to which a session or a call restricts its requests. */
export const networkOnly = z.array(urlPattern).max(MAX_RULES);

const requests = wholeNumber(0, 10_000);
const requestBytes = wholeNumber(0, 4 * MiB);
const responseBytes = wholeNumber(0, 256 * MiB);
const timeoutSeconds = z.number().positive().max(3600);

export const networkRule = z.strictObject({
  url: urlPattern.describe('URL pattern, such as `https://api.example.com/v1/*`.'),
  methods: optionalField(
    z
      .array(z.string().regex(/^[A-Z]{1,20}$/, 'must be a method in upper case, such as GET'))
      .min(1)
      .max(20),
    'Methods that the rule permits. Default: all.',
  ),
  addresses: optionalField(
    z
      .array(
        z
          .string()
          .max(50)
          .regex(/^[\da-f.:]+(\/\d{1,3})?$/i, 'must be an IP address or a range, such as 10.0.0.0/8'),
      )
      .max(20),
    'Private addresses or ranges, such as `10.0.0.0/8`, that the host may have. Without this field, the host must have public addresses, unless the pattern names an address or localhost.',
  ),
  requests: requests.optional().describe('Maximum number of requests per program under this rule.'),
  request_bytes: optionalField(
    requestBytes,
    'Maximum size of a request body in bytes. Default: that of `limits`.',
  ),
  response_bytes: optionalField(
    responseBytes,
    'Maximum size of a response body in bytes. Default: that of `limits`.',
  ),
  timeout_seconds: optionalField(
    timeoutSeconds,
    'Maximum time of a request in seconds. Default: that of `limits`.',
  ),
});
/** A rule that permits requests. */
export interface NetworkRule extends z.infer<typeof networkRule> {}

export const networkLimits = z.strictObject({
  requests: requests.default(100).describe('Maximum number of requests per program.'),
  bytes_up: described(
    wholeNumber(0, 1024 * MiB).default(16 * MiB),
    'Maximum total size of the request bodies of a program in bytes.',
  ),
  bytes_down: described(
    wholeNumber(0, 1024 * MiB).default(64 * MiB),
    'Maximum total size of the response bodies of a program in bytes.',
  ),
  request_bytes: requestBytes.default(MiB).describe('Maximum size of a request body in bytes.'),
  response_bytes: responseBytes.default(16 * MiB).describe('Maximum size of a response body in bytes.'),
  timeout_seconds: described(
    timeoutSeconds.default(30),
    'Maximum time of one request in seconds, including its response body.',
  ),
});
/** Limits of the requests of one program. */
export interface NetworkLimits extends z.infer<typeof networkLimits> {}

const MAX_SECRETS = 50;

export const networkSecret = z
  .strictObject({
    value: z.string().optional().describe('The secret: 8 to 1,024 characters. Prefer `env`.'),
    env: z.string().min(1).optional().describe('Environment variable of the host that contains the secret.'),
    allow: described(
      z.array(urlPattern).min(1).max(MAX_RULES),
      'URL patterns of the requests that may contain the secret. They permit no requests.',
    ),
    header: described(
      z
        .string()
        .regex(/^[\w-]{1,100}$/, 'must be the name of a header')
        .default('authorization'),
      'The only header in which the placeholder is replaced.',
    ),
  })
  .refine(
    ({ value, env }) => (value === undefined) !== (env === undefined),
    'must have either `value` or `env`',
  );
/** A secret that programs can send but not see. */
export interface NetworkSecret extends z.infer<typeof networkSecret> {}

export const networkPolicy = z
  .strictObject({
    allow: described(
      z
        .array(z.union([urlPattern, networkRule], { error: patternProblem }))
        .max(MAX_RULES)
        .default([]),
      'Rules that permit requests: URL patterns, or objects with a pattern, methods and limits.',
    ),
    deny: described(
      z.array(urlPattern).max(MAX_RULES).default([]),
      'URL patterns that are never requested, whatever `allow` says.',
    ),
    ask: described(
      z.boolean().default(false),
      'Whether a person is asked about a request that no rule permits, like about a tool call that needs approval. `deny` still wins, and hosts must have public addresses.',
    ),
    secrets: described(
      z
        .record(
          z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, 'must be the name of an environment variable'),
          networkSecret,
        )
        .refine(
          (secrets) => Object.keys(secrets).length <= MAX_SECRETS,
          `must have at most ${MAX_SECRETS} entries`,
        )
        .default({}),
      'Secrets by the name of the environment variable in which programs find a placeholder for them.',
    ),
    limits: described(
      networkLimits.default(() => networkLimits.parse({})),
      'Limits of the requests of one program.',
    ),
    record: optionalField(
      z.string().min(1),
      'File on the host to which all requests and responses are written as HAR 1.2.',
    ),
    replay: optionalField(
      z.string().min(1),
      'HAR file on the host from which all requests are answered. Nothing is sent. A request that is not in the file fails.',
    ),
    advice: optionalField(
      z.string().max(500),
      'What the error of a refused request says about permission. `{rule}` stands for the rule that is missing. Default: that the rule can be added to `policy.network.allow`.',
    ),
  })
  .refine(({ record, replay }) => record === undefined || replay === undefined, {
    path: ['replay'],
    message: 'cannot be combined with record',
  });
/** The requests that programs may send. */
export interface NetworkPolicy extends z.infer<typeof networkPolicy> {}
