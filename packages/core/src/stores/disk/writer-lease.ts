/**
 * One writer per session, among all processes that share a store.
 *
 * A contender first writes a claim, a file with a unique name, into the lock folder of the session, and then looks for
 * other claims. The second of two contenders to look always sees the claim of the other, and a contender that sees
 * another claim withdraws, so two never both succeed. Any process may remove the claim of a process that has ended: claim
 * names are never reused, so this cannot remove a newer claim.
 *
 *   .locks/<session id in lower case>/<token>    a claim; `.<token>` while it is being written
 */
import { randomInt, randomUUID } from 'node:crypto';
import { lstat, open, readdir, rename, rm, rmdir, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import { SandboxError } from '../../errors.ts';
import { isoTime } from '../../schema/iso-time.ts';
import { decodeJson } from '../format/stored-json.ts';
import { codeOf, isNotFound } from './file-errors.ts';
import { isRunning, thisProcess } from './process-identity.ts';
import { ensureFolder, FILE_MODE, readFileSafely } from './safe-files.ts';

const HEARTBEAT_MS = 5_000;
/** If the owner of a claim cannot be checked, the claim expires when its file has not been updated for this long. */
const CLAIM_EXPIRY_MS = 60_000;
/** A claim that expires this soon is waited for. The owner of a claim updates it before that. */
const EXPIRES_SOON_MS = 2 * HEARTBEAT_MS;
const MAX_ATTEMPTS = 40;
const MAX_CLAIM_BYTES = 4096;

const shortText = z.string().max(300);
const claimFile = z.strictObject({
  /** Both values have the same length, so a single write can replace one with the other. */
  stage: z.enum(['trial', 'taken']),
  token: z.uuid(),
  pid: z.number().int().min(1).max(0x7fffffff),
  started: shortText,
  host: shortText,
  boot: shortText,
  pid_space: shortText,
  since: z.iso.datetime(),
});
type Claim = z.infer<typeof claimFile>;

/** Claims that this process has released but could not delete yet. */
const released = new Set<string>();

const encodeClaim = (claim: Claim) => `${JSON.stringify(claim)}\n`;

/** The exclusive right to write a session, from `acquireLease` until `release`. */
export class WriterLease {
  #timer: NodeJS.Timeout | undefined;

  constructor(
    readonly folder: string,
    readonly claim: Claim,
  ) {}

  get path(): string {
    return join(this.folder, this.claim.token);
  }

  /** False if another process removed the claim, for example because this process was suspended too long. */
  async isHeld(): Promise<boolean> {
    return (await modifiedMs(this.path)) !== undefined;
  }

  /** Marks the claim as taken and starts the heartbeat. */
  async confirm(): Promise<void> {
    await this.#touch();
    this.#timer = setInterval(() => void this.#touch().catch(() => {}), HEARTBEAT_MS);
    this.#timer.unref();
  }

  /** Never rejects. If the claim cannot be deleted now, it no longer counts in this process, and is deleted later. */
  async release(): Promise<void> {
    clearInterval(this.#timer);
    released.add(this.claim.token);
    await this.#delete().catch(() => {
      this.#timer = setInterval(() => void this.#delete().catch(() => {}), HEARTBEAT_MS);
      this.#timer.unref();
    });
  }

  async #delete(): Promise<void> {
    await rm(this.path, { force: true });
    clearInterval(this.#timer);
    released.delete(this.claim.token);
    // Fails while the folder contains other claims; their owners remove it.
    await rmdir(this.folder).catch(() => {});
  }

  /** Writes the claim again, so that the file system updates its time with the clock that all processes share. */
  async #touch(): Promise<void> {
    const file = await open(this.path, 'r+');
    try {
      await file.write(encodeClaim({ ...this.claim, stage: 'taken' }), 0);
    } finally {
      await file.close();
    }
  }
}

/** Acquires the lease of session `id`. `key` is the case-folded id. Throws `session_busy` if another writer holds it. */
export async function acquireLease(locks: string, key: string, id: string): Promise<WriterLease> {
  const folder = join(locks, key);
  const waitUntil = performance.now() + EXPIRES_SOON_MS + HEARTBEAT_MS;
  for (let attempt = 0; ; attempt++) {
    const lease = new WriterLease(folder, newClaim());
    await publishClaim(lease);
    let delayMs = randomInt(1, 20);
    try {
      const rival = await findRival(lease, attempt);
      if (rival === undefined) {
        await lease.confirm();
        return lease;
      }
      const { stage, expiresInMs } = rival;
      if (expiresInMs <= EXPIRES_SOON_MS && performance.now() < waitUntil) {
        attempt = 0;
        delayMs = Math.min(500, expiresInMs + 1);
      } else if (stage === 'taken' || attempt >= MAX_ATTEMPTS) throw sessionBusy(id, rival);
    } catch (error) {
      await lease.release();
      throw error;
    }
    await lease.release();
    await sleep(delayMs);
  }
}

function newClaim(): Claim {
  return { stage: 'trial', token: randomUUID(), ...thisProcess(), since: isoTime(Date.now()) };
}

