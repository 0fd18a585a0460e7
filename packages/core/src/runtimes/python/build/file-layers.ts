/**
 * Builds the read-only layers of Python guests: the standard library and the vendored packages, with their bytecode.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Entry } from '../../../fs/flat-entries.ts';
import type { PackageFile } from '../../../packages/package-files.ts';
import { readZip } from '../../../packages/read-zip.ts';
import { type MissingPackage, PYTHON_PACKAGES } from '../../../packages/vendored-package-table.ts';
import type { Layer } from '../../runtime.ts';
import { compileScript, layerOf, STDLIB, withBytecode } from '../bytecode-layers.ts';
import { fetchLockedPackages, firstPartyFiles, lockedPackages } from './fetch-locked-packages.ts';

const SITE_PACKAGES = '/data/site-packages';
/** Parts of the archive that guests cannot use: the bridge to JavaScript and package installers. */
const EXCLUDED = /^(_?pyodide|site-packages|ensurepip)(\/|$)/;

/** Files of this runtime by their path in the standard library. */
const RUNTIME_FILES = {
  'asyncio/_sandbox_pipes.py': 'asyncio_pipes.py',
  'asyncio/unix_events.py': 'asyncio_unix_events.py',
  'concurrent/futures/process.py': 'process_pool_executor.py',
  'multiprocessing/pool.py': 'multiprocessing/pool.py',
  '_sandbox.py': 'boot.py',
  '_sandbox_aiohttp.py': 'network_aiohttp.py',
  '_sandbox_altair.py': 'altair_charts.py',
  '_sandbox_chart.py': 'chart.py',
  'chart.py': 'chart_module.py',
  '_sandbox_display.py': 'display.py',
  '_sandbox_figure_chart.py': 'matplotlib_chart_data.py',
  '_sandbox_imports.py': 'import_tracker.py',
  '_sandbox_local_time.py': 'local_time.py',
  '_sandbox_matplotlib.py': 'matplotlib_figures.py',
  '_sandbox_http_client.py': 'network_http_client.py',
  '_sandbox_httpx.py': 'network_httpx.py',
  '_sandbox_network.py': 'network.py',
  '_sandbox_socket.py': 'network_socket.py',
  '_sandbox_urllib3.py': 'network_urllib3.py',
  '_sandbox_notebook.py': 'notebook.py',
  '_sandbox_numpy.py': 'numpy_errors.py',
  '_sandbox_pbkdf2.py': 'pbkdf2.py',
  '_sandbox_pip.py': 'pip_commands.py',
  '_sandbox_processes.py': 'processes.py',
  '_sandbox_plotly.py': 'plotly_figures.py',
  '_sandbox_report.py': 'program_report.py',
  '_sandbox_ripemd160.py': 'ripemd160.py',
  'IPython/__init__.py': 'ipython/__init__.py',
  'IPython/display.py': 'ipython/display.py',
  'grp.py': 'grp.py',
  'micropip.py': 'micropip.py',
  'pip/__init__.py': 'pip.py',
  'pip/__main__.py': 'pip.py',
  'pip/_internal/__init__.py': 'pip.py',
  'pip/_internal/cli/__init__.py': 'pip.py',
  'pip/_internal/cli/main.py': 'pip.py',
  'pwd.py': 'pwd.py',
  '_sandbox_threads.py': 'threads.py',
  '_sandbox_tool_calls.py': 'tool_calls.py',
  '_sandbox_tools.py': 'tools.py',
  '_sandbox_xlrd.py': 'xlrd_files.py',
} as const;

/** Files of this runtime that are appended to modules of the standard library, whose definitions they replace. */
const ADDITIONS: Readonly<Record<string, string>> = {
  'multiprocessing/context.py': 'multiprocessing/context.py',
  'multiprocessing/sharedctypes.py': 'multiprocessing/sharedctypes.py',
};

const guestFile = (name: string) =>
  new Uint8Array(readFileSync(new URL(`../guest/${name}`, import.meta.url)));

const withAddition = (file: PackageFile): PackageFile => {
  const addition = ADDITIONS[file.path];
  return addition === undefined ? file : { ...file, data: Buffer.concat([file.data, guestFile(addition)]) };
};

/** Compiles all sources below `at` in a guest with these layers and returns the files that it wrote to /tmp. */
type Compile = (layers: readonly Layer[], at: string) => readonly Entry[];

/** Puts bytecode next to its source: both contain the same names and texts, so they compress well together. */
function bySource(a: PackageFile, b: PackageFile): number {
  const [one, other] = [a, b].map(({ path }) =>
    path.replace(/__pycache__\/([^/]*)\.cpython-\d+\.pyc$/, '$1.py'),
  );
  return one! < other! ? -1 : one! > other! ? 1 : a.path < b.path ? -1 : 1;
}

/** Removes the sources of modules that have only bytecode, which Python then loads from the place of the source. */
function withoutSources(files: readonly PackageFile[]): PackageFile[] {
  const patterns = PYTHON_PACKAGES.flatMap(({ bytecode_only }) => bytecode_only ?? []);
  const isRemoved = (path: string) => patterns.some((pattern) => pattern.test(path));
  return files
    .filter(({ path }) => !path.endsWith('.py') || !isRemoved(path))
    .map((file) => (isRemoved(file.path) ? { ...file, path: bytecodeAtSource(file.path) } : file));
}

const bytecodeAtSource = (path: string) => path.replace(/__pycache__\/([^/]*)\.cpython-\d+\.pyc$/, '$1.pyc');

/** subprocess works: the kernel has processes. */
const SUBPROCESS_CHECK = 'sys.platform not in {"emscripten", ';

function stdlibSources(): PackageFile[] {
  const archive = createRequire(import.meta.url).resolve('pyodide/python_stdlib.zip');
  return readZip(readFileSync(archive))
    .filter(({ path }) => !EXCLUDED.test(path) && !(path in RUNTIME_FILES))
    .map(withAddition)
    .map((file) => (file.path === 'subprocess.py' ? { ...file, data: withProcesses(file.data) } : file));
}

function withProcesses(data: Uint8Array): Uint8Array {
  const source = new TextDecoder().decode(data);
  if (!source.includes(SUBPROCESS_CHECK)) throw new Error('subprocess.py has no check of the platform');
  return new TextEncoder().encode(source.replace(SUBPROCESS_CHECK, 'sys.platform not in {'));
}

export async function buildPythonLayers(
  compile: Compile,
  warn: (missing: MissingPackage) => void,
): Promise<Layer[]> {
  const packages = await fetchLockedPackages(lockedPackages());
  packages.missing.forEach(warn);
  const script = { path: '_sandbox_compile.py', data: compileScript() };
  /** Adds the bytecode of sources at `at`, compiled by a guest whose standard library is `library`. */
  const compiled = (at: string, sources: readonly PackageFile[], library: readonly PackageFile[]) =>
    withBytecode(at, sources, () => {
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
    layerOf(SITE_PACKAGES, [...withoutSources(vendored), ...firstParty].toSorted(bySource)),
  ];
}
