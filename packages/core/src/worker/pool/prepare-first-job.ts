/**
 * Lets a thread load a guest before there is a pool, in a process that runs one job: the thread works while the main
 * thread loads the library. Loads little itself. The runtime may be a guess: if it is wrong, the work of the thread is
 * wasted.
 */
import { splitDigest } from '../../framing/digest.ts';
import { markVerified, readSharedFile, type SharedFile } from '../../host/shared-file.ts';
import { findAssets, type GuestAssets } from '../../runtimes/artifacts/guest-artifacts.ts';
import type { RuntimeName } from '../../schema/runtime-names.ts';
import type { ToWorker } from '../protocol/messages.ts';
import { newHostBlock, type StartedThread, startThread } from './start-thread.ts';

/** The first thread of a pool, and the assets that it has received. */
export interface FirstJob {
  readonly thread: StartedThread;
  readonly assets: GuestAssets | undefined;
}

/** Starts a thread. With a runtime, the thread also prepares a guest with this memory limit. */
export function prepareFirstJob(runtime: RuntimeName | undefined, memoryBytes: number): FirstJob {
  const thread = startThread(newHostBlock(), [], true);
  const assets = runtime === undefined ? undefined : assetsIfBuilt(runtime);
  const send = (message: ToWorker) => thread.worker.postMessage(message);
  if (assets !== undefined) {
    send({ type: 'load', assets });
    if (memoryBytes >= assets.minMemoryBytes) send({ type: 'warm', image: assets.id, memoryBytes });
    verifyImage(assets.image);
  }
  return { thread, assets };
}

/** Done here, because the thread takes longer to start than the main thread to load the library. The thread reports problems. */
function verifyImage(image: SharedFile): void {
  try {
    if (splitDigest(readSharedFile(image)) !== undefined) markVerified(image);
  } catch {}
}

function assetsIfBuilt(runtime: RuntimeName): GuestAssets | undefined {
  try {
    return findAssets(runtime);
  } catch {
    // The run finds the same problem and reports it, or builds the guest.
    return undefined;
  }
}
