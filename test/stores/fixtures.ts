/** Builds sessions for store tests, and converts them to plain values that `toEqual` can compare. */
import { type Entry, putEntry, type TreeEdit } from '../../packages/core/src/fs/flat-entries.ts';
import { sessionPolicy } from '../../packages/core/src/schema.ts';
import { stateBytes } from '../../packages/core/src/stores/format/state-size.ts';
import type {
  Checkpoint,
  SessionRecord,
  SessionState,
  SessionStore,
  StoredSession,
} from '../../packages/core/src/stores/store.ts';
import { applyEdit } from '../fs/support.ts';

export const T0 = Date.parse('2026-03-01T12:00:00Z');

export function shared(content: string | Uint8Array): Uint8Array {
  const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content;
  const copy = new Uint8Array(new SharedArrayBuffer(bytes.length));
  copy.set(bytes);
  return copy;
}

export const text = (bytes: Uint8Array | undefined) => bytes && Buffer.from(bytes).toString();

/** Builds entries by path; a path ending in `/` is a folder, and content starting with `-> ` is a link. */
export function files(contents: Readonly<Record<string, string>>): Map<string, Entry> {
  const entries = new Map<string, Entry>();
  for (const [path, content] of Object.entries(contents)) {
    const common = { mtimeMs: T0, mode: 0o644 };
    if (path.endsWith('/'))
      putEntry(entries, { ...common, path: path.slice(0, -1), kind: 'dir', mode: 0o755 });
    else if (content.startsWith('-> '))
      putEntry(entries, { ...common, path, kind: 'symlink', target: content.slice(3) });
    else putEntry(entries, { ...common, path, kind: 'file', data: shared(content) });
  }
  return entries;
}

export function state(
  version: number,
  workspace: Readonly<Record<string, string>> | ReadonlyMap<string, Entry> = {},
  delta: string | undefined = `memory ${version}`,
  tmp: Readonly<Record<string, string>> = {},
): SessionState {
  return {
    version,
    delta: delta === undefined ? undefined : [shared(delta)],
    workspace: workspace instanceof Map ? workspace : files(workspace as Record<string, string>),
    tmp: [...files(tmp).values()],
  };
}

export function record(session_id: string, extra: Partial<SessionRecord> = {}): SessionRecord {
  return {
    session_id,
    runtime: 'python',
    auto_persist_globals: true,
    created_at: '2026-03-01T12:00:00.000Z',
    last_used_at: '2026-03-01T12:00:00.000Z',
    calls: 1,
    fuel_consumed: 12_345_678_901,
    imports: ['json', 'openpyxl'],
    declared: [],
    preload: [],
    policy: sessionPolicy.parse({ fuel_budget: 5_000_000, env: { MODE: 'test' } }),
    ...extra,
  };
}

export function session(
  id: string,
  present: SessionState,
  extra: Partial<StoredSession> = {},
): StoredSession {
  return { record: record(id), state: present, undo: undefined, checkpoints: [], ...extra };
}

export function checkpoint(name: string, saved: SessionState): Checkpoint {
  return { name, created_at: '2026-03-01T12:00:00.000Z', size_bytes: stateBytes(saved), state: saved };
}

/** Reads a session with the states of its checkpoints. */
export async function readComplete(store: SessionStore, id: string): Promise<StoredSession | undefined> {
  const stored = await store.read(id);
  if (stored === undefined) return undefined;
  const checkpoints: Checkpoint[] = [];
  for (const one of stored.checkpoints)
    checkpoints.push({ ...one, state: one.state ?? (await store.readCheckpoint?.(id, one.name)) });
  return { ...stored, checkpoints };
}

/** Converts entries to a form that `toEqual` compares by content. */
export function plain(entries: Iterable<Entry>): unknown[] {
  return [...entries]
    .map(({ data, ...entry }) => ({ ...entry, ...(data && { data: Buffer.from(data).toString('latin1') }) }))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

export function plainState({ version, delta, workspace, tmp }: SessionState): unknown {
  return { version, delta: delta?.map(text), workspace: plain(workspace.values()), tmp: plain(tmp) };
}

export function plainSession(stored: StoredSession | undefined): unknown {
  if (stored === undefined) return undefined;
  const { undo, checkpoints } = stored;
  return {
    record: stored.record,
    state: plainState(stored.state),
    undo: undo && plainState(undo),
    checkpoints: checkpoints.map((checkpoint) => ({ ...checkpoint, state: plainState(checkpoint.state!) })),
  };
}

/** Applies edits as a session does before its next call. */
export function withEdits(workspace: ReadonlyMap<string, Entry>, edits: TreeEdit): Map<string, Entry> {
  const next = new Map(workspace);
  applyEdit(next, edits);
  return next;
}
