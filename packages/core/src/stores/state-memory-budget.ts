/**
 * Counts the bytes of session states that are in the memory of the process, per tenant and in total, and limits both.
 * When a limit would be exceeded, idle states that a store can return are unloaded, least recently used first; if that is
 * not enough, the change is refused.
 */
import { SandboxError } from '../errors.ts';
import { formatBytes } from '../quantities.ts';

interface StateMemoryLimits {
  /** Limit of all tenants together. */
  readonly maxBytes: number;
  readonly maxBytesPerTenant: number;
}

/** Part of the counted memory: the states of a session, or those in a store. */
export class Holding {
  #bytes = 0;
  #isClosed = false;
  lastUsed = 0;

  constructor(
    readonly tenant: string,
    /** Frees the memory if it is not in use; undefined if that is impossible. */
    readonly unload: (() => Promise<void>) | undefined,
    readonly ledger: StateMemoryBudget,
  ) {}

  get bytes(): number {
    return this.#bytes;
  }

  /** Records the current size without checking the limits. */
  set(bytes: number): void {
    if (this.#isClosed) return;
    this.ledger.recount(this.tenant, bytes - this.#bytes);
    this.#bytes = bytes;
    this.lastUsed = this.ledger.nextUse();
  }

  /** Records a new size. If it is larger and exceeds a limit, unloads others; if that does not help, throws `session_limit`. */
  async resize(bytes: number): Promise<void> {
    await this.ledger.makeRoom(this, bytes);
  }

  /** Like `resize`, but unloads nothing. */
  resizeNow(bytes: number): void {
    const exceeded = this.ledger.exceededBy(this, bytes);
    if (exceeded !== undefined) throw exceeded.error;
    this.set(bytes);
  }

  /** Ends the counting. */
  close(): void {
    this.set(0);
    this.#isClosed = true;
    this.ledger.remove(this);
  }
}

export class StateMemoryBudget {
  readonly #holdings = new Set<Holding>();
  readonly #byTenant = new Map<string, number>();
  #total = 0;
  #uses = 0;

  constructor(readonly limits: StateMemoryLimits) {}

  /** Bytes of all tenants. */
  get total(): number {
    return this.#total;
  }

  ofTenant(tenant: string): number {
    return this.#byTenant.get(tenant) ?? 0;
  }

  open(tenant: string, unload?: () => Promise<void>): Holding {
    const holding = new Holding(tenant, unload, this);
    this.#holdings.add(holding);
    return holding;
  }

  remove(holding: Holding): void {
    this.#holdings.delete(holding);
  }

  nextUse(): number {
    return ++this.#uses;
  }

  recount(tenant: string, change: number): void {
    this.#total += change;
    const bytes = this.ofTenant(tenant) + change;
    if (bytes === 0) this.#byTenant.delete(tenant);
    else this.#byTenant.set(tenant, bytes);
  }

  /** Sets the size of a holding once enough others are unloaded. */
  async makeRoom(holding: Holding, bytes: number): Promise<void> {
    const tried = new Set<Holding>([holding]);
    for (;;) {
      const exceeded = this.exceededBy(holding, bytes);
      // In the same step as the check, so that no other holding takes the space.
      if (exceeded === undefined) return holding.set(bytes);
      const idle = [...this.#holdings]
        .filter((one) => one.unload !== undefined && one.bytes > 0 && !tried.has(one))
        .filter((one) => exceeded.limit === 'total' || one.tenant === holding.tenant)
        .sort((a, b) => a.lastUsed - b.lastUsed)[0];
      if (idle === undefined) throw exceeded.error;
      tried.add(idle);
      await idle.unload!();
    }
  }

  /** The limit that a holding would exceed if it grew to `bytes`. */
  exceededBy(
    holding: Holding,
    bytes: number,
  ): { readonly limit: 'tenant' | 'total'; readonly error: SandboxError } | undefined {
    const change = bytes - holding.bytes;
    if (change <= 0) return undefined;
    const { maxBytes, maxBytesPerTenant } = this.limits;
    const ofTenant = this.ofTenant(holding.tenant) + change;
    if (ofTenant > maxBytesPerTenant)
      return { limit: 'tenant', error: limitError('sessions of this tenant', ofTenant, maxBytesPerTenant) };
    if (this.#total + change <= maxBytes) return undefined;
    return { limit: 'total', error: limitError('sessions of this process', this.#total + change, maxBytes) };
  }
}

function limitError(whose: string, bytes: number, limit: number): SandboxError {
  const fact = `The ${whose} would hold ${formatBytes(bytes)} in memory, and the limit is ${formatBytes(limit)}`;
  const advice =
    'Delete checkpoints, files, variables or sessions that are no longer needed, or try again later';
  return new SandboxError('session_limit', `${fact}. ${advice}.`);
}
