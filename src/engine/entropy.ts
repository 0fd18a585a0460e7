/**
 * Random bytes that are the same for the same seed on every machine: the key stream of AES-256 in counter mode under a
 * key derived from the seed and the number of the call. For repeatable runs, not for secrets.
 */
import { createCipheriv, createHash } from 'node:crypto';

export function seededRandom(seed: number, call: number): (into: Uint8Array) => void {
  const key = createHash('sha256').update(`llm-wasm-sandbox seed ${seed} call ${call}`).digest();
  const stream = createCipheriv('aes-256-ctr', key, Buffer.alloc(16));
  return (into) => {
    into.set(stream.update(Buffer.alloc(into.length)));
  };
}
