/**
 * A delta is the state of a guest as its difference from a base image: kernel state, the contents of files that were deleted while
 * open, and page diffs. Sessions are hibernated, stored, undone and forked in this form. It consists of parts in separate
 * buffers, because a state shares the parts that a call has not changed with the state before it.
 *
 * Layout of the header, a frame without fields (see framing/frame.ts):
 *   0   magic "LWSD"
 *   4   u32 format version
 *   8   u32 byte length H of the JSON text
 *   12  JSON text, H bytes, with the length and digest of each part (for diffs see page-diff-codec.ts)
 *   end SHA-256 of everything before it, 32 bytes
 */

import { SandboxError } from '../errors.ts';
import { sha256Hex } from '../framing/digest.ts';
import { decodeFrame, encodeFrame, FrameError } from '../framing/frame.ts';
import { checked, integer, list, type Matched, object, optional, text } from '../framing/json-checks.ts';
import { decodeJsonHeader, encodeJsonHeader } from '../framing/json-header.ts';
import { MAX_DESCRIPTORS } from '../kernel/descriptors.ts';
import {
  kernelState,
  restoreKernelState,
  type SavedContents,
  saveKernelState,
  saveRemovedFiles,
} from '../kernel/kernel-state.ts';
import { isSyscallError } from '../kernel/syscall-error.ts';
import { formatCount, formatItems } from '../quantities.ts';
import type { Guest } from './guest.ts';
import { globalValues, type Image } from './image.ts';
import { PAGE_BYTES } from './image-identity.ts';
import { linkState } from './link-state.ts';
import {
  type CaptureState,
  captureMemory,
  MAX_RUNS,
  type MemoryDiff,
  type MemoryRange,
  partsOf,
  restoreMemory,
} from './memory-capture.ts';
import { blocksOf } from './page-diff-codec.ts';

/** The header, then the contents of deleted files, then the page diffs, oldest first. */
export type Delta = readonly Uint8Array[];

export const DELTA_FORMAT = 5;

const FORMAT = { magic: 'LWSD', version: DELTA_FORMAT, fields: 0 } as const;
/** Enough for 4 GiB of memory. */
const MAX_DIFFS_PER_RUN = 512;

const part = object({ bytes: integer(0, 0xffff_ffff), sha256: text(64, /^[0-9a-f]{64}$/) });

/** The header of a delta. It can be read without the base image. */
const deltaHeader = object({
  /** Digest of the base image. */
  base: text(),
  runtime: text(),
  module: text(),
  layers: text(),
  pages: integer(0, 65_536),
  globals: globalValues,
  kernel: kernelState,
  /** The loaded side modules, if there are any. */
  link: optional(linkState),
  /** The files that were deleted while open. */
  contents: list(part, MAX_DESCRIPTORS),
  /** The runs of page diffs, oldest first (see memory-capture.ts). */
  memory: list(list(part, MAX_DIFFS_PER_RUN), MAX_RUNS),
});
type DeltaHeader = Matched<typeof deltaHeader>;

/**
 * Captures an idle guest that was started from `base`. Pages that lie entirely in `unused` may be restored with
 * arbitrary contents. `previous` comes from the last capture of the guest, or from the delta it was restored from; it
 * must not be used again afterwards. Parts that did not change since then are the same objects. The contents of deleted files
 * precede the diffs, because they change less often.
 */
export function captureDelta(
  guest: Guest,
  base: Image,
  unused: readonly MemoryRange[] = [],
  previous?: CaptureState,
): { delta: Delta; capture: CaptureState } {
  const memory = guest.view.all;
  const contents = saveRemovedFiles(guest.kernel);
  const capture = { ...captureMemory(memory, blocksOf(base), unused, previous), contents };
  const { runtime, module, layers } = base.header;
  const header: DeltaHeader = {
    base: base.digest,
    runtime,
    module,
    layers,
    pages: memory.length / PAGE_BYTES,
    globals: guest.globals(),
    kernel: saveKernelState(guest.kernel),
    link: guest.linker.state(),
    contents: contents.map(describePart),
    memory: capture.runs.map((run) => run.map(describePart)),
  };
  const encoded = encodeFrame(FORMAT, [], [encodeJsonHeader(header)]);
  return { delta: [encoded, ...partsOf(capture).map(({ bytes }) => bytes)], capture };
}

