/**
 * Limits how many jobs of a tenant run at the same time, across all workers. A slot is an advisory lock of a connection to
 * PostgreSQL, so the slots of a process that crashes are free at once.
 */
import { sha256 } from '@llm-wasm-sandbox/core/internal';

/** The part of `Client` of the package `pg` that is used. */
interface LockClient {
  query(text: string, values: unknown[]): Promise<{ rows: { locked?: boolean }[] }>;
  on(event: 'error' | 'end', listener: () => void): unknown;
  end(): Promise<void>;
}

export interface TenantSlot {
  readonly queue: string;
  readonly index: number;
}

/** The key of the locks of a queue. */
const lockKey = (queue: string) => sha256(`jobs:${queue}`).readInt32BE();

export class TenantSlots {
  readonly #connect: () => Promise<LockClient>;
  /** Jobs of each tenant that may run at the same time. */
  readonly #limit: number;
  /** Jobs that end and start at the same time share one connection: a lock belongs to the connection that took it. */
  #client: Promise<LockClient> | undefined;
  /** A connection can take a lock twice, so the slots that this process uses are recorded. */
  readonly #used = new Map<string, Set<number>>();

  constructor(connect: () => Promise<LockClient>, limit: number) {
    this.#connect = connect;
    this.#limit = limit;
  }

  /** Takes a slot; undefined if all are in use. */
  async acquire(queue: string): Promise<TenantSlot | undefined> {
    const used = this.#used.get(queue) ?? new Set();
    for (let index = 0; index < this.#limit; index++) {
      if (used.has(index) || !(await this.#lock('pg_try_advisory_lock', queue, index))) continue;
      this.#used.set(queue, used.add(index));
      return { queue, index };
    }
    return undefined;
  }

  async release({ queue, index }: TenantSlot): Promise<void> {
    const used = this.#used.get(queue);
    used?.delete(index);
    if (used?.size === 0) this.#used.delete(queue);
    // If the connection is lost, so is the lock.
    await this.#lock('pg_advisory_unlock', queue, index).catch(() => {});
  }

  async #lock(name: string, queue: string, index: number): Promise<boolean> {
    const { rows } = await (await this.#connected()).query(`SELECT ${name}($1, $2) AS locked`, [
      lockKey(queue),
      index,
    ]);
    return rows[0]?.locked === true;
  }

  #connected(): Promise<LockClient> {
    if (this.#client !== undefined) return this.#client;
    const connecting = this.#connect();
    const forget = () => {
      if (this.#client === connecting) this.#client = undefined;
    };
    connecting.then((client) => {
      client.on('error', forget);
      client.on('end', forget);
    }, forget);
    this.#client = connecting;
    return connecting;
  }

  async close(): Promise<void> {
    const client = await this.#client?.catch(() => undefined);
    await client?.end().catch(() => {});
  }
}
