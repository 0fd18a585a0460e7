/**
 * The stub files that stand for side modules in the file system of a guest. A guest never sees the bytes of a module, and
 * nothing from a guest is ever compiled: a stub only selects a module that the host has.
 */

const STUB_PREFIX = 'llm-wasm-sandbox side module sha256:';
const STUB_BYTES = STUB_PREFIX.length + 64 + 1;

/** The contents of the file that stands for a module in a read-only layer. */
export function sideModuleStub(sha256: string): Uint8Array {
  return new TextEncoder().encode(`${STUB_PREFIX}${sha256}\n`);
}

/** The SHA-256 in a stub; undefined if the file is not a stub. */
export function readSideModuleStub(data: Uint8Array): string | undefined {
  if (data.length !== STUB_BYTES) return undefined;
  const text = new TextDecoder().decode(data.slice());
  const sha256 = text.slice(STUB_PREFIX.length, -1);
  return text === `${STUB_PREFIX}${sha256}\n` && /^[0-9a-f]{64}$/.test(sha256) ? sha256 : undefined;
}