/** Creates the claim file; it becomes visible only when it is complete. */
async function publishClaim({ folder, claim, path }: WriterLease): Promise<void> {
  const unfinished = join(folder, `.${claim.token}`);
  for (let attempt = 0; ; attempt++) {
    try {
      await ensureFolder(dirname(folder));
      await ensureFolder(folder);
      await writeFile(unfinished, encodeClaim(claim), { flag: 'wx', mode: FILE_MODE });
      await rename(unfinished, path);
      return;
    } catch (error) {
      if (attempt >= MAX_ATTEMPTS) throw error;
      // Something that is not a folder holds no claims, and must not keep a session from being deleted.
      if (error instanceof SandboxError) await rm(folder, { force: true });
      // Otherwise, another process released its lease and removed the folder at this moment.
      else if (!isNotFound(error)) throw error;
    }
  }
}

/** Another live claim; `claim` is undefined if its file is unreadable. */
interface Rival extends Pick<Claim, 'stage' | 'token'> {
  readonly claim: Claim | undefined;
  /** Infinite if its owner is known to run. */
  readonly expiresInMs: number;
}

/**
 * Returns another live claim, if any. Among contenders in the trial stage, the one with the smallest token stays and
 * checks again while the others withdraw, so that one of them succeeds.
 */
async function findRival(lease: WriterLease, attempt: number): Promise<Rival | undefined> {
  for (let checks = 0; ; checks++) {
    const rivals = await liveRivals(lease);
    const [first] = rivals.sort((a, b) => rank(a) - rank(b));
    if (first === undefined || first.stage === 'taken') return first;
    const isFirst = rivals.every(({ token }) => lease.claim.token < token);
    if (!isFirst || checks >= MAX_ATTEMPTS || attempt >= MAX_ATTEMPTS) return first;
    await sleep(randomInt(1, 5));
  }
}

const rank = ({ stage }: Rival) => (stage === 'taken' ? 0 : 1);

/** Returns the live claims of others and removes stale ones. */
async function liveRivals({ folder, claim, path }: WriterLease): Promise<Rival[]> {
  const nowMs = (await modifiedMs(path)) ?? 0;
  const rivals: Rival[] = [];
  for (const token of await readdir(folder)) {
    if (token === claim.token) continue;
    const file = join(folder, token);
    const other = await readClaim(file);
    if (other === 'deleted') continue;
    const touchedMs = await modifiedMs(file);
    if (touchedMs === undefined) continue;
    const runs = released.has(token) ? false : other && isRunning(other);
    const expiresInMs = runs === true ? Number.POSITIVE_INFINITY : await expiryOf(file, touchedMs, nowMs);
    if (runs === false || expiresInMs <= 0) await rm(file, { force: true, recursive: true });
    // An unfinished claim does not count: its owner looks for other claims after publishing it.
    else if (!token.startsWith('.'))
      rivals.push({ stage: other?.stage ?? 'taken', token, claim: other, expiresInMs });
  }
  return rivals;
}

/**
 * How long a claim is valid whose owner cannot be checked. A time in the future comes from a clock that was set back since,
 * and would never expire. It is set to one that expires soon; an owner that is still running updates it before that.
 */
async function expiryOf(file: string, touchedMs: number, nowMs: number): Promise<number> {
  if (touchedMs <= nowMs + HEARTBEAT_MS) return touchedMs + CLAIM_EXPIRY_MS - nowMs;
  const resetMs = nowMs - CLAIM_EXPIRY_MS + EXPIRES_SOON_MS;
  await utimes(file, resetMs / 1000, resetMs / 1000).catch(() => {});
  return EXPIRES_SOON_MS;
}

/** Returns undefined if the file is not a valid claim. */
async function readClaim(path: string): Promise<Claim | 'deleted' | undefined> {
  try {
    const bytes = await readFileSafely(path, { maxBytes: MAX_CLAIM_BYTES });
    return bytes === undefined ? 'deleted' : decodeJson(claimFile, bytes, path);
  } catch (error) {
    if (error instanceof SandboxError) return undefined;
    throw error;
  }
}

async function modifiedMs(path: string): Promise<number | undefined> {
  try {
    return (await lstat(path)).mtimeMs;
  } catch (error) {
    if (isNotFound(error) || codeOf(error) === 'ELOOP') return undefined;
    throw error;
  }
}

function sessionBusy(id: string, { claim }: Rival): SandboxError {
  if (claim === undefined) {
    return new SandboxError(
      'session_busy',
      `Session "${id}" has an unreadable lock file. It expires after ${CLAIM_EXPIRY_MS / 1000} s; try again then.`,
      { publicMessage: `Session "${id}" is locked. Retry in ${CLAIM_EXPIRY_MS / 1000} s.` },
    );
  }
  const { pid, host, since } = claim;
  const isThisProcess = pid === process.pid && isRunning(claim) === true;
  const owner = isThisProcess ? 'another sandbox of this process' : 'another process';
  const advice = 'Wait until it is closed, or fork the session.';
  return new SandboxError(
    'session_busy',
    `Session "${id}" is open in ${owner} (pid ${pid} on ${host}, since ${since}). ${advice}`,
    { publicMessage: publicBusyMessage(id, isThisProcess) },
  );
}

function publicBusyMessage(id: string, isThisProcess: boolean): string {
  return isThisProcess
    ? `Session "${id}" is in use by another call to this server, for example one that is closing it. Retry in a moment.`
    : `Session "${id}" is in use by another process. Retry later or use another session.`;
}
