/**
 * The requests that the programs of a tenant may send: the ceiling that the operator sets. A client can only restrict it further.
 * Unknown keys are rejected, so that a misspelt restriction is not ignored.
 */

import {
  isNarrower,
  LOCAL_TENANT,
  networkPolicy,
  type PolicyInput,
  parse,
  parseUrlPattern,
  readJsonFile,
  SandboxError,
  type UrlPattern,
} from '@llm-wasm-sandbox/core/internal';
import * as z from 'zod';
import type { ServerSettings } from './settings.ts';
import { parseTokens } from './tokens.ts';

const MAX_LISTED = 20;
const { allow, deny, ask, secrets, limits } = networkPolicy.shape;
const ceiling = z.strictObject({ allow, deny, ask, secrets, limits });
type Ceiling = z.output<typeof ceiling>;

const networkConfig = z.strictObject({
  network: ceiling.optional(),
  tokens: z.record(z.string(), ceiling).default({}),
});
type NetworkConfig = z.output<typeof networkConfig>;

/** What a tenant may request, and where its operator can permit more. */
export interface TenantNetwork {
  readonly policy: PolicyInput['network'];
  /** The place of the rules, as in "adding RULE to …". */
  readonly place: string;
}

const readConfig = (path: string): NetworkConfig =>
  parse(networkConfig, readJsonFile(path, 'network configuration'), 'network_config');

/** Whether persons at clients are asked about requests. */
export function asksPersons({ network_config }: Pick<ServerSettings, 'network_config'>): boolean {
  const config = network_config === undefined ? undefined : readConfig(network_config);
  return [config?.network, ...Object.values(config?.tokens ?? {})].some((one) => one?.ask);
}

/** The permissions of the settings, by tenant. Throws if they are invalid. */
export function networkOfTenants(
  settings: Pick<ServerSettings, 'allow_net' | 'network_config' | 'tokens'>,
): (tenant: string) => TenantNetwork {
  const { allow_net, network_config } = settings;
  const config = network_config === undefined ? undefined : readConfig(network_config);
  const names = parseTokens(settings).map(({ tenant }) => tenant);
  const unknown = Object.keys(config?.tokens ?? {}).find((name) => !names.includes(name));
  if (unknown !== undefined)
    throw new SandboxError(
      'invalid_argument',
      names.length === 0
        ? `network_config: tokens.${unknown}: this server has no tokens. Put the rules under "network". Only "serve" has tokens.`
        : `network_config: tokens.${unknown}: no token has this name. Name a token with NAME=SECRET, or remove the entry.`,
    );
  const common = withAllowed(config?.network, allow_net);
  return (tenant) => {
    const own = tenant === LOCAL_TENANT ? undefined : config?.tokens[tenant];
    const name = config === undefined ? 'allow_net' : own ? `tokens.${tenant}.allow` : 'network.allow';
    const place = config === undefined ? name : `${name} in network_config`;
    const found = own ?? common;
    const advice = `The operator of the server can permit it by adding "{rule}" to ${place}.`;
    return { policy: found && { ...found, advice }, place };
  };
}

function withAllowed(common: Ceiling | undefined, patterns: readonly string[]): Ceiling | undefined {
  if (patterns.length === 0) return common;
  const base = common ?? ceiling.parse({});
  return { ...base, allow: [...base.allow, ...patterns] };
}

const urlOf = (rule: Ceiling['allow'][number]) => (typeof rule === 'string' ? rule : rule.url);

/** The patterns that a tenant may request. */
const permittedPatterns = ({ policy }: TenantNetwork) => (policy?.allow ?? []).map(urlOf);

/** Throws if a client asks for requests that its operator does not permit. */
export function checkWithin(network: TenantNetwork, asked: readonly string[] = []): void {
  const permitted = permittedPatterns(network);
  const patterns = permitted.map((text) => parseUrlPattern(text) as UrlPattern);
  const isPermitted = (text: string) =>
    patterns.some((pattern) => isNarrower(parseUrlPattern(text) as UrlPattern, pattern));
  const missing = asked.find((text) => !isPermitted(text));
  if (missing === undefined) return;
  const listed = permitted.slice(0, MAX_LISTED).join(', ');
  const more = permitted.length > MAX_LISTED ? ', …' : '';
  throw new SandboxError(
    'invalid_argument',
    `network_only: this server does not permit ${missing}. Permitted: ${listed === '' ? 'no requests' : listed}${more}. The operator of the server can permit it by adding "${missing}" to ${network.place}. Asking again will not help. Nothing was run.`,
  );
}
