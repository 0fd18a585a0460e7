/** Decides whether a request is permitted, and which addresses its host may have. */
import { invalidArgument } from '../errors.ts';
import {
  type CheckedUrl,
  forbids,
  hrefOf,
  originOf,
  parseUrlPattern,
  permits,
  type UrlPattern,
} from '../schema/url-pattern.ts';
import type { NetworkLimits, NetworkPolicy, NetworkRule } from '../schema.ts';
import { addressBytes, addressRange, isPublicAddress, isWithin } from './addresses.ts';
import { NetworkError } from './network-error.ts';

/** A rule with its limits. */
export interface PermittingRule
  extends Pick<NetworkLimits, 'request_bytes' | 'response_bytes' | 'timeout_seconds'> {
  readonly id: number;
  readonly pattern: UrlPattern;
  readonly methods: readonly string[] | undefined;
  readonly requests: number;
  readonly addresses: readonly NonNullable<ReturnType<typeof addressRange>>[];
}

const LOOPBACK = [addressRange('127.0.0.0/8')!, addressRange('::1')!];
const DEFAULT_ADVICE = 'A person can permit it by adding {rule} to policy.network.allow.';

/** A request that no rule mentions: a person may permit it. */
export class MissingRuleError extends NetworkError {}

/** Whether a request under a rule may connect to an address. */
export function isPermittedAddress(
  { pattern, addresses }: PermittingRule,
  host: string,
  address: string,
): boolean {
  if (isPublicAddress(address)) return true;
  const bytes = addressBytes(address);
  if (bytes === undefined) return false;
  if (addresses.some((range) => isWithin(bytes, range))) return true;
  if (pattern.hosts !== 'exact') return false;
  if (host === 'localhost' || host.endsWith('.localhost'))
    return LOOPBACK.some((range) => isWithin(bytes, range));
  return addressBytes(host) !== undefined && host.replace(/^\[|\]$/g, '') === address;
}

/** Patterns that a session or a call restricts its requests to; undefined if it does not. */
type Restriction = readonly string[] | undefined;

export class NetworkRules {
  readonly #allowed: readonly PermittingRule[];
  readonly #denied: readonly UrlPattern[];
  readonly #advice: string;
  readonly #restrictions: readonly (readonly UrlPattern[])[];

  /** A request must match each of the restrictions. */
  constructor({ allow, deny, limits, advice }: NetworkPolicy, restrictions: readonly Restriction[] = []) {
    this.#restrictions = restrictions.flatMap((only) => (only === undefined ? [] : [only.map(patternOf)]));
    this.#allowed = allow.map((rule, id) =>
      toRule(id, typeof rule === 'string' ? { url: rule } : rule, limits),
    );
    this.#denied = deny.map(patternOf);
    this.#advice = advice ?? DEFAULT_ADVICE;
  }

  /** The first rule that permits a request. Throws `NetworkError` if there is none. */
  find(method: string, url: CheckedUrl): PermittingRule {
    const denied = this.#denied.find((pattern) => forbids(pattern, url));
    const what = `${method} ${hrefOf(url).slice(0, 300)}`;
    if (denied !== undefined)
      throw new NetworkError(
        'refused',
        `${what} is not permitted: the rule ${denied.text} denies it. Do not try again.`,
      );
    const restriction = this.#restrictions.find((only) => !only.some((pattern) => permits(pattern, url)));
    if (restriction !== undefined)
      throw new NetworkError(
        'refused',
        `${what} is not permitted: network_only restricts the program to ${listPatterns(restriction)}.`,
      );
    const matching = this.#allowed.filter(({ pattern }) => permits(pattern, url));
    const rule = matching.find(({ methods }) => methods === undefined || methods.includes(method));
    if (rule !== undefined) return rule;
    if (matching.length > 0) {
      const methods = [...new Set(matching.flatMap((one) => one.methods ?? []))].join(', ');
      throw new MissingRuleError(
        'refused',
        `${what} is not permitted: the rule permits only ${methods}. Do not try again.`,
      );
    }
    const advice = this.#advice.replaceAll('{rule}', `${originOf(url)}/*`);
    throw new MissingRuleError(
      'refused',
      `${what} is not permitted: no rule matches it. ${advice} Trying again will not help.`,
    );
  }
}

/** A host that a person cannot approve, because it is a private address or stands for one. */
export function isPrivateHost(host: string): boolean {
  if (host === 'localhost' || host.endsWith('.localhost')) return true;
  return addressBytes(host) !== undefined && !isPublicAddress(host);
}

/** The rule of a request that a person has approved. It permits no private address, even if the person has overlooked one. */
export function approvedRule(url: CheckedUrl, limits: NetworkLimits): PermittingRule {
  const pattern = { ...patternOf(`${originOf(url)}/*`), text: 'approved', hosts: 'any' as const };
  return { ...toRule(-1, { url: `${originOf(url)}/*` }, limits), pattern };
}

const MAX_LISTED = 10;

/** The first patterns of a list. */
function listPatterns(patterns: readonly UrlPattern[]): string {
  if (patterns.length === 0) return 'no requests';
  const more = patterns.length > MAX_LISTED ? ', …' : '';
  return `${patterns
    .slice(0, MAX_LISTED)
    .map(({ text }) => text.slice(0, 200))
    .join(', ')}${more}`;
}

function patternOf(text: string): UrlPattern {
  const pattern = parseUrlPattern(text);
  if (typeof pattern === 'string') throw invalidArgument(`policy.network: ${text} ${pattern}.`);
  return pattern;
}

function toRule(id: number, rule: NetworkRule, limits: NetworkLimits): PermittingRule {
  const addresses = (rule.addresses ?? []).map((text) => {
    const range = addressRange(text);
    if (range !== undefined) return range;
    throw invalidArgument(`policy.network.allow.${id}.addresses: ${text} is not an address.`);
  });
  return {
    id,
    pattern: patternOf(rule.url),
    methods: rule.methods,
    addresses,
    requests: rule.requests ?? limits.requests,
    request_bytes: rule.request_bytes ?? limits.request_bytes,
    response_bytes: rule.response_bytes ?? limits.response_bytes,
    timeout_seconds: rule.timeout_seconds ?? limits.timeout_seconds,
  };
}
