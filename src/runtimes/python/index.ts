/**
 * CPython 3.14 from the binary that Pyodide ships, without Pyodide: its JavaScript is never loaded and its bridge is
 * not linked. The C API, exported by name, is all that the host side needs.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Guest, LimitReason } from '../../engine/guest.ts';
import type { Entry } from '../../fs/entry.ts';
import { emscriptenDoors } from '../../kernel/emscripten.ts';
import { wasiDoors } from '../../kernel/wasi.ts';
import { fetchPackages, lockedPackages } from '../../packages/python.ts';
import {
  allocate,
  type GuestRequest,
  type Handles,
  type Layer,
  LIMIT_ERRORS,
  MAX_REPORT_BYTES,
  type Runtime,
} from '../runtime.ts';
import { readZip } from '../zip.ts';

const STDLIB = '/lib/python3.14';
const SITE_PACKAGES = '/data/site-packages';
/** Parts of the archive that belong to the bridge or to package tools, which a guest cannot use. */
const LEFT_OUT = /^(_?pyodide|site-packages|ensurepip)(\/|$)/;
/** One date for all files of the layer, so that equal inputs make equal layers. Zip needs one after 1980. */
const LAYER_TIME_MS = Date.UTC(2026, 0, 1);

/** Size of the boot script's buffer for the words of a limit. */
const LIMIT_TEXT_BYTES = 200;
/** Signals that no program uses; the boot script has handlers for them that raise. */
const LIMIT_SIGNALS: Record<LimitReason, number> = { out_of_fuel: 60, timeout: 61, cancelled: 62 };

const encoder = new TextEncoder();

/** Calls `use` with a C string in guest memory. */
function withText<T>(guest: Guest, text: string, use: (pointer: number) => T): T {
  const pointer = allocate(guest, encoder.encode(text), 'malloc');
  const result = use(pointer);
  guest.call('free', pointer);
  return result;
}

function boot(guest: Guest): void {
  guest.call('emscripten_stack_init');
  guest.call('__wasm_call_ctors');
  guest.call('Py_InitializeEx', 0);
}

function importModule(guest: Guest, name: string): number {
  const module = withText(guest, name, (pointer) => guest.call('PyImport_ImportModule', pointer));
  return checked(guest, module, `the guest could not import ${name}`);
}

/** ctypes may look at memory but call nothing: the C code around this call reports the exception it finds set. */
function refuseForeignCall(guest: Guest): void {
  const type = guest.view.u32((guest.exports['PyExc_OSError'] as WebAssembly.Global).value);
  withText(guest, 'ctypes cannot call C functions in the sandbox', (text) =>
    guest.call('PyErr_SetString', type, text),
  );
}

/** A result of the C API that must not be null; otherwise the exception is printed and the guest ends. */
function checked(guest: Guest, object: number, failure: string): number {
  if (object !== 0) return object;
  guest.call('PyErr_Print');
  return guest.abort(failure);
}

/** What a guest runs now, for the words of a limit. */
const running = new WeakMap<Guest, { readonly handles: Handles; readonly request: GuestRequest }>();

/** Leaves the words where the boot script's handler looks for them, and lets the interpreter call it. */
function interrupt(guest: Guest, reason: LimitReason): void {
  const program = running.get(guest);
  if (program === undefined) return;
  const words = encoder.encode(LIMIT_ERRORS[reason].message(program.request)).subarray(0, LIMIT_TEXT_BYTES);
  guest.view.bytes(program.handles['limit_text']!, LIMIT_TEXT_BYTES).fill(0).set(words);
  guest.call('PyErr_SetInterruptEx', LIMIT_SIGNALS[reason]);
}

function run(guest: Guest, handles: Handles, request: GuestRequest): string {
  running.set(guest, { handles, request });
  const { code, env, call, keep } = request;
  const bytes = encoder.encode(JSON.stringify({ code, env, call, keep }));
  const buffer = allocate(guest, bytes, 'malloc');
  const payload = guest.call('PyBytes_FromStringAndSize', buffer, bytes.length);
  guest.call('free', buffer);
  const argument = checked(guest, payload, 'the guest has no memory left for its own program');
  const none = guest.call('PyObject_CallOneArg', handles['prepare']!, argument);
  guest.call('Py_DecRef', checked(guest, none, 'the runtime could not prepare the program'));
  guest.call('Py_DecRef', argument);
  guest.refuel();
  const report = checked(
    guest,
    guest.call('PyObject_CallNoArgs', handles['run']!),
    'the runtime could not report how the program ended',
  );
  const size = guest.call('PyBytes_Size', report);
  const start = guest.call('PyBytes_AsString', report);
  if (size < 0 || size > MAX_REPORT_BYTES || start === 0) return '{}';
  const text = new TextDecoder().decode(guest.view.bytes(start, size));
  guest.call('Py_DecRef', report);
  return text;
}

function file(path: string, data: Uint8Array): Entry {
  return { path, kind: 'file', mode: 0o444, mtimeMs: LAYER_TIME_MS, data };
}

