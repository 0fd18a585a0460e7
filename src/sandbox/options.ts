/**
 * From the options of a caller to the parts of a sandbox: everything is checked before anything is made, and a session
 * that turns out not to fit is let go of again.
 */
import { randomUUID } from 'node:crypto';
import type { z } from 'zod';
import { SandboxError } from '../errors.ts';
import { readHostTree } from '../host/read-host-tree.ts';
import { importNames } from '../packages/manifest.ts';
import { readUserPackages } from '../packages/user-packages.ts';
import {
  type EventLogger,
  type Policy,
  type PolicyInput,
  parse,
  type RuntimeName,
  sandboxOptions,
} from '../schema.ts';
import { Session } from '../session/timeline.ts';
import { memoryStore } from '../stores/memory/memory-store.ts';
import type { SessionStore } from '../stores/store.ts';
import { assetsOf, extendedAssets, type ImageExtension } from '../worker/guest-assets.ts';
import { type MountSet, toShared } from '../worker/protocol.ts';

/** Options of `createSandbox`. */
export type SandboxOptions = Omit<z.input<typeof sandboxOptions>, 'store'> & { store?: SessionStore };

/** What a sandbox is made of. */
export interface SandboxParts {
  readonly runtime: RuntimeName;
  readonly policy: Policy;
  readonly mountSet: MountSet;
  readonly session: Session | undefined;
  readonly extras: ImageExtension | undefined;
  readonly logger: EventLogger | undefined;
}

/** Checks options and makes the parts of a sandbox; opens its session as the only writer. */
export async function prepareParts(options: SandboxOptions): Promise<SandboxParts> {
  const { runtime, policy, preload, packages, logger, ...wanted } = parse(sandboxOptions, options, 'options');
  const extras = await extrasOf(runtime, preload, packages);
  const { minMemoryBytes, layers } = await assetsWith(runtime, extras);
  checkMountPoints(
    policy,
    layers.map(({ at }) => at),
  );
  const mounts = policy.mounts.map(({ host_path, guest_path }) => ({
    at: guest_path,
    ...readHostTree(host_path, toShared),
  }));
  const given = givenLimits(options.policy ?? {});
  const session = await openSession(runtime, { ...wanted, preload: sessionPreload(extras), policy: given });
  const limits = { ...policy, ...session?.record.policy };
  try {
    checkMemory(runtime, limits, minMemoryBytes);
  } catch (cause) {
    await session?.release();
    throw cause;
  }
  session?.announce();
  return { runtime, policy: limits, mountSet: { id: randomUUID(), mounts }, session, extras, logger };
}

/** The keys that a caller gave, as far as a session keeps them: those it leaves out are the session's own. */
function givenLimits({ mounts, ...limits }: PolicyInput): PolicyInput {
  return Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined));
}

export function checkMemory(runtime: RuntimeName, { memory_bytes }: Policy, minimum: number): void {
  if (memory_bytes >= minimum) return;
  const found = `policy.memory_bytes: ${memory_bytes} is less than ${runtime} needs to start`;
  throw new SandboxError('invalid_argument', `${found}; the minimum is ${minimum}.`);
}

/** The session of a sandbox, if the options ask for one in any way. */
async function openSession(
  runtime: RuntimeName,
  wanted: Pick<
    z.output<typeof sandboxOptions>,
    'session_id' | 'auto_persist_globals' | 'store' | 'preload'
  > & {
    readonly policy: PolicyInput;
  },
): Promise<Session | undefined> {
  const { session_id, auto_persist_globals, store, preload, policy } = wanted;
  if (session_id === undefined && store === undefined && !auto_persist_globals) return undefined;
  return Session.open((store as SessionStore | undefined) ?? processStore, {
    session_id: session_id ?? randomUUID(),
    runtime,
    auto_persist_globals: auto_persist_globals ?? true,
    preload,
    policy,
  });
}

/** Sessions that were given no store live in this one, as long as the process does. */
const processStore = memoryStore();

/** A mount has its place to itself: nothing of the guest's own world lies there, above it or below it. */
function checkMountPoints({ mounts }: Policy, layers: readonly string[]): void {
  const taken = ['/app', '/tmp', '/dev', ...layers];
  mounts.forEach(({ guest_path: path }, i) => {
    const other = taken.find((at) => at === path || at.startsWith(`${path}/`) || path.startsWith(`${at}/`));
    if (other !== undefined) {
      const advice = 'Use a path of its own, such as /external';
      throw new SandboxError(
        'invalid_argument',
        `policy.mounts.${i}.guest_path: ${path} collides with ${other}. ${advice}.`,
      );
    }
    taken.push(path);
  });
}

/** What a session remembers of its image, so that it is not opened in another. */
function sessionPreload(extras: ImageExtension | undefined): string[] {
  if (extras === undefined) return [];
  const own = extras.packages && `packages:${extras.packages.sha256}`;
  return [...extras.preload, ...(own === undefined ? [] : [own])];
}

/** What the options ask for besides the ordinary guest, if anything, in one form for equal wishes. */
async function extrasOf(
  runtime: RuntimeName,
  preload: readonly string[],
  packages: readonly string[],
): Promise<ImageExtension | undefined> {
  if (preload.length === 0 && packages.length === 0) return undefined;
  const modules = new Set(preload.flatMap((name) => importNames(runtime, name)));
  return {
    preload: [...modules].sort(),
    packages: packages.length === 0 ? undefined : await readUserPackages(packages),
  };
}

/** The guest of a runtime with what a sandbox wants in it. */
export const assetsWith = (runtime: RuntimeName, extras: ImageExtension | undefined) =>
  extras === undefined ? assetsOf(runtime) : extendedAssets(runtime, extras);
