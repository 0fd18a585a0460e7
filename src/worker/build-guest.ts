/**
 * Makes a runtime from its binary: rewrites the module, lays out the layers, boots the interpreter once and saves it.
 * Runs in a worker thread like everything that executes guest code.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type CompiledModule, Guest } from '../engine/guest.ts';
import { captureImage } from '../engine/image.ts';
import { GuestStopped, UNLIMITED_RUN } from '../engine/run-context.ts';
import { SandboxError } from '../errors.ts';
import { sha256Hex } from '../framing/digest.ts';
import { packEntries, readOnlyTree } from '../fs/tree-codec.ts';
import { Volume } from '../fs/volume.ts';
import type { MissingPackage } from '../packages/catalog.ts';
import { type BuiltGuest, layersDigest } from '../runtimes/guest-artifacts.ts';
import type { BuildGuest, Layer, Runtime } from '../runtimes/runtime.ts';
import { type PreparedModule, prepareModule } from '../wasm/prepare-module.ts';

/** Room for build-time guests: the whole standard library is compiled in one. */
const BUILD_LIMITS = { maxBytes: 2 ** 30, maxFiles: 1_000_000 };
const BUILD_MAX_PAGES = 16_384;

export async function buildGuest(runtime: Runtime, progress: (step: string) => void): Promise<BuiltGuest> {
  progress('rewriting the module');
  const prepared = prepareModule(readBinary(runtime), runtime.prepare);
  const program: CompiledModule = {
    module: new WebAssembly.Module(prepared.bytes as BufferSource),
    minPages: prepared.memory.minPages,
    stateGlobals: prepared.stateGlobals.map(({ name }) => name),
  };
  progress('making its files');
  const missing: MissingPackage[] = [];
  const buildGuestLayer: BuildGuest = (unfinished, use) => {
    const guest = bootGuest(runtime, program, prepared, unfinished);
    settle(runtime, guest, () => use(guest));
    return guest.kernel.volume.entries('/tmp');
  };
  const layers = await runtime.layers(buildGuestLayer, (one) => missing.push(one));
  progress('booting the interpreter');
  const guest = bootGuest(runtime, program, prepared, layers);
  const handles = settle(runtime, guest, () => runtime.boot(guest));
  const packed = layers.map(({ at, entries }) => ({ at, bytes: packEntries(entries) }));
  const digest = layersDigest(packed.map(({ at, bytes }) => ({ at, sha256: sha256Hex(bytes) })));
  const origin = { runtime: runtime.name, module: sha256Hex(prepared.bytes), layers: digest };
  progress('saving the image');
  const image = captureImage(guest, origin, handles);
  const { minPages, stateGlobals } = program;
  return {
    runtime: runtime.name,
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

function readBinary({ binary }: Runtime): Uint8Array {
  const bytes = readFileSync(createRequire(import.meta.url).resolve(binary.specifier));
  const found = sha256Hex(bytes);
  if (found === binary.sha256) return bytes;
  const facts = `expected SHA-256 ${binary.sha256}, found ${found}`;
  throw new SandboxError(
    'build_failed',
    `${binary.specifier} is not the binary this version is made for: ${facts}.`,
  );
}

function bootGuest(
  runtime: Runtime,
  program: CompiledModule,
  prepared: PreparedModule,
  layers: readonly Layer[],
): Guest {
  const volume = new Volume(BUILD_LIMITS, () => Date.now());
  layers.forEach(({ at, entries }, i) => {
    volume.mount(at, readOnlyTree(entries, i + 1));
  });
  const guest = new Guest(
    program,
    runtime.linkage,
    { pages: program.minPages, maxPages: BUILD_MAX_PAGES },
    volume,
  );
  const memory = new Uint8Array(guest.memory.buffer);
  for (const { offset, bytes } of prepared.data) memory.set(bytes, offset);
  guest.kernel.env = runtime.bootEnv;
  return guest;
}

/** Runs build-time guest code without limits; what it printed before it failed is in the error. */
function settle<T>(runtime: Runtime, guest: Guest, action: () => T): T {
  const said: Uint8Array[] = [];
  guest.beginRun({ ...UNLIMITED_RUN, output: (_, bytes) => said.push(bytes.slice()) });
  try {
    return action();
  } catch (cause) {
    if (!(cause instanceof GuestStopped)) throw cause;
    const output = Buffer.concat(said).toString();
    throw new SandboxError(
      'build_failed',
      `The ${runtime.name} guest did not boot: ${cause.stop.message}\n${output}`,
    );
  }
}
