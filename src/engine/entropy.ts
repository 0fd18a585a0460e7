/**
 * Random bytes that are the same for the same seed on every machine: the key stream of AES-256 in counter mode under a
 * key derived from the seed. For repeatable runs, not for secrets.
 */
import { createCipheriv, createHash } from 'node:crypto';

export function seededRandom(seed: number): (into: Uint8Array) => void {
  const key = createHash('sha256').update(`llm-wasm-sandbox seed ${seed}`).digest();
  const stream = createCipheriv('aes-256-ctr', key, Buffer.alloc(16));
  return (into) => {
    into.set(stream.update(Buffer.alloc(into.length)));
  };
}
