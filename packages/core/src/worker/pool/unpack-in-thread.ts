/** Unpacks wheels in a thread of this process, one at a time, so that a hostile one does not block other work. */
import { SandboxError } from '../../errors.ts';
import { rememberDigest } from '../../packages/package-files.ts';
import type { UnpackWheel } from '../../packages/unpack-wheel.ts';
import { runAuxiliaryJob } from './auxiliary-jobs.ts';
import { sharedPool } from './pool.ts';

const UNPACK_LIMIT_MS = 2 * 60_000;

export const unpackInThread: UnpackWheel = async (wheel) => {
  const options = { key: 'unpack', limitMs: UNPACK_LIMIT_MS };
  const result = await runAuxiliaryJob(sharedPool(), { type: 'unpack', wheel }, undefined, options);
  if (result?.type !== 'unpacked')
    throw new SandboxError('build_failed', `Unpacking ${wheel.name} was interrupted. Try again.`);
  const { files, description } = result.unpacked;
  const libraries = new Map(description.libraries.map(({ path, sha256 }) => [path, sha256]));
  for (const { path, data } of files) {
    const digest = libraries.get(path);
    if (digest !== undefined) rememberDigest(data, digest);
  }
  return result.unpacked;
};
