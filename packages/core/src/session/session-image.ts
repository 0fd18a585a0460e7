/**
 * The image of a session in its record: preloaded modules, and packages as `packages:DIGEST NAME VERSION`. Packages that were
 * added after the first call start with `later:`. Names are only for messages; a package is identified by its digest.
 */
import { SandboxError } from '../errors.ts';
import { contentsSource, notAdded, type PackageSet, readPackageSet } from '../packages/package-set.ts';
import { PACKAGE_RUNTIME } from '../runtimes/registry/program-files.ts';
import type { SandboxParts } from '../sandbox/create-parts.ts';
import { onDemandOf, type SandboxImage, withAssets } from '../sandbox/sandbox-image.ts';
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
  preload,
  packages: all,
}: Pick<SandboxImage, 'preload' | 'packages'>): string[] {
  const { packages } = all?.grownFrom ?? { packages: all };
  const later = (all?.digests ?? []).filter((digest) => !packages?.digests.includes(digest));
  return [
    ...preload,
    ...(packages?.digests ?? []).map((digest) => recordedPackage('packages', digest, packages!)),
    ...later.map((digest) => recordedPackage('later', digest, all!)),
  ];
}

/** A package in a record. */
export function recordedPackage(kind: 'packages' | 'later', digest: string, { labels }: PackageSet): string {
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
  modules: modulesIn(preload),
  packages: packagesIn(preload, 'packages', 'later').map(({ label }) => label),
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

const modulesIn = (preload: Preload) => preload.filter((name) => !PACKAGE.test(name));

function packagesIn(preload: Preload, ...kinds: readonly string[]) {
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
  const build = { tenant: tenant ?? record.session_id, limits: policy, signal: undefined };
  const ofRuntime =
    image.runtime === PACKAGE_RUNTIME
      ? { ...recorded, loads: onDemandOf(image) ?? ('named' as const) }
      : { ...recorded, packages: recorded.packages ?? image.packages };
  return withAssets({ ...image, ...ofRuntime }, pool, build);
}

/** The image with the modules that a session has loaded from the packages of its options. */
export async function withRecordedModules(
  { pool, policy, tenant, image }: SandboxParts,
  { session_id, preload }: SessionRecord,
): Promise<SandboxImage> {
  const modules = modulesIn(preload);
  if (modules.length === 0) return image;
  const build = { tenant: tenant ?? session_id, limits: policy, signal: undefined };
  return withAssets({ ...image, preload: modules }, pool, build);
}

async function recordedExtension({ session_id, preload }: SessionRecord): Promise<ImageExtension> {
  const all = packagesIn(preload, 'packages', 'later');
  const missing = new Set(notAdded(all.map(({ digest }) => digest)));
  if (missing.size > 0)
    throw packagesMissing(
      session_id,
      all.filter(({ digest }) => missing.has(digest)).map(({ label }) => label),
    );
  const read = async (wanted: typeof all) =>
    wanted.length === 0
      ? undefined
      : readPackageSet(
          wanted.map(({ digest }) => contentsSource(digest)),
          unpackInThread,
        );
  const image = packagesIn(preload, 'packages');
  const packages = await read(all);
  if (packages === undefined || all.length === image.length) return { preload: modulesIn(preload), packages };
  const grownFrom = { packages: await read(image) };
  return { preload: modulesIn(preload), packages: { ...packages, grownFrom } };
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
