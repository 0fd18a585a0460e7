/**
 * Random bytes that depend only on a seed: the key stream of AES-256-CTR under a key derived from the seed. A stream
 * can be continued from any offset, so only the offset needs to be saved. For repeatable runs, not for secrets.
 */
import { createCipheriv } from 'node:crypto';
import { sha256 } from '../framing/digest.ts';

const BLOCK_BYTES = 16;

/** Returns a function that fills a buffer with the next bytes of the stream, starting at byte `start`. */
export function seededRandom(seed: number, start: number): (into: Uint8Array) => void {
  const key = sha256(`llm-wasm-sandbox seed ${seed}`);
  const counter = Buffer.alloc(BLOCK_BYTES);
  counter.writeBigUInt64BE(BigInt(Math.floor(start / BLOCK_BYTES)), BLOCK_BYTES - 8);
  const stream = createCipheriv('aes-256-ctr', key, counter);
  stream.update(Buffer.alloc(start % BLOCK_BYTES));
  return (into) => {
    into.set(stream.update(Buffer.alloc(into.length)));
  };
}
