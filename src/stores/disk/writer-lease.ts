/**
 * One writer per session, among all processes that share a store.
 *
 * Every contender puts a claim, a file with a name of its own, into the session's lock folder, and only then looks for
 * others. Of two contenders the one that looks last sees the other, so two can never both find themselves alone; who
 * sees another withdraws. Claims of processes that are gone may be removed by anyone at any time: no two claims ever
 * have the same name, so a removal cannot hit a lock that was taken anew.
 *
 *   .locks/<session id in lower case>/<token>    a claim; `.<token>` while it is being written
 */
import { randomInt, randomUUID } from 'node:crypto';
import { lstat, open, readdir, rename, rm, rmdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { SandboxError } from '../../errors.ts';
import { decode } from '../format/manifest.ts';
import { isRunning, thisProcess } from './process-identity.ts';
import { codeOf, ensureFolder, FILE_MODE, isAbsent, readFileSafely } from './safe-files.ts';

const HEARTBEAT_MS = 5_000;
/** A claim whose owner cannot be looked at is dropped when its file has not been touched for this long. */
const SILENCE_MS = 60_000;
const ATTEMPTS = 40;
const MAX_CLAIM_BYTES = 4096;

const name = z.string().max(300);
const claimFile = z.strictObject({
  /** Both words have the same length, so that one takes the other's place in a single write. */
  stage: z.enum(['trial', 'taken']),
  token: z.uuid(),
  pid: z.number().int().min(1).max(0x7fffffff),
  started: name,
  host: name,
  boot: name,
  pid_space: name,
  since: z.iso.datetime(),
});
type Claim = z.infer<typeof claimFile>;

const encode = (claim: Claim) => `${JSON.stringify(claim)}\n`;

/** Held from `acquire` until `release`. */
export class Lock {
  #timer: NodeJS.Timeout | undefined;

  constructor(
    readonly folder: string,
    readonly claim: Claim,
  ) {}

  get path(): string {
    return join(this.folder, this.claim.token);
  }

  /** False when another machine took this process for dead, say after it was suspended. */
  async isHeld(): Promise<boolean> {
    return (await modifiedMs(this.path)) !== undefined;
  }

  /** Makes the claim final and keeps it fresh. */
  async take(): Promise<void> {
    await this.#touch();
    this.#timer = setInterval(() => void this.#touch().catch(() => {}), HEARTBEAT_MS);
    this.#timer.unref();
  }

  async release(): Promise<void> {
    clearInterval(this.#timer);
    await rm(this.path, { force: true });
    // Fails while others have claims, or have just made the folder anew: theirs, then.
    await rmdir(this.folder).catch(() => {});
  }

  /** Writes the same bytes again: the file system dates them with its own clock, which all its users share. */
  async #touch(): Promise<void> {
    const file = await open(this.path, 'r+');
    try {
      await file.write(encode({ ...this.claim, stage: 'taken' }), 0);
    } finally {
      await file.close();
    }
  }
}

/** Takes the lock of a session whose name in lower case is `key`; throws `session_busy` if somebody has it. */
export async function takeLock(locks: string, key: string, id: string): Promise<Lock> {
  const folder = join(locks, key);
  for (let attempt = 0; ; attempt++) {
    const lock = new Lock(folder, newClaim());
    await place(lock);
    try {
      const rival = await findRival(lock, attempt);
      if (rival === undefined) {
        await lock.take();
        return lock;
      }
      if (rival.stage === 'taken' || attempt >= ATTEMPTS) throw busy(id, rival);
    } catch (error) {
      await lock.release();
      throw error;
    }
    await lock.release();
    await sleep(randomInt(1, 20));
  }
}

function newClaim(): Claim {
  return { stage: 'trial', token: randomUUID(), ...thisProcess(), since: new Date().toISOString() };
}

/** Makes a claim visible, complete from the first moment on. */
async function place({ folder, claim, path }: Lock): Promise<void> {
  const unfinished = join(folder, `.${claim.token}`);
  for (let attempt = 0; ; attempt++) {
    try {
      await ensureFolder(dirname(folder));
      await ensureFolder(folder);
      await writeFile(unfinished, encode(claim), { flag: 'wx', mode: FILE_MODE });
      await rename(unfinished, path);
      return;
    } catch (error) {
      // The last one to leave removed the folder just now.
      if (!isAbsent(error) || attempt >= ATTEMPTS) throw error;
    }
  }
}

type Rival = Pick<Claim, 'stage' | 'token'> & { readonly claim: Claim | undefined };

/**
 * Somebody else with a living claim. Among those that are still trying, the smallest token stays for a moment and looks
 * again while the others withdraw, so that one of them gets through.
 */
async function findRival(lock: Lock, attempt: number): Promise<Rival | undefined> {
  for (let looks = 0; ; looks++) {
    const rivals = await livingRivals(lock);
    const [first] = rivals.sort((a, b) => rank(a) - rank(b));
    if (first === undefined || first.stage === 'taken') return first;
    const isFirst = rivals.every(({ token }) => lock.claim.token < token);
    if (!isFirst || looks >= ATTEMPTS || attempt >= ATTEMPTS) return first;
    await sleep(randomInt(1, 5));
  }
}

const rank = ({ stage }: Rival) => (stage === 'taken' ? 0 : 1);

async function livingRivals({ folder, claim, path }: Lock): Promise<Rival[]> {
  const nowMs = (await modifiedMs(path)) ?? 0;
  const rivals: Rival[] = [];
  for (const token of await readdir(folder)) {
    if (token === claim.token) continue;
    const file = join(folder, token);
    const rival = await readClaim(file);
    if (rival === 'gone') continue;
    const touchedMs = await modifiedMs(file);
    if (touchedMs === undefined) continue;
    const isFresh = touchedMs > nowMs - SILENCE_MS;
    if (rival === undefined ? !isFresh : !(isRunning(rival) ?? isFresh)) await rm(file, { force: true });
    // What is being written is not a claim yet; its owner will look after it has become one.
    else if (!token.startsWith('.')) rivals.push({ stage: rival?.stage ?? 'taken', token, claim: rival });
  }
  return rivals;
}

/** Undefined for a file that is not a claim. */
async function readClaim(path: string): Promise<Claim | 'gone' | undefined> {
  try {
    const bytes = await readFileSafely(path, { maxBytes: MAX_CLAIM_BYTES });
    return bytes === undefined ? 'gone' : decode(claimFile, bytes, path);
  } catch (error) {
    if (error instanceof SandboxError) return undefined;
    throw error;
  }
}

async function modifiedMs(path: string): Promise<number | undefined> {
  try {
    return (await lstat(path)).mtimeMs;
  } catch (error) {
    if (isAbsent(error) || codeOf(error) === 'ELOOP') return undefined;
    throw error;
  }
}

function busy(id: string, { claim }: Rival): SandboxError {
  if (claim === undefined) {
    const what = `Session "${id}" has a lock that cannot be read`;
    return new SandboxError('session_busy', `${what}; it will be dropped after ${SILENCE_MS / 1000} s.`);
  }
  const { pid, host, since } = claim;
  const owner =
    pid === process.pid && isRunning(claim) !== undefined ? 'Another sandbox of this process' : 'Process';
  const what = `${owner} (pid ${pid} on ${host}, since ${since}) is using session "${id}".`;
  return new SandboxError('session_busy', `${what} Wait until it is done, or fork the session.`);
}
