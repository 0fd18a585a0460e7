/**
 * A program that uses a disk store in its own process, for tests that kill it, run several at once or restrict its
 * permissions. It prints a line after each completed step. Arguments: command, folder of the store, session id, number.
 */
import { writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { SandboxError } from '../../../packages/core/src/errors.ts';
import { diskStore } from '../../../packages/core/src/stores/disk/disk-store.ts';
import type { SessionStore, StoredSession } from '../../../packages/core/src/stores/store.ts';
import { nthSession } from './numbered-sessions.ts';

const [command, dir, id, number] = process.argv.slice(2) as [string, string, string, string];
const print = (line: string | number) => writeSync(1, `${line}\n`);

async function acquireWithRetry(store: SessionStore): Promise<() => Promise<void>> {
  for (;;) {
    try {
      return await store.acquire(id);
    } catch (error) {
      if (!(error instanceof SandboxError && error.code === 'session_busy')) throw error;
      await sleep(Math.random() * 10);
    }
  }
}

/** Writes numbered sessions until it is killed. */
async function write(store: SessionStore): Promise<void> {
  await store.acquire(id);
  let last: StoredSession | undefined = await store.read(id);
  for (;;) {
    await store.edits(id);
    last = nthSession(id, (last?.state.version ?? 0) + 1, last?.state);
    await store.write(last);
    print(last.state.version);
  }
}

/** Increments the version of the session `number` times and acquires and releases the session each time. */
async function count(store: SessionStore): Promise<void> {
  for (let done = 0; done < Number(number); done++) {
    const release = await acquireWithRetry(store);
    const version = ((await store.read(id))?.state.version ?? 0) + 1;
    await store.write(nthSession(id, version, undefined));
    print(version);
    await release();
  }
}

/** Writes one session with a memory image of `number` bytes and prints the outcome. */
async function writeOnce(store: SessionStore): Promise<void> {
  try {
    const next = nthSession(id, ((await store.read(id))?.state.version ?? 0) + 1, undefined, Number(number));
    await store.write(next);
    print(`wrote ${next.state.version}`);
  } catch (error) {
    print(error instanceof SandboxError ? `${error.code}: ${error.message}` : `not a SandboxError: ${error}`);
  }
}

const commands: Record<string, (store: SessionStore) => Promise<void>> = { write, count, writeOnce };
await commands[command]!(diskStore(dir, { durability: id === 'relaxed' ? 'relaxed' : 'strict' }));
