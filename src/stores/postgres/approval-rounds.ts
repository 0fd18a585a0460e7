/**
 * Questions to a person. Any server that shares the database can receive the answers. The server that runs the program
 * opens a round; another server records the answers and waits for the outcome. A round is answered once. Ages are
 * measured by the clock of the database.
 */
import { randomBytes } from 'node:crypto';
import type { Database } from './database.ts';

/** Rounds that no server has used for this long are removed. */
const MAX_IDLE_MINUTES = 60;

/** Identifies a round, and who may answer it. */
export interface RoundKey {
  readonly tenant: string;
  readonly run: string;
  readonly round: string;
  /** Digest of the request that must be repeated with the answers. */
  readonly request: string;
}

/** A round that another server has answered. */
interface AnsweredRound {
  readonly round: string;
  readonly answer: string;
  readonly isCancelled: boolean;
}

export class ApprovalRounds {
  readonly #table: string;

  constructor(readonly database: Database) {
    this.#table = database.table('approval_rounds');
  }

  /** The key with which servers that share the database sign the states of rounds. The first server creates it. */
  async signingKey(): Promise<Uint8Array> {
    const table = this.database.table('signing_keys');
    await this.database.query(
      `INSERT INTO ${table} (name, key) VALUES ('approval_rounds', $1) ON CONFLICT DO NOTHING`,
      [randomBytes(32)],
    );
    const { rows } = await this.database.query(`SELECT key FROM ${table} WHERE name = 'approval_rounds'`, []);
    return rows[0]!['key'] as Uint8Array;
  }

  /** Publishes a round, so that other servers can answer it. */
  async open({ tenant, run, round, request }: RoundKey): Promise<void> {
    await this.database.query(
      `WITH idle AS (
         DELETE FROM ${this.#table} WHERE tenant = $1 AND seen_at < clock_timestamp() - make_interval(mins => $5)
       )
       INSERT INTO ${this.#table} (tenant, run, round, request, seen_at) VALUES ($1, $2, $3, $4, clock_timestamp())`,
      [tenant, run, round, request, MAX_IDLE_MINUTES],
    );
  }

  /** Removes a round, unless another server has answered it. Returns whether it was removed. */
  async close(round: string): Promise<boolean> {
    const { rowCount } = await this.database.query(
      `DELETE FROM ${this.#table} WHERE round = $1 AND answer IS NULL`,
      [round],
    );
    return rowCount === 1;
  }

  /** Records the answer to a round. Returns false if the round does not exist or was already answered. */
  async answer({ tenant, run, round, request }: RoundKey, answer: string): Promise<boolean> {
    const { rowCount } = await this.database.query(
      `UPDATE ${this.#table} SET answer = $5, seen_at = clock_timestamp()
       WHERE round = $1 AND tenant = $2 AND run = $3 AND request = $4 AND answer IS NULL`,
      [round, tenant, run, request, answer],
    );
    return rowCount === 1;
  }

  /** Those of these rounds that have been answered. Also records that the server that runs their programs is alive. */
  async answered(rounds: readonly string[]): Promise<AnsweredRound[]> {
    const { rows } = await this.database.query(
      `UPDATE ${this.#table} SET seen_at = clock_timestamp()
       WHERE round = ANY($1) AND answer IS NOT NULL RETURNING round, answer, is_cancelled`,
      [rounds],
    );
    return rows.map((row) => ({
      round: row['round'] as string,
      answer: row['answer'] as string,
      isCancelled: row['is_cancelled'] === true,
    }));
  }

  /** Records what followed the answer. */
  async finish(round: string, outcome: string): Promise<void> {
    await this.database.query(`UPDATE ${this.#table} SET outcome = $2 WHERE round = $1`, [round, outcome]);
  }

  /** Asks the server that runs the program to cancel it. */
  async cancel(round: string): Promise<void> {
    await this.database.query(`UPDATE ${this.#table} SET is_cancelled = true WHERE round = $1`, [round]);
  }

  /** What followed the answer, and the time since the server that runs the program was last seen; undefined if removed. */
  async outcome(round: string): Promise<{ outcome: string | undefined; ageMs: number } | undefined> {
    const { rows } = await this.database.query(
      `SELECT outcome, extract(epoch FROM clock_timestamp() - seen_at) * 1000 AS age FROM ${this.#table} WHERE round = $1`,
      [round],
    );
    const row = rows[0];
    return row && { outcome: (row['outcome'] as string | null) ?? undefined, ageMs: Number(row['age']) };
  }

  async remove(rounds: readonly string[]): Promise<void> {
    await this.database.query(`DELETE FROM ${this.#table} WHERE round = ANY($1)`, [rounds]);
  }
}
