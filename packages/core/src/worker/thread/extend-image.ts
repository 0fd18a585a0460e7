/**
 * Builds an image that extends another with a layer of the user's packages and with preloaded modules. The code of both
 * runs in a guest under limits, like any program.
 */
import type { Guest } from '../../engine/guest.ts';
import { captureImage } from '../../engine/image.ts';
import { IMAGE_TIME_MS, PAGE_BYTES } from '../../engine/image-identity.ts';
import { GuestStopped, type RunContext } from '../../engine/run-context.ts';
import { SandboxError } from '../../errors.ts';
import { readOnlyTree } from '../../fs/flat-entries.ts';
import { toShared } from '../../fs/shared-array-buffers.ts';
import { Volume } from '../../fs/volume.ts';
import { encodeMemoryLayer, type SharedLayer } from '../../host/shared-layer.ts';
import { layersDigest } from '../../runtimes/artifacts/guest-artifacts.ts';
import type { Layer, PreloadReport } from '../../runtimes/runtime.ts';
import type { ExtendedImage, ExtendJob, ImageLimits } from '../protocol/messages.ts';
import { instantiateGuest } from './guest-from-image.ts';
import { compiledLibraries, type LoadedImage } from './load-image.ts';

/** Limits of the volume, which holds the compiled packages in /tmp. */
const VOLUME_LIMITS = { maxBytes: 2 ** 28, maxFiles: 100_000 };
const MAX_OUTPUT_BYTES = 20_000;
const STANDARD_STREAMS = 3;

/** How the build is cancelled. */
type BuildCancellation = Pick<RunContext, 'cancel' | 'cancelValue' | 'onSlice'>;

export function extendImage(
  base: LoadedImage,
  job: ExtendJob,
  cancellation: BuildCancellation,
): ExtendedImage {
  const template = {
    ...base,
    findSideModule: compiledLibraries({ ...base.assets, libraries: job.libraries }),
  };
  const { runtime } = template;
  const handles = template.image.header.handles;
  const added: Layer[] = [];
  if (job.packages.length > 0) {
    const layer = runtime.buildUserPackages!(
      job.packages,
      (layers, use) => {
        const { guest, output } = createGuest(template, layers, job.compileLimits, cancellation);
        runInGuest('Compiling the packages', guest, output, () => use(guest, handles));
        return guest.kernel.volume.entries('/tmp');
      },
      job.compileLimits,
    );
    added.push(layer);
  }
  const layers = [...base.assets.layers, ...added.map(({ at, entries }) => encodeMemoryLayer(at, entries))];
  // Packages alone do not change the image, so that a session can get more packages.
  if (job.preload.length === 0)
    return {
      layers,
      origin: base.assets.origin,
      image: undefined,
      minMemoryBytes: base.assets.minMemoryBytes,
    };
  const { guest, output } = createGuest(template, added, job.preloadLimits, cancellation);
  const request = { ...job.preloadLimits, modules: job.preload };
  const report = runInGuest('Loading the modules', guest, output, () =>
    runtime.preload(guest, handles, request),
  );
  template.checkDamage();
  checkReport(report);
  return capture(template, guest, layers);
}

/** Creates a guest with additional layers, and collects its output for error messages. */
function createGuest(
  template: LoadedImage,
  added: readonly Layer[],
  limits: ImageLimits,
  cancellation: BuildCancellation,
): { guest: Guest; output: Uint8Array[] } {
  const guest = instantiateGuest(template, Math.floor(limits.memory_bytes / PAGE_BYTES));
  const output: Uint8Array[] = [];
  let remaining = MAX_OUTPUT_BYTES;
  guest.beginRun({
    ...cancellation,
    fuelBudget: limits.fuel_budget,
    deadlineMs: performance.now() + limits.timeout_seconds * 1000,
    deterministic: { startMs: IMAGE_TIME_MS, seed: 0 },
    result: () => {},
    output: (_, bytes) => {
      if (remaining === 0) return;
      output.push(bytes.slice(0, remaining));
      remaining -= Math.min(remaining, bytes.length);
    },
  });
  // After `beginRun`, which starts the clock that dates the directories.
  const volume = new Volume(VOLUME_LIMITS, () => guest.now());
  const { layers } = template;
  for (const { at, tree } of layers) volume.mount(at, tree);
  added.forEach(({ at, entries }, i) => {
    volume.mount(at, readOnlyTree(entries, layers.length + i + 1));
  });
  guest.kernel.volume = volume;
  return { guest, output };
}

function runInGuest<T>(step: string, guest: Guest, output: readonly Uint8Array[], action: () => T): T {
  const fail = (reason: string): never => {
    const failure = `${reason}, after using ${guest.fuelConsumed} fuel`;
    throw new SandboxError('build_failed', `${step} failed: ${failure}. ${Buffer.concat(output)}`.trim());
  };
  try {
    const value = action();
    // A module can catch the exception that a limit raises.
    return guest.limitReached === undefined ? value : fail(guest.limitReached);
  } catch (cause) {
    if (!(cause instanceof GuestStopped)) throw cause;
    return fail(guest.limitReached ?? cause.stop.message);
  }
}

function checkReport(text: string): void {
  let report: PreloadReport;
  try {
    report = JSON.parse(text) as PreloadReport;
  } catch {
    throw new SandboxError('build_failed', 'The guest did not report whether the modules were loaded.');
  }
  if (report.error === undefined) return;
  const { module, message } = report.error;
  throw new SandboxError(
    'invalid_argument',
    `preload: the guest cannot import ${JSON.stringify(String(module))}: ${String(message).slice(0, 2000)}`,
  );
}

function capture(template: LoadedImage, guest: Guest, layers: readonly SharedLayer[]): ExtendedImage {
  const { assets } = template;
  if (guest.kernel.fds.slots.filter((file) => file !== undefined).length > STANDARD_STREAMS) {
    throw new SandboxError(
      'invalid_argument',
      'preload: a module leaves a file open, which an image cannot contain. Open the file in the program instead.',
    );
  }
  const origin = { ...assets.origin, layers: layersDigest(layers) };
  const image = toShared(captureImage(guest, origin, template.image.header.handles));
  return { layers, origin, image, minMemoryBytes: guest.memory.buffer.byteLength };
}
