/** Checks the options of a sandbox and creates its parts. Everything is checked before a session is opened. */
import { randomUUID } from 'node:crypto';
import type { z } from 'zod';
import { invalidArgument } from '../errors.ts';
import type { NetworkAccess } from '../network/network-access.ts';
import type { MeasureImport } from '../packages/install-packages.ts';
import { type PackageSet, readPackageSet } from '../packages/package-set.ts';
import type { GuestAssets } from '../runtimes/artifacts/guest-artifacts.ts';
import { isPlaceholder } from '../schema/placeholders.ts';
import {
  type Commit,
  deterministicMode,
  type EventLogger,
  type Policy,
  type sandboxOptions,
} from '../schema.ts';
import type { SessionStore } from '../stores/store.ts';
import { type Pool, sharedPool, WorkerPool } from '../worker/pool/pool.ts';
import { unpackInThread } from '../worker/pool/unpack-in-thread.ts';
import type { MountSet } from '../worker/protocol/messages.ts';
import { type OfferedTools, offeredTools, type ToolOptions } from './call-tools.ts';
import { openMounts } from './mount-sets.ts';
import { areOnDemand, type OnDemandOptions, PackagesOnDemand } from './packages-on-demand.ts';
import { modulesOf, type SandboxImage, withAssets } from './sandbox-image.ts';

/** Options of `createSandbox`. */
export interface SandboxOptions
  extends Omit<z.input<typeof sandboxOptions>, 'store' | 'pool' | keyof ToolOptions>,
    ToolOptions {
  /** Store of the session. Default: a store in the memory of this process. */
  store?: SessionStore;
  /** Pool of worker threads. Default: a pool that all sandboxes of the process share. */
  pool?: Pool;
}

/** The parts of a sandbox, which it shares with its forks and siblings. */
export interface SandboxParts {
  readonly policy: Policy;
  readonly mountSet: MountSet;
  readonly image: SandboxImage;
  readonly logger: EventLogger | undefined;
  /** Whether the calls of a session wait for the store. */
  readonly commit: Commit;
  readonly pool: WorkerPool;
  /** Undefined: the sandbox is a tenant of its own. */
  readonly tenant: string | undefined;
  readonly tools: OfferedTools;
  /** Undefined if programs may send no requests. */
  readonly network: NetworkAccess | undefined;
}

/** Creates the parts of a sandbox from checked options. */
export async function createParts(
  options: z.output<typeof sandboxOptions>,
  measure?: MeasureImport,
): Promise<SandboxParts> {
  const { runtime, policy, preload = [], logger, commit, tenant } = options;
  const pool = checkPool(options.pool);
  const tools = offeredTools(options as ToolOptions);
  const isAuto = areOnDemand(options.packages);
  if (isAuto && preload.length > 0)
    throw invalidArgument(
      "options.preload: cannot be combined with packages: 'auto', which loads what programs import. Omit preload, or name the packages.",
    );
  if (options.trust_new_packages && !isAuto)
    throw invalidArgument(
      "options.trust_new_packages: requires packages: 'auto', because other packages are not downloaded. Omit it.",
    );
  const network = await networkOf(policy);
  const packages = await packagesIn(isAuto ? [] : (options.packages as string[]));
  const given = {
    runtime,
    preload: modulesOf(runtime, preload, packages),
    packages,
    loads:
      isAuto && measure
        ? new PackagesOnDemand(onDemandOptions(options), measure)
        : options.preload === undefined
          ? ('imported' as const)
          : ('named' as const),
  };
  const build = { tenant: tenant ?? randomUUID(), limits: policy, signal: options.signal };
  const image = await withAssets(given, pool, build);
  checkMountPoints(policy, image.assets);
  const mountSet = openMounts(policy.mounts);
  return {
    policy: withPlaceholders(policy, network),
    mountSet,
    image,
    logger,
    commit,
    pool,
    tenant,
    tools,
    network,
  };
}

/** The network that a policy permits. Its modules are loaded only then. */
async function networkOf(policy: Policy): Promise<NetworkAccess | undefined> {
  const { network, deterministic } = policy;
  if (network === undefined) return undefined;
  if (deterministic !== false && network.record === undefined && network.replay === undefined)
    throw invalidArgument(
      'policy.network: with deterministic, requests must be recorded (record) or answered from a recording (replay).',
    );
  const { NetworkAccess } = await import('../network/network-access.ts');
  return await NetworkAccess.load(network, deterministicMode(policy)?.seed);
}

/** The policy without secrets. Programs find placeholders in their environment. */
function withPlaceholders(policy: Policy, access: NetworkAccess | undefined): Policy {
  const { network, env } = policy;
  if (network === undefined || access === undefined || access.secrets.isEmpty) return policy;
  const { placeholders } = access.secrets;
  const secrets = Object.fromEntries(
    Object.entries(network.secrets).map(([name, { value: _, ...secret }]) => {
      if (env[name] !== undefined && !isPlaceholder(env[name]))
        throw invalidArgument(
          `policy.network.secrets.${name}: policy.env has a variable of the same name. Remove one of them.`,
        );
      return [name, secret];
    }),
  );
  return { ...policy, env: { ...env, ...placeholders }, network: { ...network, secrets } };
}

const onDemandOptions = ({
  trust_new_packages,
  onPackageStep,
}: z.output<typeof sandboxOptions>): OnDemandOptions => ({
  trustNew: trust_new_packages,
  onStep: onPackageStep,
});

function checkPool(pool: object | undefined): WorkerPool {
  if (pool === undefined) return sharedPool();
  if (pool instanceof WorkerPool) return pool;
  throw invalidArgument('options.pool: expected a pool created by createPool().');
}

/** Throws if the policy allows less memory than the runtime needs to start. */
export function checkMemory({ memory_bytes }: Policy, { runtime, minMemoryBytes }: GuestAssets): void {
  if (memory_bytes >= minMemoryBytes) return;
  const found = `policy.memory_bytes: ${memory_bytes} is less than ${runtime} needs to start`;
  throw invalidArgument(`${found}; the minimum is ${minMemoryBytes}.`);
}

/** A mount point must not coincide with, contain or lie within another part of the guest's file system. */
export function checkMountPoints({ mounts, home = '/app' }: Policy, { layers }: GuestAssets): void {
  const taken = ['/app', home, '/tmp', '/dev', ...layers.map(({ at }) => at)];
  mounts.forEach(({ guest_path: path }, i) => {
    const other = taken.find((at) => at === path || at.startsWith(`${path}/`) || path.startsWith(`${at}/`));
    if (other !== undefined) {
      const advice = 'Use a separate path, such as /external';
      throw invalidArgument(`policy.mounts.${i}.guest_path: ${path} collides with ${other}. ${advice}.`);
    }
    taken.push(path);
  });
}

async function packagesIn(sources: readonly string[]): Promise<PackageSet | undefined> {
  const read = sources.length === 0 ? undefined : await readPackageSet(sources, unpackInThread);
  return read?.digests.length === 0 ? undefined : read;
}
