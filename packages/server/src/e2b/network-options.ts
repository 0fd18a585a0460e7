/**
 * The network options of E2B. The operator of the server decides what programs may request; a client can only restrict its
 * sandboxes further. Without permission by the operator, programs have no network, and asking for it is refused.
 */

import { parseUrlPattern } from '@llm-wasm-sandbox/core/internal';
import * as z from 'zod';
import { HttpError } from '../server/http-error.ts';
import type { Tenant } from '../server/tenant.ts';

const ALL = '0.0.0.0/0';
const hosts = z.array(z.string().max(260)).max(100).nullish();

export const networkBody = z.object({
  allowOut: hosts,
  denyOut: hosts,
  rules: z.unknown().optional(),
  egressProxy: z.unknown().optional(),
});

interface NetworkOptions {
  readonly isAllowed: boolean | null | undefined;
  readonly network: z.output<typeof networkBody> | null | undefined;
}

const isEmpty = (value: unknown) =>
  value === undefined || value === null || (typeof value === 'object' && Object.keys(value).length === 0);

/** The patterns to which the programs of a sandbox are restricted; undefined for all that the operator permits. */
export function requestedPatterns(
  tenant: Tenant,
  { isAllowed, network }: NetworkOptions,
): string[] | undefined {
  const { allowOut, denyOut, rules, egressProxy } = network ?? {};
  if (!isEmpty(rules) || !isEmpty(egressProxy))
    throw new HttpError(
      400,
      'network.rules and network.egressProxy are not available: the operator sets secrets',
    );
  const permitted = (tenant.policy.network?.allow ?? []).map((rule) =>
    typeof rule === 'string' ? rule : rule.url,
  );
  if (permitted.length === 0) {
    // Some SDKs always send `allow_internet_access: true`.
    if ((allowOut ?? []).length === 0) return undefined;
    throw new HttpError(
      400,
      'Programs of this server have no network. Its operator can permit requests with allow_net',
    );
  }
  if (isAllowed === false) return [];
  if (allowOut && allowOut.length > 0 && !allowOut.includes(ALL)) return matching(permitted, allowOut);
  if (denyOut?.includes(ALL)) return [];
  if (denyOut && denyOut.length > 0)
    throw new HttpError(
      400,
      'network.denyOut: single hosts cannot be denied. List the hosts to allow in allowOut',
    );
  return undefined;
}

/** The permitted patterns of some hosts. A host can begin with "*.". */
function matching(permitted: readonly string[], wanted: readonly string[]): string[] {
  const found = permitted.filter((text) => {
    const pattern = parseUrlPattern(text);
    if (typeof pattern === 'string') return false;
    const { host, hosts: kind } = pattern;
    if (kind === 'any') return false;
    const name = kind === 'exact' ? host : `*.${host}`;
    return wanted.some((one) => one === name || (one.startsWith('*.') && host.endsWith(one.slice(1))));
  });
  if (found.length > 0) return found;
  throw new HttpError(
    400,
    `network.allowOut: this server permits none of these hosts, only ${permitted.slice(0, 20).join(', ')}`,
  );
}
