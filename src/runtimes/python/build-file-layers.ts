/**
 * Builds the read-only layers of Python guests: the standard library and the vendored packages, with their bytecode. The
 * guest compiles the bytecode itself; the results are cached by a digest of the sources.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { sha256Hex } from '../../framing/digest.ts';
import type { Entry } from '../../fs/flat-entries.ts';
import { packEntries, unpackEntries } from '../../fs/tree-codec.ts';
import { readCached, writeCached } from '../../host/disk-cache.ts';
import { type PackageFile, toEntries, toFiles } from '../../packages/package-files.ts';
import { PYTHON_VERSION } from '../../packages/python-abi.ts';
import { readZip } from '../../packages/read-zip.ts';
import type { MissingPackage } from '../../packages/vendored-package-table.ts';
import { LAYER_TIME_MS, type Layer } from '../runtime.ts';

const STDLIB = `/lib/python${PYTHON_VERSION}`;
const SITE_PACKAGES = '/data/site-packages';
export const USER_PACKAGES = '/data/packages';
/** Parts of the archive that guests cannot use: the bridge to JavaScript and package installers. */
const EXCLUDED = /^(_?pyodide|site-packages|ensurepip)(\/|$)/;

/** Files of this runtime by their path in the standard library. */
const RUNTIME_FILES = {
  'asyncio/unix_events.py': 'asyncio_unix_events.py',
  'concurrent/futures/process.py': 'process_pool_executor.py',
  'multiprocessing/context.py': 'multiprocessing/context.py',
  'multiprocessing/pool.py': 'multiprocessing/pool.py',
  '_sandbox.py': 'boot.py',
  '_sandbox_altair.py': 'altair_charts.py',
  '_sandbox_chart.py': 'chart.py',
  '_sandbox_display.py': 'display.py',
  '_sandbox_figure_chart.py': 'matplotlib_chart_data.py',
  '_sandbox_imports.py': 'import_tracker.py',
  '_sandbox_matplotlib.py': 'matplotlib_figures.py',
  '_sandbox_pbkdf2.py': 'pbkdf2.py',
  '_sandbox_plotly.py': 'plotly_figures.py',
  '_sandbox_report.py': 'program_report.py',
  'IPython/__init__.py': 'ipython/__init__.py',
  'IPython/display.py': 'ipython/display.py',
  '_sandbox_threads.py': 'threads.py',
  '_sandbox_tool_calls.py': 'tool_calls.py',
  '_sandbox_tools.py': 'tools.py',
  '_sandbox_xlrd.py': 'xlrd_files.py',
} as const;

export const guestFile = (name: string) =>
  new Uint8Array(readFileSync(new URL(`./guest/${name}`, import.meta.url)));

/** Compiles all sources below `at` in a guest with these layers and returns the files that it wrote to /tmp. */
type Compile = (layers: readonly Layer[], at: string) => readonly Entry[];

export function layerOf(at: string, files: readonly PackageFile[]): Layer {
  // CPython searches for lib-dynload to locate its standard library.
  return { at, entries: toEntries(files, LAYER_TIME_MS, at === STDLIB ? ['lib-dynload'] : []) };
}

/**
 * Returns the sources and their bytecode, from the cache if possible. `compiler` identifies the interpreter, because
 * bytecode depends on it.
 */
export function withBytecode(
  at: string,
  sources: readonly PackageFile[],
  compiler: string,
  compile: () => readonly Entry[],
): PackageFile[] {
  const packed = packEntries(layerOf(at, sources).entries);
  const key = sha256Hex(`${compiler}\0${at}\0`, guestFile('compile_layer.py'), packed);
  const cached = readCached('layers', key);
  if (cached !== undefined) return toFiles(unpackEntries(cached));
  const prefix = `${at.slice(1)}/`;
  const bytecode = toFiles(compile())
    .filter(({ path }) => path.startsWith(prefix))
    .map(({ path, data }) => ({ path: path.slice(prefix.length), data }));
  const all = [...sources, ...bytecode];
  writeCached('layers', key, packEntries(layerOf(at, all).entries));
  return all;
}

/** Puts bytecode next to its source: both contain the same names and texts, so they compress well together. */
function bySource(a: PackageFile, b: PackageFile): number {
  const [one, other] = [a, b].map(({ path }) =>
    path.replace(/__pycache__\/([^/]*)\.cpython-\d+\.pyc$/, '$1.py'),
  );
  return one! < other! ? -1 : one! > other! ? 1 : a.path < b.path ? -1 : 1;
}

function stdlibSources(): PackageFile[] {
  const archive = createRequire(import.meta.url).resolve('pyodide/python_stdlib.zip');
  return readZip(readFileSync(archive)).filter(
    ({ path }) => !EXCLUDED.test(path) && !(path in RUNTIME_FILES),
  );
}

export async function buildPythonLayers(
  compiler: string,
  compile: Compile,
  warn: (missing: MissingPackage) => void,
): Promise<Layer[]> {
  // Only a build needs it, and workers load this file.
  const { fetchLockedPackages, firstPartyFiles, lockedPackages } = await import(
    '../../packages/fetch-locked-packages.ts'
  );
  const packages = await fetchLockedPackages(lockedPackages());
  packages.missing.forEach(warn);
  const script = { path: '_sandbox_compile.py', data: guestFile('compile_layer.py') };
  /** Adds the bytecode of sources at `at`, compiled by a guest whose standard library is `library`. */
  const compiled = (at: string, sources: readonly PackageFile[], library: readonly PackageFile[]) =>
    withBytecode(at, sources, compiler, () => {
      if (at === STDLIB) return compile([layerOf(STDLIB, [...library, ...sources, script])], at);
      return compile([layerOf(STDLIB, [...library, script]), layerOf(at, sources)], at);
    });
  const runtimeFiles = Object.entries(RUNTIME_FILES).map(([path, name]) => ({ path, data: guestFile(name) }));
  const stdlib = compiled(STDLIB, stdlibSources(), []);
  const library = [...stdlib, ...compiled(STDLIB, runtimeFiles, stdlib)];
  const vendored = compiled(SITE_PACKAGES, packages.files, library);
  const firstParty = compiled(SITE_PACKAGES, firstPartyFiles(packages.missing), library);
  return [
    layerOf(STDLIB, library.toSorted(bySource)),
    layerOf(SITE_PACKAGES, [...vendored, ...firstParty].toSorted(bySource)),
  ];
}
