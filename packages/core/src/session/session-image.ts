/**
 * The image of a session in its record: preloaded modules, and packages as `packages:DIGEST NAME VERSION`. Packages that were
 * added after the first call start with `later:`. Names are only for messages; a package is identified by its digest.
 */
import { SandboxError } from '../errors.ts';
import {
  contentsSource,
  notAdded,
  readUserPackages,
  type UserPackages,
} from '../packages/read-user-packages.ts';
import { PACKAGE_RUNTIME } from '../runtimes/registry/program-files.ts';
import type { SandboxImage, SandboxParts } from '../sandbox/create-parts.ts';
import type { SessionRecord } from '../stores/store.ts';
import type { ImageExtension } from '../worker/pool/guest-assets.ts';
import { unpackInThread } from '../worker/pool/unpack-in-thread.ts';
import { packagesMissing } from './session-errors.ts';

type Preload = SessionRecord['preload'];

const PACKAGE = /^(packages|later):([0-9a-f]{64})(?: (.*))?$/;
/** Other names in a stored record are not shown. */
const LABEL = /^[a-z0-9][a-z0-9-]{0,100} [\w.!+-]{1,100}$/;

/** What a session records of its image and its packages, so that it is never opened with others. */
export function recordedPreload({
  extension,
  processes,
}: Pick<SandboxImage, 'extension' | 'processes'>): string[] {
  const { packages = processes?.packages, grown } = extension ?? {};
  const later = (grown?.digests ?? []).filter((digest) => !packages?.digests.includes(digest));
  return [
    ...(extension?.preload ?? []),
    ...(packages?.digests ?? []).map((digest) => recordedPackage('packages', digest, packages!)),
    ...later.map((digest) => recordedPackage('later', digest, grown!)),
  ];
}

/** A package in a record. */
export function recordedPackage(
  kind: 'packages' | 'later',
  digest: string,
  { labels }: UserPackages,
): string {
  const label = labels.get(digest);
  return label === undefined ? `${kind}:${digest}` : `${kind}:${digest} ${label}`;
}

/** What identifies an image in a record. */
export const imageKey = (preload: Preload) =>
  String(preload.map((name) => PACKAGE.exec(name)?.slice(1, 3).join(':') ?? name));

/** The same without the modules. */
export const packagesKey = (preload: Preload) => imageKey(preload.filter((name) => PACKAGE.test(name)));

/** The names of the preloaded modules and packages of an image. */
export const imageParts = (preload: Preload) => ({
  modules: modulesOf(preload),
  packages: packagesOf(preload, 'packages', 'later').map(({ label }) => label),
});

/** The same for a message. */
export function describeImage(preload: Preload): string {
  const { modules, packages } = imageParts(preload);
  const parts = [
    ...(packages.length > 0 ? [`the packages ${packages.join(', ')}`] : []),
    ...(modules.length > 0 ? [`the preloaded modules ${modules.join(', ')}`] : []),
  ];
  return parts.join(' and ') || 'no packages';
}

const modulesOf = (preload: Preload) => preload.filter((name) => !PACKAGE.test(name));

function packagesOf(preload: Preload, ...kinds: readonly string[]) {
  return preload.flatMap((name) => {
    const [, kind, digest, label = ''] = PACKAGE.exec(name) ?? [];
    if (digest === undefined || !kinds.includes(kind!)) return [];
    return [{ digest, label: LABEL.test(label) ? label : `sha256:${digest.slice(0, 12)}…` }];
  });
}

/** The image that a session has recorded. Throws `session_mismatch` if a package is no longer added. */
export async function recordedImage(
  { pool, policy, tenant, image }: SandboxParts,
  record: SessionRecord,
): Promise<SandboxImage> {
  const recorded = await recordedExtension(record);
  const { runtime } = image;
  const build = { tenant: tenant ?? record.session_id, limits: policy, signal: undefined };
  const packages = runtime === PACKAGE_RUNTIME ? { extension: recorded } : ofProcesses(recorded, image);
  return {
    ...image,
    ...packages,
    assets: await pool.images.extended(runtime, packages.extension, build),
  };
}

/** The packages of a runtime that has none are those of processes. */
function ofProcesses(recorded: ImageExtension | undefined, { processes }: SandboxImage) {
  const { preload = [], packages } = recorded ?? {};
  return {
    extension: preload.length === 0 ? undefined : { preload, packages: undefined },
    processes: packages ? { loadsImports: true, onDemand: undefined, ...processes, packages } : processes,
  };
}

/** The image with the modules that a session has loaded from the packages of its options. */
export async function withRecordedModules(
  { pool, policy, tenant, image }: SandboxParts,
  { session_id, preload }: SessionRecord,
): Promise<SandboxImage> {
  const modules = modulesOf(preload);
  if (modules.length === 0) return image;
  const extension = { ...image.extension!, preload: modules };
  const build = { tenant: tenant ?? session_id, limits: policy, signal: undefined };
  return { ...image, extension, assets: await pool.images.extended(image.runtime, extension, build) };
}

async function recordedExtension({
  session_id,
  preload,
}: SessionRecord): Promise<ImageExtension | undefined> {
  if (preload.length === 0) return undefined;
  const all = packagesOf(preload, 'packages', 'later');
  const missing = new Set(notAdded(all.map(({ digest }) => digest)));
  if (missing.size > 0)
    throw packagesMissing(
      session_id,
      all.filter(({ digest }) => missing.has(digest)).map(({ label }) => label),
    );
  const read = (wanted: typeof all) =>
    readUserPackages(
      wanted.map(({ digest }) => contentsSource(digest)),
      unpackInThread,
    );
  const image = packagesOf(preload, 'packages');
  return {
    preload: modulesOf(preload),
    packages: image.length === 0 ? undefined : await read(image),
    grown: all.length === image.length ? undefined : await read(all),
  };
}

/** Says what is lost and what is not if the image of a session with preloaded modules cannot be built again. */
export function withImageAdvice(
  cause: unknown,
  { session_id, preload }: Pick<SessionRecord, 'session_id' | 'preload'>,
): unknown {
  if (!(cause instanceof SandboxError) || preload.length === 0) return cause;
  if (cause.code !== 'build_failed' && !cause.message.startsWith('preload:')) return cause;
  const fact = `The image of session ${session_id} with ${describeImage(preload)} is no longer cached and could not be built again`;
  const advice =
    'The session is kept, and its files can still be read. Try again later or with higher limits';
  return new SandboxError('build_failed', `${fact}. ${advice}. ${cause.message}`, { cause });
}
