/**
 * Builds a runtime from its binary: instruments the module, builds the layers, boots the interpreter once and captures
 * the image. Runs in a worker thread, because it executes guest code.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type CompiledModule, Guest } from '../../engine/guest.ts';
import { captureImage } from '../../engine/image.ts';
import { IMAGE_TIME_MS } from '../../engine/image-identity.ts';
import { GuestStopped, UNLIMITED_RUN } from '../../engine/run-context.ts';
import { SandboxError } from '../../errors.ts';
import { sha256Hex } from '../../framing/digest.ts';
import { readOnlyTree } from '../../fs/flat-entries.ts';
import { Volume } from '../../fs/volume.ts';
import type { MissingPackage } from '../../packages/vendored-package-table.ts';
import { type PreparedModule, prepareModule } from '../../wasm/prepare-module.ts';
import { layersDigest } from '../artifacts/guest-artifacts.ts';
import type { Layer } from '../runtime.ts';
import { encodePack } from './encode-pack.ts';
import type { Binary, BuildInGuest, RuntimeBuild } from './runtime-build.ts';
import type { BuiltGuest } from './write-guest.ts';

/** Limits of build-time guests, one of which compiles the whole standard library. */
const VOLUME_LIMITS = { maxBytes: 2 ** 30, maxFiles: 1_000_000 };
const MAX_PAGES = 16_384;

export async function buildGuest(build: RuntimeBuild, progress: (step: string) => void): Promise<BuiltGuest> {
  const { name } = build.runtime;
  progress('instrumenting the module');
  const prepared = prepareModule(readBinary(build.binary), build.prepare);
  const compiled: CompiledModule = {
    module: new WebAssembly.Module(prepared.bytes as BufferSource),
    minPages: prepared.memory.minPages,
    stateGlobals: prepared.stateGlobals.map(({ name }) => name),
  };
  progress('building the file system layers');
  const missing: MissingPackage[] = [];
  const buildInGuest: BuildInGuest = (unfinished, use) => {
    const guest = createGuest(build, compiled, prepared, unfinished);
    runUnlimited(name, guest, () => use(guest));
    return guest.kernel.volume.entries('/tmp');
  };
  const layers = await build.buildLayers(buildInGuest, (found) => missing.push(found));
  progress('booting the interpreter');
  const guest = createGuest(build, compiled, prepared, layers);
  const handles = runUnlimited(name, guest, () => build.boot(guest));
  progress('compressing the layers');
  const packed = await Promise.all(layers.map(({ at, entries }) => encodePack(at, entries)));
  const digest = layersDigest(packed.map(({ facts }) => facts));
  const origin = { runtime: name, module: sha256Hex(prepared.bytes), layers: digest };
  progress('capturing the image');
  const image = captureImage(guest, origin, handles);
  const { minPages, stateGlobals } = compiled;
  return {
    runtime: name,
    module: prepared.bytes,
    minPages,
    stateGlobals,
    layers: packed,
    image,
    origin,
    minMemoryBytes: guest.memory.buffer.byteLength,
    missing,
  };
}

function readBinary(binary: Binary): Uint8Array {
  const root = new URL('../../../../../package.json', import.meta.url);
  const bytes = readFileSync(createRequire(root).resolve(binary.specifier));
  const found = sha256Hex(bytes);
  if (found === binary.sha256) return bytes;
  throw new SandboxError(
    'build_failed',
    `${binary.specifier} is not the binary that this version supports: expected SHA-256 ${binary.sha256}, ` +
      `found ${found}. Run "npm ci" to install the pinned dependencies, or restore the file.`,
  );
}

/** A guest before boot, with the data segments of its module in memory. */
function createGuest(
  { runtime, bootEnv }: RuntimeBuild,
  compiled: CompiledModule,
  prepared: PreparedModule,
  layers: readonly Layer[],
): Guest {
  const volume = new Volume(VOLUME_LIMITS, () => IMAGE_TIME_MS);
  layers.forEach(({ at, entries }, i) => {
    volume.mount(at, readOnlyTree(entries, i + 1));
  });
  const size = { pages: compiled.minPages, maxPages: MAX_PAGES };
  const guest = new Guest(compiled, runtime.linkage, size, volume);
  const memory = new Uint8Array(guest.memory.buffer);
  for (const { offset, bytes } of prepared.data) memory.set(bytes, offset);
  guest.kernel.env = bootEnv;
  return guest;
}

/** Runs guest code without limits. If it fails, the error includes its output. */
function runUnlimited<T>(name: string, guest: Guest, action: () => T): T {
  const output: Uint8Array[] = [];
  guest.beginRun({
    ...UNLIMITED_RUN,
    deterministic: { startMs: IMAGE_TIME_MS, seed: 0 },
    output: (_, bytes) => output.push(bytes.slice()),
  });
  try {
    return action();
  } catch (cause) {
    if (!(cause instanceof GuestStopped)) throw cause;
    throw new SandboxError(
      'build_failed',
      `Guest code failed while the ${name} runtime was built: ${cause.stop.message}\n${Buffer.concat(output)}`,
    );
  }
}
