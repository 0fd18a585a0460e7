/** Runs jobs that are not part of a call. Each waits for its own turn. */
import { PICTURE_LIMITS } from '../../charts/chart-limits.ts';
import type { PictureLimits } from '../../charts/shrink-pixels.ts';
import type { GuestAssets } from '../../runtimes/artifacts/guest-artifacts.ts';
import type { DrawnPicture, PictureSource, UnsentJob } from '../protocol/messages.ts';
import type { JobResult } from './job-handle.ts';
import type { JobOptions } from './pool-thread.ts';
import type { TurnSource } from './worker-turn.ts';

interface AuxiliaryOptions extends JobOptions {
  /** Jobs with the same key run one after another. */
  readonly key: string;
  readonly tenant?: string;
}

/** Returns undefined if the job is cancelled while it waits for its turn. */
export async function runAuxiliaryJob(
  pool: TurnSource,
  job: UnsentJob,
  assets: GuestAssets | undefined,
  { key, tenant = key, ...options }: AuxiliaryOptions,
): Promise<JobResult | undefined> {
  const turn = await pool.acquire({ tenant, key, signal: options.signal });
  if (turn === undefined) return undefined;
  try {
    return await turn.run(job, assets, options).result;
  } finally {
    turn.release();
  }
}

/** Converts an image or SVG of a program to PNG, which clients and terminals show, within limits. */
export type DrawPicture = (
  source: PictureSource,
  limits: PictureLimits,
  signal?: AbortSignal,
) => Promise<DrawnPicture>;

/** Converts an image or SVG of a program. The images of a tenant are converted one after another. */
export async function requestPicture(
  pool: TurnSource,
  tenant: string,
  ...[source, limits, signal]: Parameters<DrawPicture>
): Promise<DrawnPicture> {
  const options = { key: `picture:${tenant}`, tenant, limitMs: PICTURE_LIMITS.timeMs, signal };
  const job = { type: 'picture', source, limits } as const;
  const result = await runAuxiliaryJob(pool, job, undefined, options);
  if (result?.type === 'picture') return result.picture;
  return { problem: signal?.aborted ? 'the call was cancelled' : 'its thread was lost. Try again' };
}