const describePart = ({ bytes, sha256 }: MemoryDiff) => ({ bytes: bytes.length, sha256 });

const damaged = (problem: string) =>
  new SandboxError(
    'image_invalid',
    `The saved state is damaged (${problem}). Its files can still be read; restore a checkpoint or delete the session.`,
  );
const incompatible = (problem: string) =>
  new SandboxError('image_invalid', `The saved state ${problem}. Its files can still be read.`);

/** The state is intact but was created under a larger memory limit than the current one. */
const needsMoreMemory = (bytes: number, limit: number) => {
  const problem = `The saved state needs ${formatItems(bytes, 'byte')} of memory, but the policy allows ${formatCount(limit)}`;
  return new SandboxError('invalid_argument', `${problem}. Open the session with a larger memory_bytes.`);
};

/** Verifies a delta and returns its header, the contents of deleted files and its runs of page diffs. */
export function readDelta([encoded = new Uint8Array(), ...parts]: Delta): {
  header: DeltaHeader;
  contents: readonly SavedContents[];
  runs: readonly (readonly MemoryDiff[])[];
} {
  const header = readHeader(encoded);
  if (header.contents.length + header.memory.flat().length !== parts.length)
    throw damaged('it has the wrong number of parts');
  let next = 0;
  const verified = ({ bytes: length, sha256 }: Matched<typeof part>): MemoryDiff => {
    const bytes = parts[next++]!;
    if (bytes.length !== length || sha256Hex(bytes) !== sha256)
      throw damaged('the digest of a part does not match');
    return { bytes, sha256 };
  };
  return {
    header,
    contents: header.contents.map(verified),
    runs: header.memory.map((run) => run.map(verified)),
  };
}

function readHeader(encoded: Uint8Array): DeltaHeader {
  try {
    const { header, data } = decodeJsonHeader(decodeFrame(FORMAT, encoded).body);
    if (data.length > 0) throw damaged('its header is too long');
    return checked(deltaHeader, header, (path) => damaged(`its header is invalid at ${path}`));
  } catch (cause) {
    if (!(cause instanceof FrameError)) throw cause;
    throw cause.problem === 'version'
      ? incompatible(`has format ${cause.version}, but this version reads ${DELTA_FORMAT}`)
      : damaged(cause.message);
  }
}

/** The parts of the base that a delta depends on, with their names in error messages. */
const PARTS = {
  runtime: 'runtime',
  module: 'module',
  layers: 'set of packages',
  base: 'boot image',
} as const;

/** Throws an error that names the part that differs, unless the delta was captured from this base. */
function checkBase(header: DeltaHeader, base: Image): void {
  const expected = { ...base.header, base: base.digest };
  for (const part of Object.keys(PARTS) as (keyof typeof PARTS)[]) {
    if (header[part] === expected[part]) continue;
    const found = String(header[part]).slice(0, 64);
    throw incompatible(`was created with another ${PARTS[part]} (${found}, expected ${expected[part]})`);
  }
}

/** Restores a saved state in a guest that is identical to `base`. Its volume must already contain the saved files. */
export function applyDelta(guest: Guest, base: Image, delta: Delta): CaptureState {
  const { header, contents, runs } = readDelta(delta);
  checkBase(header, base);
  const bytes = header.pages * PAGE_BYTES;
  if (!guest.memoryLimit.grow(bytes)) throw needsMoreMemory(bytes, guest.memoryLimit.maxBytes);
  try {
    const capture = { ...restoreMemory(runs, guest.view.all, blocksOf(base)), contents };
    guest.setGlobals(header.globals);
    restoreKernelState(guest.kernel, header.kernel, contents);
    guest.linker.restore(header.link);
    return capture;
  } catch (cause) {
    if (cause instanceof SandboxError) throw cause;
    if (isSyscallError(cause)) throw damaged(`its open files do not match its file system: ${cause.code}`);
    throw damaged(cause instanceof Error ? cause.message : String(cause));
  }
}
