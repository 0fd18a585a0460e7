/**
 * A process that sends the requests of some tenants: the honest ones, or the hostile one. They do not share a process, because
 * what it costs a client to attack must not delay others. The hostile process has a low priority: its computer is another one.
 */
import { setPriority } from 'node:os';
import { attacks } from './attacks.ts';
import { type CallRecord, type LoadOptions, runAttacks, runLoad, runProtocolAttacks } from './load.ts';
import { PROTOCOL_ATTACKS } from './protocol-attacks.ts';

export interface Tenants {
  readonly type: 'honest' | 'hostile';
  readonly tenants: readonly string[];
  /** Clients of each tenant that send requests at the same time. */
  readonly clients: number;
  readonly url: string;
  readonly seed: number;
  /** In milliseconds since 1970. */
  readonly deadline: number;
}

export const secretOf = (tenant: string) => `${tenant}-secret-0123456789`;

const HOSTILE_PRIORITY = 10;

/** A generator of numbers from 0 to 1, so that a run can be repeated with the same requests. */
function seededRandom(start: number): () => number {
  let state = start >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

function load({ type, tenants, clients, url, seed, deadline }: Tenants): Promise<readonly CallRecord[]>[] {
  const options = (tenant: string, client: number): LoadOptions => ({
    url,
    tenant,
    secret: secretOf(tenant),
    random: seededRandom(seed + tenant.charCodeAt(0) * 100 + client),
    deadline,
  });
  const each = Array.from({ length: clients }, (_, client) => client);
  if (type === 'honest')
    return tenants.flatMap((tenant) => each.map((client) => runLoad(options(tenant, client))));
  return tenants.flatMap((tenant) => [
    ...each.map((client) => runAttacks(options(tenant, client), attacks(`hostile-${client}`))),
    ...PROTOCOL_ATTACKS.map((own, i) => runProtocolAttacks(options(tenant, clients + i), own)),
  ]);
}

process.once('message', async (tenants: Tenants) => {
  if (tenants.type === 'hostile') setPriority(HOSTILE_PRIORITY);
  const records = (await Promise.all(load(tenants))).flat();
  process.send!(records, () => process.disconnect());
});
