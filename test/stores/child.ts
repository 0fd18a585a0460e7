/**
 * A process of its own that uses a store: started by tests that kill it, let several fight, or take its rights away.
 * Tells of each thing done in a line. Arguments: the act, the folder of the store, the session, a number.
 */
import { writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { SandboxError } from '../../src/errors.ts';
import { diskStore } from '../../src/stores/disk/disk-store.ts';
import type { SessionStore, StoredSession } from '../../src/stores/store.ts';
import { nthSession } from './sequence.ts';

const [act, dir, id, number] = process.argv.slice(2) as [string, string, string, string];
const tell = (line: string | number) => writeSync(1, `${line}\n`);

async function acquire(store: SessionStore): Promise<() => Promise<void>> {
  for (;;) {
    try {
      return await store.acquire(id);
    } catch (error) {
      if (!(error instanceof SandboxError && error.code === 'session_busy')) throw error;
      await sleep(Math.random() * 10);
    }
  }
}

/** One write after the other, until killed. */
async function write(store: SessionStore): Promise<void> {
  await store.acquire(id);
  let last: StoredSession | undefined = await store.read(id);
  for (;;) {
    await store.edits(id);
    last = nthSession(id, (last?.state.version ?? 0) + 1, last?.state);
    await store.write(last);
    tell(last.state.version);
  }
}

/** Adds one to the session's version, again and again, taking and giving back the lock each time. */
async function count(store: SessionStore): Promise<void> {
  for (let done = 0; done < Number(number); done++) {
    const release = await acquire(store);
    const version = ((await store.read(id))?.state.version ?? 0) + 1;
    await store.write(nthSession(id, version, undefined));
    tell(version);
    await release();
  }
}

/** Writes one session; an argument says how large. */
async function writeOnce(store: SessionStore): Promise<void> {
  try {
    const next = nthSession(id, ((await store.read(id))?.state.version ?? 0) + 1, undefined, Number(number));
    await store.write(next);
    tell(`wrote ${next.state.version}`);
  } catch (error) {
    tell(error instanceof SandboxError ? `${error.code}: ${error.message}` : `not a SandboxError: ${error}`);
  }
}

const acts: Record<string, (store: SessionStore) => Promise<void>> = { write, count, writeOnce };
await acts[act]!(diskStore(dir, { survives: id === 'second' ? 'kill' : 'power_loss' }));
