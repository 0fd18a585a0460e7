/**
 * A process that appends to lists in a shared PostgreSQL store until it is ended. A list is a file of a session. It prints
 * `try` and then the outcome of each append: `ok` or the code of the error.
 * Arguments: connection string, name of the process, ids of the sessions.
 */
import { writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { SandboxError } from '../../../packages/core/src/errors.ts';
import { postgresStore } from '../../../packages/core/src/stores/postgres/postgres-store.ts';
import { nthSession, shared } from '../disk/numbered-sessions.ts';

const [connectionString, name, ...ids] = process.argv.slice(2) as [string, string, ...string[]];
const store = postgresStore({ connectionString, leaseSeconds: 1 });
const print = (line: string) => writeSync(1, `${line}\n`);

async function append(id: string, item: string): Promise<void> {
  const release = await store.acquire(id);
  try {
    const before = await store.read(id);
    const data = before?.state.workspace.get('list')?.data;
    const list = data === undefined ? '' : Buffer.from(data).toString();
    const version = (before?.state.version ?? 0) + 1;
    const session = nthSession(id, version, before?.state);
    const file = { kind: 'file', mode: 0o644, mtimeMs: 0, data: shared(`${list}${item}\n`) } as const;
    const workspace = new Map([...session.state.workspace, ['list', { path: 'list', ...file }]]);
    print(`try ${id} ${item}`);
    await store.write({ ...session, state: { ...session.state, workspace } });
    print(`ok ${id} ${item}`);
  } finally {
    await release().catch(() => {});
  }
}

for (let n = 1; ; n++) {
  const id = ids[Math.floor(Math.random() * ids.length)]!;
  const item = `${name}-${n}`;
  try {
    await append(id, item);
  } catch (error) {
    if (!(error instanceof SandboxError)) throw error;
    print(`${error.code} ${id} ${item}`);
    await sleep(Math.random() * 20);
  }
}
