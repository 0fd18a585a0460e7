/** `createSandbox`: creates a plain sandbox, or a session if any option requires one. */
import { randomUUID } from 'node:crypto';
import type { z } from 'zod';
import { checkMemory, checkMountPoints, createParts, type SandboxOptions } from '../sandbox/create-parts.ts';
import { measureImport } from '../sandbox/measure-import.ts';
import { areOnDemand } from '../sandbox/packages-on-demand.ts';
import { freshSandbox, type Sandbox } from '../sandbox/sandbox.ts';
import { loadsImports, type SandboxImage } from '../sandbox/sandbox-image.ts';
import { type PolicyInput, parse, sandboxOptions } from '../schema.ts';
import { memoryStore } from '../stores/memory/memory-store.ts';
import type { SessionStore } from '../stores/store.ts';
import { Session, type SessionOwner } from './session.ts';
import { sessionExists, sessionNotFound } from './session-errors.ts';
import { recordedImage, recordedPreload, withRecordedModules } from './session-image.ts';
import { SessionPersistence } from './session-persistence.ts';

/** Options of `createSandbox` that create or open a session: a name, a store, or `auto_persist_globals: true`. */
export type SessionOptions = SandboxOptions &
  ({ session_id: string } | { store: SessionStore } | { auto_persist_globals: true });

/** Sessions without a store are kept here until the process ends. */
const processStore = memoryStore();

/**
 * Creates a session, or opens the stored session with the given name. The variables and files of a session persist between
 * calls. Throws `session_mismatch` if the stored session has a different runtime or different settings. Throws
 * `session_busy` if another process or sandbox is using the session.
 */
export function createSandbox(options: SessionOptions): Promise<Session>;
/**
 * Creates a sandbox without a session. Every call starts a fresh interpreter; the files of the workspace persist between
 * calls.
 *
 * Unless the pool has `optimization: 'demand'`, the first sandbox of a pool starts a worker thread, which loads the
 * interpreter. Creating further sandboxes is cheap.
 *
 * Throws `invalid_argument` if an option is invalid, or `build_failed` if the image for `preload` and `packages` cannot be
 * built.
 */
export function createSandbox(options: SandboxOptions): Promise<Sandbox>;
export async function createSandbox(options: SandboxOptions): Promise<Sandbox> {
  const checked = parse(sandboxOptions, options, 'options');
  const { session_id, store, auto_persist_globals } = checked;
  if (session_id !== undefined || store !== undefined || auto_persist_globals)
    return openSession(checked, options.policy ?? {});
  const parts = await createParts(checked, measureImport);
  checkMemory(parts.policy, parts.image.assets);
  parts.pool.prepareFirst(parts.image.assets, parts.policy.memory_bytes);
  return freshSandbox(parts);
}

/** Returns whether a sandbox is a session. */
export function isSession(sandbox: Sandbox): sandbox is Session {
  return sandbox instanceof Session;
}

interface OpeningMode {
  /** The registry that the session belongs to. */
  readonly owner?: SessionOwner;
  /** Excludes one of creating and opening. */
  readonly mustBe?: 'new' | 'stored' | undefined;
  /** A stored session gets the image that it has recorded, not that of the options. */
  readonly usesRecorded?: boolean;
}

/** Opens a session as its only writer, or creates it. */
export async function openSession(
  options: z.output<typeof sandboxOptions>,
  givenPolicy: PolicyInput,
  { owner, mustBe, usesRecorded = false }: OpeningMode = {},
): Promise<Session> {
  const { runtime, session_id = randomUUID(), auto_persist_globals = true } = options;
  const parts = await createParts(options, measureImport);
  // Other processes that have opened the session would not notice that its image changes.
  const isFixed = owner?.leaseWaitMs !== undefined && loadsImports(parts.image);
  let image: SandboxImage = isFixed ? { ...parts.image, loads: 'named' } : parts.image;
  const isRecorded = usesRecorded || areOnDemand(options.packages);
  const settings = {
    session_id,
    runtime,
    auto_persist_globals,
    preload: isRecorded ? undefined : recordedPreload(image),
    loadsImports: loadsImports(image),
    policy: givenLimits(givenPolicy),
    placeholders: parts.network?.secrets.placeholders,
  };
  const store = (options.store as SessionStore | undefined) ?? processStore;
  const wait = owner?.leaseWaitMs === undefined ? undefined : { ms: owner.leaseWaitMs };
  const persistence =
    (wait && (await SessionPersistence.openShared(store, settings))) ??
    (await SessionPersistence.open(store, settings, undefined, wait));
  // It was deleted or created while it was being opened.
  if (mustBe !== undefined && persistence.isNew !== (mustBe === 'new')) {
    await persistence.release();
    throw mustBe === 'new' ? sessionExists(session_id) : sessionNotFound(session_id);
  }
  const policy = { ...parts.policy, ...persistence.record.policy };
  parts.network?.secrets.use(policy.env);
  try {
    if (isRecorded) image = await recordedImage({ ...parts, image }, persistence.record);
    else if (settings.loadsImports)
      image = await withRecordedModules({ ...parts, image }, persistence.record);
    checkMemory(policy, image.assets);
    checkMountPoints(policy, image.assets);
  } catch (cause) {
    await persistence.release();
    throw cause;
  }
  parts.pool.prepareFirst(image.assets, policy.memory_bytes);
  const session = Session.of({ ...parts, policy, image }, persistence, owner);
  await session.openStates();
  session.logOpened();
  return session;
}

/** The limits that the caller gave, without what is not stored. Limits that are left out are those of the stored session. */
function givenLimits({ mounts, network, ...limits }: PolicyInput): PolicyInput {
  return Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined));
}