/** Adds the directories that files of a flat list need. */
function withDirectories(at: string, files: readonly Entry[]): Entry[] {
  // CPython looks for this folder to know that it has found its library.
  const dirs = new Set<string>(at === STDLIB ? ['lib-dynload'] : []);
  for (const { path } of files) {
    for (let slash = path.indexOf('/'); slash >= 0; slash = path.indexOf('/', slash + 1))
      dirs.add(path.slice(0, slash));
  }
  const made = [...dirs].map((path): Entry => ({ path, kind: 'dir', mode: 0o555, mtimeMs: LAYER_TIME_MS }));
  return [...made, ...files];
}

const guestFile = (name: string) => readFileSync(new URL(`./guest/${name}`, import.meta.url));

async function stdlibSources(): Promise<Entry[]> {
  const archive = createRequire(import.meta.url).resolve('pyodide/python_stdlib.zip');
  const files = (await readZip(archive))
    .filter(({ path }) => !LEFT_OUT.test(path))
    .map(({ path, data }) => file(path, data));
  const own = new Map([
    ['asyncio/unix_events.py', guestFile('unix_events.py')],
    ['_sandbox.py', guestFile('boot.py')],
  ]);
  const kept = files.filter(({ path }) => !own.has(path));
  return [...kept, ...[...own].map(([path, data]) => file(path, data))];
}

export const python: Runtime = {
  name: 'python',
  binary: {
    specifier: 'pyodide/pyodide.asm.wasm',
    sha256: 'cc36e3cab04fdfc9a63ff13eb52eae2b911bf46c025cc7b281f394bd3de1d5e6',
  },
  prepare: {
    exports: [
      '__indirect_function_table',
      '__wasm_call_ctors',
      'emscripten_stack_init',
      'emscripten_stack_get_current',
      'emscripten_stack_get_end',
      'emscripten_get_sbrk_ptr',
      'Py_InitializeEx',
      'PyImport_ImportModule',
      'PyObject_GetAttrString',
      'PyObject_CallNoArgs',
      'PyObject_CallOneArg',
      'PyBytes_FromStringAndSize',
      'PyBytes_AsString',
      'PyBytes_Size',
      'PyByteArray_AsString',
      'PyErr_Print',
      'PyErr_SetInterruptEx',
      'PyErr_SetString',
      'PyExc_OSError',
      'Py_DecRef',
      'malloc',
      'free',
    ],
    hostFunctions: ['emscripten_thread_sleep'],
  },
  linkage: {
    interrupt,
    doors: (guest) => ({
      env: {
        ...emscriptenDoors(guest.kernel, guest.view, guest),
        ffi_call_js: () => refuseForeignCall(guest),
      },
      wasi_snapshot_preview1: wasiDoors(guest.kernel, guest.view, (code) => guest.exit(code)),
    }),
    hostFunctions: [
      {
        // The C library's only way to sleep; as compiled it burns instructions until the clock has moved.
        signature: { params: ['f64'], results: [] },
        call: (guest, milliseconds) => {
          guest.sleep(milliseconds!);
          return undefined;
        },
      },
    ],
  },
  bootEnv: {
    PYTHONHOME: '/',
    PYTHONHASHSEED: '0',
    PYTHONDONTWRITEBYTECODE: '1',
    PYTHONUTF8: '1',
    HOME: '/app',
    TZ: 'UTC',
    LANG: 'C.UTF-8',
  },
  async layers(build, warn) {
    const packages = await fetchPackages(lockedPackages());
    packages.missing.forEach(warn);
    const sources: Layer[] = [
      { at: STDLIB, entries: await stdlibSources() },
      { at: SITE_PACKAGES, entries: packages.files.map(({ path, data }) => file(path, data)) },
    ];
    const compiler = file('_sandbox_compile.py', guestFile('compile_layer.py'));
    const unfinished = sources.map(({ at, entries }) => ({
      at,
      entries: withDirectories(at, at === STDLIB ? [...entries, compiler] : entries),
    }));
    const made = build(unfinished, (guest) => {
      boot(guest);
      importModule(guest, '_sandbox_compile');
    });
    const bytecode = made.filter(({ kind }) => kind === 'file');
    return sources.map(({ at, entries }) => {
      const prefix = `${at.slice(1)}/`;
      const own = bytecode.filter(({ path }) => path.startsWith(prefix));
      const files = own.map(({ path, data }) => file(path.slice(prefix.length), data!));
      return { at, entries: withDirectories(at, [...entries, ...files]) };
    });
  },
  unusedMemory(guest) {
    // The stack below its pointer, and everything above the end of the heap.
    const stackEnd = guest.call('emscripten_stack_get_end');
    const stackPointer = guest.call('emscripten_stack_get_current');
    const heapEnd = guest.view.u32(guest.call('emscripten_get_sbrk_ptr'));
    return [
      { start: stackEnd, end: stackPointer },
      { start: heapEnd, end: guest.memory.buffer.byteLength },
    ];
  },
  boot(guest) {
    boot(guest);
    const module = importModule(guest, '_sandbox');
    const attribute = (name: string) =>
      withText(guest, name, (pointer) => guest.call('PyObject_GetAttrString', module, pointer));
    const limitText = guest.call('PyByteArray_AsString', attribute('limit_text'));
    return { prepare: attribute('prepare'), run: attribute('run'), limit_text: limitText };
  },
  run,
};
