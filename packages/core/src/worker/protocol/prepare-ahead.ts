/**
 * Reads, verifies and compiles what the first thread of a process needs, on the main thread while that thread starts. The thread
 * waits for it only as long as there is progress: the main thread may have other work. It then does the same itself, and it
 * reports any error.
 */
import { createHash } from 'node:crypto';
import { MessageChannel, type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import { imageDigest } from '../../engine/image-identity.ts';
import { DIGEST_BYTES } from '../../framing/digest.ts';
import { readParts, readSharedFileAhead, waitWhile } from '../../host/shared-file.ts';
import { compileValid } from '../../host/v8-flags.ts';
import type { GuestAssets } from '../../runtimes/artifacts/guest-artifacts.ts';

/** A module that the main thread compiles. */
export interface ModuleAhead {
  /** One shared word: counts the parts that have been read, and is `ENDED` after the module was sent or an error occurred. */
  readonly progress: Int32Array;
  /** Receives the module. */
  readonly port: MessagePort;
}

/** The assets of a guest as a thread receives them. */
export interface SentAssets extends GuestAssets {
  /** Only for the first thread of a process. */
  readonly ahead?: ModuleAhead;
}

const ENDED = -1;

/** Starts the work. The returned assets are for one thread, which receives their port. */
export function prepareAhead(assets: GuestAssets): SentAssets {
  const { port1, port2 } = new MessageChannel();
  const progress = new Int32Array(new SharedArrayBuffer(4));
  void compile(assets, progress)
    .then((module) => port1.postMessage(module))
    .catch(() => {})
    .finally(() => {
      Atomics.store(progress, 0, ENDED);
      Atomics.notify(progress, 0);
    });
  // One file is hashed while parts of the other are read.
  void verifyImage(assets).catch(() => {});
  return { ...assets, ahead: { progress, port: port2 } };
}

async function compile({ module, origin }: GuestAssets, progress: Int32Array): Promise<WebAssembly.Module> {
  const hash = createHash('sha256');
  const bytes = await readParts(module.path, (part) => {
    hash.update(part);
    Atomics.add(progress, 0, 1);
    Atomics.notify(progress, 0);
    return true;
  });
  if (bytes === undefined || hash.digest('hex') !== origin.module)
    throw new Error('The thread reports that the file is damaged.');
  return compileValid(bytes);
}

/** An image ends with its digest. */
async function verifyImage({ image }: GuestAssets): Promise<void> {
  const hash = createHash('sha256');
  let left = image.bytes.length - DIGEST_BYTES;
  await readSharedFileAhead(image, (part) => {
    if (part === undefined) return hash.digest('hex') === imageDigest(image.bytes);
    hash.update(part.subarray(0, left));
    left = Math.max(0, left - part.length);
    return true;
  });
}

/** Waits for the module in the thread; undefined if the main thread cannot compile it now. */
export function receiveModule({ progress, port }: ModuleAhead): WebAssembly.Module | undefined {
  waitWhile(progress, (value) => value !== ENDED);
  const received = receiveMessageOnPort(port);
  port.close();
  return received?.message as WebAssembly.Module | undefined;
}
