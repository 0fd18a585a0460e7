/**
 * Makes an image with more in it than another: the caller's own packages as a further layer, and modules loaded. Their
 * code runs here, in a guest and under limits, like any program's.
 */

import type { Guest } from '../engine/guest.ts';
import { captureImage } from '../engine/image.ts';
import { PAGE_BYTES } from '../engine/image-format.ts';
import { GuestStopped, type RunContext } from '../engine/run-context.ts';
import { SandboxError } from '../errors.ts';
import { sha256Hex } from '../framing/digest.ts';
import type { Entry } from '../fs/entries.ts';
import { packEntries, readOnlyTree, unpackTreeLazily } from '../fs/tree-codec.ts';
import { Volume } from '../fs/volume.ts';
import { layersDigest } from '../runtimes/guest-artifacts.ts';
import type { Layer, WarmReport } from '../runtimes/runtime.ts';
import { type GuestTemplate, instantiateGuest } from './instantiate.ts';
import { type ExtendedImage, type ExtendJob, toShared } from './protocol.ts';

/** Room for what compiling leaves in /tmp. */
const VOLUME_LIMITS = { maxBytes: 2 ** 28, maxFiles: 100_000 };
const MAX_OUTPUT_BYTES = 20_000;
/** What code that reads a clock while the image is made sees. */
const IMAGE_TIME_MS = Date.UTC(2026, 0, 1);

export function extendImage(
  of: GuestTemplate,
  job: ExtendJob,
  cancel: Pick<RunContext, 'cancel' | 'cancelValue'>,
): ExtendedImage {
  const { extend } = of.runtime;
  if (extend === undefined || (job.packages.length > 0 && extend.packages === undefined)) {
    const what = extend === undefined ? 'no preload and no packages' : 'no packages';
    throw new SandboxError(
      'invalid_argument',
      `The ${of.runtime.name} runtime takes ${what}. Modules can be files of the workspace or of a mount.`,
    );
  }
  const handles = of.image.header.handles;
  const limits = { fuel_budget: job.limits.fuelBudget, timeout_seconds: job.limits.timeoutMs / 1000 };
  const own: Layer[] = [];
  if (job.packages.length > 0) {
    own.push(
      extend.packages!(
        job.packages,
        (layers, use) => {
          const { guest, said } = prepare(of, layers, job, cancel);
          attempt('Compiling the packages', guest, said, () => use(guest, handles));
          return guest.kernel.volume.entries('/tmp');
        },
        limits,
      ),
    );
  }
  const { guest, said } = prepare(of, own, job, cancel);
  const request = { ...limits, modules: job.preload, packages: own.length > 0 };
  const report = attempt('Loading the modules', guest, said, () => extend.warm(guest, handles, request));
  checkReport(report);
  return capture(of, guest, own);
}

/** A guest that sees these layers besides its own, with its output collected for error messages. */
function prepare(
  of: GuestTemplate,
  layers: readonly Layer[],
  { limits }: ExtendJob,
  cancel: Pick<RunContext, 'cancel' | 'cancelValue'>,
): { guest: Guest; said: Uint8Array[] } {
  const guest = instantiateGuest(of, Math.floor(limits.memoryBytes / PAGE_BYTES));
  const said: Uint8Array[] = [];
  let room = MAX_OUTPUT_BYTES;
  guest.beginRun({
    ...cancel,
    fuelBudget: limits.fuelBudget,
    deadlineMs: performance.now() + limits.timeoutMs,
    // Equal wishes make equal images, whenever they are made.
    deterministic: { startMs: IMAGE_TIME_MS, seed: 0 },
    output: (_, bytes) => {
      if (room === 0) return;
      said.push(bytes.slice(0, room));
      room -= Math.min(room, bytes.length);
    },
  });
  // After `begin`, which sets the clock that dates the folders.
  const volume = new Volume(VOLUME_LIMITS, () => guest.now());
  of.assets.layers.forEach(({ at, bytes }, i) => {
    volume.mount(at, unpackTreeLazily(bytes, i + 1));
  });
  layers.forEach(({ at, entries }, i) => {
    volume.mount(at, readOnlyTree(entries, of.assets.layers.length + i + 1));
  });
  guest.kernel.volume = volume;
  return { guest, said };
}

function attempt<T>(what: string, guest: Guest, said: readonly Uint8Array[], action: () => T): T {
  try {
    return action();
  } catch (cause) {
    if (!(cause instanceof GuestStopped)) throw cause;
    const spent = `${guest.fuelConsumed} fuel`;
    const output = Buffer.concat(said).toString();
    throw new SandboxError('build_failed', `${what} ended with ${cause.stop.message} (${spent}). ${output}`);
  }
}

function checkReport(text: string): void {
  let report: WarmReport;
  try {
    report = JSON.parse(text) as WarmReport;
  } catch {
    throw new SandboxError('build_failed', 'The guest did not tell how loading the modules went.');
  }
  if (report.error === undefined) return;
  const { module, message } = report.error;
  throw new SandboxError(
    'invalid_argument',
    `preload: the guest cannot import ${JSON.stringify(String(module))}: ${String(message).slice(0, 2000)}`,
  );
}

function capture(of: GuestTemplate, guest: Guest, own: readonly Layer[]): ExtendedImage {
  const { assets } = of;
  if (guest.kernel.fds.slots.filter((file) => file !== undefined).length > 3) {
    throw new SandboxError('invalid_argument', 'preload: a module keeps a file open, which an image cannot.');
  }
  const pack = (entries: readonly Entry[]) => toShared(packEntries(entries));
  const layers = [...assets.layers, ...own.map(({ at, entries }) => ({ at, bytes: pack(entries) }))];
  const digest = layersDigest(layers.map(({ at, bytes }) => ({ at, sha256: sha256Hex(bytes) })));
  const origin = { ...assets.origin, layers: own.length === 0 ? assets.origin.layers : digest };
  const image = toShared(captureImage(guest, origin, of.image.header.handles));
  return { layers, origin, image, minMemoryBytes: guest.memory.buffer.byteLength };
}
