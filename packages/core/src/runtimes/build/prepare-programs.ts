/** Prepares C programs: meters their modules and captures their memory before the first instruction. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CompiledModule, Guest } from '../../engine/guest.ts';
import { captureImage } from '../../engine/image.ts';
import { SandboxError } from '../../errors.ts';
import { sha256Hex } from '../../framing/digest.ts';
import type { Entry } from '../../fs/flat-entries.ts';
import { Volume } from '../../fs/volume.ts';
import { type PackageFile, toEntries } from '../../packages/package-files.ts';
import { prepareModule } from '../../wasm/prepare-module.ts';
import { type BuiltProgram, writePrograms } from '../programs/program-files.ts';
import { PROGRAM_LINKAGE } from '../programs/program-linkage.ts';
import { FORK_EXPORTS, PROGRAM_EXPORTS } from '../programs/run-program.ts';
import { LAYER_TIME_MS } from '../runtime.ts';
import { encodePack } from './encode-pack.ts';

const MAX_PAGES = 16_384;

interface ManifestEntry {
  readonly name: string;
  readonly file: string;
  readonly sha256: string;
  readonly asyncify: boolean;
  readonly commands: readonly string[];
}

/** A folder that programs read, and its files. */
interface ProgramFiles {
  readonly at: string;
  readonly files: readonly PackageFile[];
}

/** Files that begin like scripts can be started. */
const withModes = (entries: readonly Entry[]): Entry[] =>
  entries.map((entry) =>
    entry.data?.[0] === 0x23 && entry.data[1] === 0x21 ? { ...entry, mode: 0o555 } : entry,
  );

/** Prepares the commands of the manifest in a folder, and writes them to another, with the files that they read. Returns the sizes in bytes. */
export async function preparePrograms(
  from: string,
  to: string,
  inputs: string,
  { at, files }: ProgramFiles,
): Promise<number> {
  const text = readFileSync(join(from, 'manifest.json'), 'utf8');
  const { programs } = JSON.parse(text) as { programs: ManifestEntry[] };
  const built = programs
    .filter(({ commands }) => commands.length > 0)
    .map((entry) => prepareProgram(entry, readBinary(from, entry)));
  const layer =
    files.length === 0 ? undefined : await encodePack(at, withModes(toEntries(files, LAYER_TIME_MS)));
  writePrograms(to, built, { inputs, scripts: readScripts(join(from, 'scripts')) }, layer);
  return built.reduce(
    (sum, { module, image }) => sum + module.length + image.length,
    layer?.pack.length ?? 0,
  );
}

/** The texts of the scripts in a folder, by name. */
function readScripts(folder: string): Record<string, string> {
  const names = existsSync(folder) ? readdirSync(folder).sort() : [];
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
}

function readBinary(folder: string, { file, sha256 }: ManifestEntry): Uint8Array {
  const bytes = readFileSync(join(folder, file));
  if (sha256Hex(bytes) === sha256) return bytes;
  throw new SandboxError('build_failed', `${file} is not the program that its manifest describes.`);
}

function prepareProgram({ name, asyncify, commands }: ManifestEntry, binary: Uint8Array): BuiltProgram {
  const exports = [...PROGRAM_EXPORTS, ...(asyncify ? FORK_EXPORTS : [])];
  const prepared = prepareModule(binary, { exports, stackPointer: '__stack_pointer' });
  const compiled: CompiledModule = {
    module: new WebAssembly.Module(prepared.bytes as BufferSource),
    minPages: prepared.memory.minPages,
    stateGlobals: prepared.stateGlobals.map((global) => global.name),
  };
  const { minPages, stateGlobals } = compiled;
  const volume = new Volume({ maxBytes: 0, maxFiles: 0 }, () => 0);
  const guest = new Guest(compiled, PROGRAM_LINKAGE, { pages: minPages, maxPages: MAX_PAGES }, volume);
  for (const { offset, bytes } of prepared.data) guest.view.bytes(offset, bytes.length).set(bytes);
  const origin = { runtime: name, module: sha256Hex(prepared.bytes), layers: '' };
  const image = captureImage(guest, origin, {});
  return { name, commands, module: prepared.bytes, minPages, stateGlobals, origin, image };
}
