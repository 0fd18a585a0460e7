/** Layers of Python sources with their bytecode. A guest compiles it; the results are cached by a digest of the sources. */
import { readFileSync } from 'node:fs';
import { sha256Hex } from '../../framing/digest.ts';
import type { Entry } from '../../fs/flat-entries.ts';
import { readCached, writeCached } from '../../host/disk-cache.ts';
import { installedFile } from '../../host/install-folder.ts';
import {
  type PackageFile,
  packFiles,
  sortedFiles,
  toEntries,
  toFiles,
  unpackFiles,
} from '../../packages/package-files.ts';
import { PYTHON_VERSION } from '../../packages/python-abi.ts';
import { LAYER_TIME_MS, type Layer } from '../runtime.ts';

export const STDLIB = `/lib/python${PYTHON_VERSION}`;
export const USER_PACKAGES = '/data/packages';
/** Digest of the interpreter's binary, on which bytecode depends. */
export const BINARY_SHA256 = 'cc36e3cab04fdfc9a63ff13eb52eae2b911bf46c025cc7b281f394bd3de1d5e6';

/** The program that compiles all sources below COMPILE_ROOT and writes the bytecode to /tmp. */
export const compileScript = () =>
  new Uint8Array(readFileSync(installedFile('runtimes/python/compile_layer.py')));

export function layerOf(at: string, files: readonly PackageFile[]): Layer {
  // CPython searches for lib-dynload to locate its standard library.
  return { at, entries: toEntries(files, LAYER_TIME_MS, at === STDLIB ? ['lib-dynload'] : []) };
}

/** Returns the sources and their bytecode sorted by path, from the cache if possible. Images depend on the order. */
export function withBytecode(
  at: string,
  sources: readonly PackageFile[],
  compile: () => readonly Entry[],
): PackageFile[] {
  const key = sha256Hex(`${BINARY_SHA256}\0${at}\0`, compileScript(), packFiles(sortedFiles(sources)));
  const cached = readCached('layers', key);
  if (cached !== undefined) return unpackFiles(cached);
  const prefix = `${at.slice(1)}/`;
  const bytecode = toFiles(compile())
    .filter(({ path }) => path.startsWith(prefix))
    .map(({ path, data }) => ({ path: path.slice(prefix.length), data }));
  const files = sortedFiles([...sources, ...bytecode]);
  writeCached('layers', key, packFiles(files));
  return files;
}
