/**
 * The read-only files of a Python guest: its standard library and the vendored packages, with their bytecode. The
 * guest's own compiler makes the bytecode; what it made from equal sources is kept and not made again.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Entry } from '../../fs/entries.ts';
import { packEntries, unpackEntries } from '../../fs/tree-codec.ts';
import { readCached, writeCached } from '../../host/disk-cache.ts';
import type { MissingPackage } from '../../packages/catalog.ts';
import { fetchPackages, firstPartyFiles, lockedPackages } from '../../packages/fetch-python.ts';
import { type PackageFile, toEntries, toFiles } from '../../packages/package-file.ts';
import { readZip } from '../../packages/read-zip.ts';
import type { Layer } from '../runtime.ts';

export const STDLIB = '/lib/python3.14';
export const SITE_PACKAGES = '/data/site-packages';
/** Packages that the caller of the library brings along. */
export const OWN_PACKAGES = '/data/packages';
/** Parts of the archive that belong to the bridge or to package tools, which a guest cannot use. */
const LEFT_OUT = /^(_?pyodide|site-packages|ensurepip)(\/|$)/;
/** One date for all files of a layer, so that equal inputs make equal layers. Zip needs one after 1980. */
const LAYER_TIME_MS = Date.UTC(2026, 0, 1);

/** Our own modules in the standard library, by where they lie there. */
const RUNTIME_FILES = {
  'asyncio/unix_events.py': 'asyncio_unix_events.py',
  '_sandbox.py': 'boot.py',
  '_sandbox_imports.py': 'import_tracker.py',
} as const;

export const guestFile = (name: string) =>
  new Uint8Array(readFileSync(new URL(`./guest/${name}`, import.meta.url)));

/** Compiles everything below `at` in a guest that sees these layers, and returns what that guest then has in /tmp. */
export type Compile = (layers: readonly Layer[], at: string) => readonly Entry[];

/** A layer of these files and the directories they need. */
export function layerOf(at: string, files: readonly PackageFile[]): Layer {
  // CPython looks for this folder to know that it has found its library.
  return { at, entries: toEntries(files, LAYER_TIME_MS, at === STDLIB ? ['lib-dynload'] : []) };
}

/** Sources and their bytecode. `compiler` names the binary that compiles; another one makes other bytecode. */
export function compiled(
  at: string,
  sources: readonly PackageFile[],
  compiler: string,
  compile: () => readonly Entry[],
): PackageFile[] {
  const packed = packEntries(layerOf(at, sources).entries);
  const script = guestFile('compile_layer.py');
  const key = createHash('sha256').update(`${compiler}\0${at}\0`).update(script).update(packed).digest('hex');
  const kept = readCached('layers', key);
  if (kept !== undefined) return toFiles(unpackEntries(kept));
  const prefix = `${at.slice(1)}/`;
  const bytecode = toFiles(compile())
    .filter(({ path }) => path.startsWith(prefix))
    .map(({ path, data }) => ({ path: path.slice(prefix.length), data }));
  const all = [...sources, ...bytecode];
  writeCached('layers', key, packEntries(layerOf(at, all).entries));
  return all;
}

async function stdlibSources(): Promise<PackageFile[]> {
  const archive = createRequire(import.meta.url).resolve('pyodide/python_stdlib.zip');
  return (await readZip(archive)).filter(({ path }) => !LEFT_OUT.test(path) && !(path in RUNTIME_FILES));
}

export async function pythonLayers(
  compiler: string,
  compile: Compile,
  warn: (missing: MissingPackage) => void,
): Promise<Layer[]> {
  const packages = await fetchPackages(lockedPackages());
  packages.missing.forEach(warn);
  const script = { path: '_sandbox_compile.py', data: guestFile('compile_layer.py') };
  /** A library in which a guest can compile what lies at `at`; that may be part of the library itself. */
  const made = (at: string, sources: readonly PackageFile[], library: readonly PackageFile[]) =>
    compiled(at, sources, compiler, () => {
      if (at === STDLIB) return compile([layerOf(STDLIB, [...library, ...sources, script])], at);
      return compile([layerOf(STDLIB, [...library, script]), layerOf(at, sources)], at);
    });
  const runtimeFiles = Object.entries(RUNTIME_FILES).map(([path, name]) => ({ path, data: guestFile(name) }));
  const stdlib = made(STDLIB, await stdlibSources(), []);
  const runtime = made(STDLIB, runtimeFiles, stdlib);
  const library = [...stdlib, ...runtime];
  const site = made(SITE_PACKAGES, packages.files, library);
  const firstParty = made(SITE_PACKAGES, firstPartyFiles(), library);
  return [layerOf(STDLIB, library), layerOf(SITE_PACKAGES, [...site, ...firstParty])];
}
