/**
 * What servers share besides sessions. Servers with the same database see each other's values, requests and counts. A server
 * without a database is alone and has them in memory.
 */

export interface Coordination {
  /** Whether other servers can take part. */
  readonly isShared: boolean;
  /** This and `cancellations` are undefined if there are no other servers. */
  readonly approvals?: ApprovalRounds;
  /** The key with which servers sign states that clients return. */
  signingKey(): Promise<Uint8Array>;
  /** Outputs and results of recent calls of a tenant. */
  values(tenant: string): ExpiringValues;
  cancellations?(tenant: string): Cancellations;
  /** Counts up to `perMinute` uses for each key. */
  limiter(limiters: RateLimiters, name: string, perMinute: number): MinuteLimiter;
  /** Rejects if what servers share cannot be reached. */
  check(): Promise<void>;
}

export interface ExpiringValue {
  readonly key: string;
  readonly session_id: string;
  readonly value: Uint8Array;
}

/** Values of a tenant that are kept for a limited time. The oldest are removed when there are too many or they are too large. */
export interface ExpiringValues {
  /** Bytes that this process keeps in memory. */
  readonly bytes: number;
  add(values: readonly ExpiringValue[]): Promise<void>;
  get(key: string): Promise<Uint8Array | undefined>;
  /** The keys of the values of a session, latest first. */
  keys(session_id: string): Promise<string[]>;
}

/** Requests to cancel the programs of a session, for the servers that run them; and signs of life of these servers. */
export interface Cancellations {
  /** Requests the cancellation of the programs of a session that are active now. Other names are not those of a session. */
  request(session_id: string): Promise<void>;
  /** The age of the last request of each session in milliseconds, for the sessions that have one. */
  ages(session_ids: readonly string[]): Promise<Map<string, number>>;
}

/** Identifies a round, and who may answer it. */
export interface RoundKey {
  readonly tenant: string;
  readonly run: string;
  readonly round: string;
  /** Digest of the request that must be repeated with the answers. */
  readonly request: string;
}

/**
 * Questions to a person. The server that runs the program opens a round; another server records the answers and waits for
 * the outcome. A round is answered once.
 */
export interface ApprovalRounds {
  /** Publishes a round, so that other servers can answer it. */
  open(key: RoundKey): Promise<void>;
  /** Removes a round, unless another server has answered it. Returns whether it was removed. */
  close(round: string): Promise<boolean>;
  /** Records the answer to a round. Returns false if the round does not exist or was already answered. */
  answer(key: RoundKey, answer: string): Promise<boolean>;
  /** Those of these rounds that have been answered. Also records that the server that runs their programs is alive. */
  answered(rounds: readonly string[]): Promise<{ round: string; answer: string; isCancelled: boolean }[]>;
  /** Records what followed the answer. */
  finish(round: string, outcome: string): Promise<void>;
  /** Asks the server that runs the program to cancel it. */
  cancel(round: string): Promise<void>;
  /** What followed the answer, and the time since the server that runs the program was last seen; undefined if removed. */
  outcome(round: string): Promise<{ outcome: string | undefined; ageMs: number } | undefined>;
  remove(rounds: readonly string[]): Promise<void>;
}

interface LimiterOptions {
  readonly keyPrefix: string;
  readonly points: number;
  /** Seconds. */
  readonly duration: number;
}

/** The limiters of rate-limiter-flexible, which the server depends on and the library does not. */
export interface RateLimiters {
  readonly RateLimiterMemory: new (options: LimiterOptions) => MinuteLimiter;
  readonly RateLimiterPostgres: new (options: PostgresLimiterOptions) => MinuteLimiter;
}

interface PostgresLimiterOptions extends LimiterOptions {
  readonly inMemoryBlockOnConsumed: number;
  readonly storeClient: object;
  readonly storeType: string;
  readonly schemaName: string;
  readonly tableName: string;
  readonly tableCreated: boolean;
  // biome-ignore lint/suspicious/noExplicitAny: a limiter of the same package
  readonly insuranceLimiter: any;
}

/** The part of a limiter of rate-limiter-flexible that servers use. */
export interface MinuteLimiter {
  /** Counts one use. Beyond the limit, rejects with a `RateLimiterRes`. */
  consume(key: string): Promise<unknown>;
  /** What is left of the current minute; null if nothing was used. */
  get(key: string): Promise<{ readonly remainingPoints: number; readonly msBeforeNext: number } | null>;
  /** Counts uses that have happened. */
  penalty(key: string, points: number): Promise<unknown>;
}

/** Data that belongs to sessions of a tenant, by session. */
export interface SessionBlobs {
  /** Undefined if there is none, or it is larger than `maxBytes`. */
  read(session_id: string, maxBytes: number): Promise<Uint8Array | undefined>;
  write(session_id: string, bytes: Uint8Array): Promise<void>;
  delete(session_id: string): Promise<void>;
}
