/** Sessions that are derived from a number, so that a test can tell which one a store holds and whether it is complete. */
import type { Entry } from '../../../packages/core/src/fs/flat-entries.ts';
import { sessionPolicy } from '../../../packages/core/src/schema.ts';
import { stateBytes } from '../../../packages/core/src/stores/format/state-size.ts';
import type { Checkpoint, SessionState, StoredSession } from '../../../packages/core/src/stores/store.ts';

const T0 = Date.parse('2026-03-01T12:00:00Z');

export function shared(content: string): Uint8Array {
  const bytes = new TextEncoder().encode(content);
  const copy = new Uint8Array(new SharedArrayBuffer(bytes.length));
  copy.set(bytes);
  return copy;
}

/** From one number to the next, files stay, change, appear, disappear, and turn into folders and back. */
export function nthFiles(n: number): Record<string, string> {
  const files: Record<string, string> = {
    same: 'always',
    counter: String(n),
    'd/e/deep': `deep ${n}`,
    'd/even': `${n & ~1}`,
  };
  for (let i = 0; i < n % 7; i++) files[`some/${i}`] = `${n}-${i}`;
  if (n % 3 === 0) files[`only-${n}`] = 'x'.repeat(n % 5000);
  if (n % 2 === 0) files['turn'] = `file ${n}`;
  else files['turn/inner'] = `folder ${n}`;
  return files;
}

export function nthState(n: number, memoryBytes = 20_000): SessionState {
  const workspace = new Map<string, Entry>();
  const add = (entry: Entry) => workspace.set(entry.path, entry);
  for (const [path, content] of Object.entries(nthFiles(n))) {
    for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1)) {
      add({ path: path.slice(0, at), kind: 'dir', mode: 0o755, mtimeMs: T0 });
    }
    add({ path, kind: 'file', mode: 0o644, mtimeMs: T0 + n, data: shared(content) });
  }
  add({ path: 'link', kind: 'symlink', mode: 0o777, mtimeMs: T0, target: `only-${n}` });
  const delta = shared(`memory of ${n} `.padEnd(memoryBytes, String(n)));
  return {
    version: n,
    delta: [delta],
    workspace,
    tmp: [{ path: 't', kind: 'file', mode: 0o600, mtimeMs: T0, data: shared(`tmp ${n}`) }],
  };
}

function checkpointOf(n: number): Checkpoint {
  const saved = nthState(n - 5);
  const created_at = '2026-03-01T12:00:00.000Z';
  return { name: `of-${n}`, created_at, size_bytes: stateBytes(saved), state: saved };
}

export function nthSession(
  id: string,
  n: number,
  undo: SessionState | undefined,
  memoryBytes?: number,
): StoredSession {
  return {
    record: {
      session_id: id,
      runtime: 'python',
      auto_persist_globals: true,
      created_at: '2026-03-01T12:00:00.000Z',
      last_used_at: '2026-03-01T12:00:00.000Z',
      calls: n,
      fuel_consumed: n * 1000,
      imports: [],
      declared: [],
      preload: [],
      policy: sessionPolicy.parse({}),
    },
    state: nthState(n, memoryBytes),
    undo,
    checkpoints: n % 10 < 5 ? [] : [checkpointOf(n)],
  };
}
