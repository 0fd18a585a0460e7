/**
 * What a session contains: its record, the current state, the one before the last call, and the checkpoints. Contents are immutable
 * and share the bytes of states, so a checkpoint, an undo or a fork is a reference and costs nothing.
 */
import { SandboxError } from '../errors.ts';
import { EMPTY_TREE, type FileTree } from '../fs/immutable-file-tree.ts';
import { MAX_VARIABLES } from '../runtimes/language.ts';
import { isoTime } from '../schema/iso-time.ts';
import { isPlaceholder } from '../schema/placeholders.ts';
import { type PolicyInput, parse, type RuntimeName, type SessionPolicy, sessionPolicy } from '../schema.ts';
import type { SessionRecord, SessionState, StoredSession } from '../stores/store.ts';
import type { RunOutcome } from '../worker/protocol/messages.ts';
import { describeImage, imageKey, packagesKey } from './session-image.ts';

/** How a session is opened. */
export interface SessionSettings {
  readonly session_id: string;
  readonly runtime: RuntimeName;
  readonly auto_persist_globals: boolean;
  /** Undefined: the recorded image. */
  readonly preload: readonly string[] | undefined;
  /** Whether the recorded image may have modules of its packages that `preload` does not name. */
  readonly loadsImports?: boolean;
  /** Limits that replace those of the stored session, from now on. */
  readonly policy: Omit<PolicyInput, 'mounts' | 'network'>;
  /** Environment variables that the session gets unless it has them. */
  readonly placeholders?: Readonly<Record<string, string>> | undefined;
}

const EMPTY_STATE: SessionState = { version: 0, delta: undefined, workspace: EMPTY_TREE, tmp: [] };

/** The record with the paused execution of a state, if it has one. */
function withPaused({ paused: _, ...record }: SessionRecord, { paused }: SessionState): SessionRecord {
  if (paused === undefined) return record;
  const { execution_id, paused_at } = paused;
  return { ...record, paused: { execution_id, paused_at } };
}

/** A session without calls, empty or with the state of `origin`. */
export function newSession(
  settings: SessionSettings,
  policy: SessionPolicy,
  origin: Pick<StoredSession, 'record' | 'state'> | undefined,
): StoredSession {
  const { session_id, runtime, auto_persist_globals, preload } = settings;
  const now = isoTime(Date.now());
  const record: SessionRecord = {
    session_id,
    runtime,
    auto_persist_globals,
    preload: preload ?? [],
    policy,
    created_at: now,
    last_used_at: now,
    calls: 0,
    fuel_consumed: 0,
    // A fork inherits what the interpreter contains, but not what it cost.
    imports: origin?.record.imports ?? [],
    declared: origin?.record.declared ?? [],
  };
  return { record, state: origin?.state ?? EMPTY_STATE, undo: undefined, checkpoints: [] };
}

/** The limits of a session that is opened. Throws `session_mismatch` if the stored session has other settings. */
export function policyFor(settings: SessionSettings, stored: SessionRecord | undefined): SessionPolicy {
  if (stored !== undefined) checkSettings(stored, settings);
  const policy = parse(sessionPolicy, { ...stored?.policy, ...settings.policy }, 'policy');
  const names = Object.keys(settings.placeholders ?? {});
  if (names.length === 0) return policy;
  const known = stored?.policy.env ?? {};
  const kept = names.map((name) => [
    name,
    isPlaceholder(known[name]) ? known[name]! : settings.placeholders![name]!,
  ]);
  return { ...policy, env: { ...policy.env, ...Object.fromEntries(kept) } };
}

function checkSettings(record: SessionRecord, settings: SessionSettings): void {
  const { preload } = settings;
  const key = settings.loadsImports ? packagesKey : imageKey;
  if (preload !== undefined && key(record.preload) !== key(preload))
    throw settingsMismatch(
      record,
      `${describeImage(record.preload)}, but was opened with ${describeImage(preload)}`,
    );
  for (const field of ['runtime', 'auto_persist_globals'] as const) {
    if (settings[field] === undefined || record[field] === settings[field]) continue;
    throw settingsMismatch(record, `${field} ${record[field]}, not ${settings[field]}`);
  }
}

const settingsMismatch = ({ session_id }: SessionRecord, facts: string) =>
  new SandboxError(
    'session_mismatch',
    `The session ${session_id} has ${facts}. Open it with its own settings, or use another session_id.`,
  );

/** The record after a call, regardless of its outcome. */
export function countCall(
  record: SessionRecord,
  { fuelConsumed, declared, state }: RunOutcome,
  imports: readonly string[],
): SessionRecord {
  const counted = {
    ...record,
    last_used_at: isoTime(Date.now()),
    calls: record.calls + 1,
    fuel_consumed: record.fuel_consumed + fuelConsumed,
  };
  if (state === 'rolled_back') return counted;
  return {
    ...counted,
    declared: [...new Set([...record.declared, ...declared])].slice(-MAX_VARIABLES),
    imports: [...new Set([...record.imports, ...imports])].sort(),
  };
}

/** The imports of states by their memory, as far as this process has run their calls. */
const importsOf = new WeakMap<object, readonly string[]>();

/** The imports of a state. If they are not known, because a store had the state, those of all calls. */
export const importsIn = ({ delta }: SessionState, { imports }: SessionRecord): readonly string[] =>
  delta === undefined ? [] : (importsOf.get(delta) ?? imports);

/** The record says whether the current state is paused, so that a store can list it. */
export const withState = (contents: StoredSession, state: SessionState): StoredSession => ({
  ...contents,
  state,
  record: withPaused(contents.record, state),
});

/** An unchanged state stays the same object, because stores encode each state only once. */
export const withWorkspace = (contents: StoredSession, workspace: FileTree): StoredSession =>
  workspace === contents.state.workspace
    ? contents
    : { ...contents, state: { ...contents.state, workspace } };

/** The contents after a call that left `next`; `before` can be restored with undo. */
export function committed(contents: StoredSession, next: SessionState, before: SessionState): StoredSession {
  if (next.delta !== undefined) importsOf.set(next.delta, contents.record.imports);
  return withState({ ...contents, undo: before }, next);
}

/** The contents with an earlier state. It gets a new version, so that no live guest is mistaken for it. */
export function rolledBack(contents: StoredSession, target: SessionState): StoredSession {
  const record = { ...contents.record, imports: importsIn(target, contents.record) };
  return withState({ ...contents, record }, { ...target, version: contents.state.version + 1 });
}

/** The contents with a new interpreter. The files stay. */
export function restarted(contents: StoredSession): StoredSession {
  const { version, workspace } = contents.state;
  const record = { ...contents.record, imports: [], declared: [] };
  return withState({ ...contents, record }, { ...EMPTY_STATE, version: version + 1, workspace });
}

/** Earlier contents, after a change that could not be saved. Calls stay counted. */
export function restored(
  contents: StoredSession,
  { state, undo, checkpoints }: StoredSession,
): StoredSession {
  // A worker may hold a guest with the version of the abandoned state, so that version is not used again.
  const version = contents.state.version + 1;
  return withState({ ...contents, undo, checkpoints }, { ...state, version });
}

/** The record of contents that are only in the store; their version, and what is known of their checkpoints. */
export const withoutStates = (contents: StoredSession): StoredSession => ({
  ...contents,
  state: { ...EMPTY_STATE, version: contents.state.version },
  undo: undefined,
});

/** The states that are in memory. */
export const statesIn = ({ state, undo, checkpoints }: StoredSession): SessionState[] =>
  [state, undo, ...checkpoints.map((one) => one.state)].filter((one) => one !== undefined);
