/**
 * Random bytes that are the same for the same seed on every machine: the key stream of AES-256 in counter mode under a
 * key derived from the seed. A stream can be taken up anywhere, so a place in it is all there is to remember. For
 * repeatable runs, not for secrets.
 */
import { createCipheriv, createHash } from 'node:crypto';

const BLOCK_BYTES = 16;

/** The stream of a seed from byte `start` on; each call takes the next bytes of it. */
export function seededRandom(seed: number, start: number): (into: Uint8Array) => void {
  const key = createHash('sha256').update(`llm-wasm-sandbox seed ${seed}`).digest();
  const counter = Buffer.alloc(BLOCK_BYTES);
  counter.writeBigUInt64BE(BigInt(Math.floor(start / BLOCK_BYTES)), BLOCK_BYTES - 8);
  const stream = createCipheriv('aes-256-ctr', key, counter);
  stream.update(Buffer.alloc(start % BLOCK_BYTES));
  return (into) => {
    into.set(stream.update(Buffer.alloc(into.length)));
  };
}
