/** The image of a session in its record: preloaded modules, and the digests of packages. */
import { readUserPackages, recordedSources, type UserPackages } from '../packages/read-user-packages.ts';
import type { SandboxParts } from '../sandbox/create-parts.ts';
import type { SessionRecord } from '../stores/store.ts';
import { extendedAssets, type ImageExtension } from '../worker/guest-assets.ts';
import { unpackInThread } from '../worker/unpack-in-thread.ts';
import { packagesMissing } from './session-errors.ts';

/** Prefix of the digest of a package of the image. */
export const PACKAGE_PREFIX = 'packages:';
/** Prefix of the digest of a package that was added after the first call. */
export const LATER_PREFIX = 'later:';

/** What a session records of its image, so that it is never opened in a different one. */
export function recordedPreload(extension: ImageExtension | undefined): string[] {
  const packages = extension?.packages?.digests ?? [];
  const later = (extension?.grown?.digests ?? []).filter((digest) => !packages.includes(digest));
  return [
    ...(extension?.preload ?? []),
    ...packages.map((digest) => PACKAGE_PREFIX + digest),
    ...later.map((digest) => LATER_PREFIX + digest),
  ];
}

/** The parts with the image that a session has recorded. Throws `session_mismatch` if a package is no longer added. */
export async function withRecordedImage(parts: SandboxParts, record: SessionRecord): Promise<SandboxParts> {
  const extension = await recordedExtension(record);
  const { pool, policy, runtime } = parts;
  const build = { pool, tenant: parts.tenant ?? record.session_id, limits: policy, signal: undefined };
  return { ...parts, extension, assets: await extendedAssets(runtime, extension, build) };
}

async function recordedExtension({
  session_id,
  preload,
}: SessionRecord): Promise<ImageExtension | undefined> {
  if (preload.length === 0) return undefined;
  const digests = (prefix: string) =>
    preload.flatMap((name) => (name.startsWith(prefix) ? [name.slice(prefix.length)] : []));
  const read = async (wanted: readonly string[]): Promise<UserPackages | undefined> => {
    if (wanted.length === 0) return undefined;
    const sources = recordedSources(wanted);
    if (sources === undefined) throw packagesMissing(session_id);
    return readUserPackages(sources, unpackInThread);
  };
  const image = digests(PACKAGE_PREFIX);
  const later = digests(LATER_PREFIX);
  return {
    preload: preload.filter((name) => !name.startsWith(PACKAGE_PREFIX) && !name.startsWith(LATER_PREFIX)),
    packages: await read(image),
    grown: later.length === 0 ? undefined : await read([...image, ...later]),
  };
}
