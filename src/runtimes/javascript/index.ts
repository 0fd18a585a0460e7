/**
 * QuickJS-NG from the binary that quickjs-wasi ships, without that package's JavaScript. Its C functions, exported by
 * name, are all that the host side needs; timers, modules and handlers live in guest memory, where images keep them.
 */
import { fileURLToPath } from 'node:url';
import type { Guest } from '../../engine/guest.ts';
import { OPERATION_NAMES, quickJsDoors } from '../../kernel/quickjs.ts';
import { wasiDoors } from '../../kernel/wasi.ts';
import { allocate, type GuestRequest, type Handles, type Layer, type Runtime } from '../runtime.ts';
import { planProgram } from './program.ts';

const LAYER = '/lib/javascript';
const BOOT_FILE = 'boot.js';
/** One date for all files of the layer, so that equal inputs make equal layers. */
const LAYER_TIME_MS = Date.UTC(2026, 0, 1);
/** Longest report the host reads back; the boot script cuts what it sends well below. */
const MAX_REPORT_BYTES = 4_000_000;
/**
 * The C stack, moved from the 1 MiB it was linked with to a larger place on the heap. QuickJS throws a RangeError when
 * a program has used all but the last quarter, which is kept for C code that does not ask.
 */
const STACK_BYTES = 2 * 1024 * 1024;
const STACK_LIMIT_BYTES = STACK_BYTES * 0.75;
/** Bytes of the interpreter's context in which the state of Math.random is looked for. */
const CONTEXT_BYTES = 4096;
const WORD_MASK = (1n << 64n) - 1n;
/** What the host calls of the boot script. */
const ENTRIES = ['start', 'turn', 'fail', 'rejected', 'report'] as const;

const encoder = new TextEncoder();

/** The handles of the program a guest runs now: they come with the image at each start, nothing is kept for longer. */
const running = new WeakMap<Guest, Handles>();

/** The boot script and everything it imports as one function of the door. esbuild is there at build time only. */
async function bootSource(): Promise<string> {
  const { build } = await import('esbuild');
  const result = await build({
    entryPoints: [fileURLToPath(new URL('./guest/boot.js', import.meta.url))],
    bundle: true,
    write: false,
    format: 'iife',
    globalName: 'boot',
    target: 'es2024',
    legalComments: 'none',
    minifyWhitespace: true,
    minifySyntax: true,
    banner: { js: '(function (__door) {' },
    footer: { js: 'return boot; })' },
  });
  return result.outputFiles[0]!.text;
}

function withText<T>(guest: Guest, text: string, use: (pointer: number, length: number) => T): T {
  const bytes = encoder.encode(text);
  const pointer = allocate(guest, bytes, 'wasm_malloc');
  const result = use(pointer, bytes.length);
  guest.call('wasm_free', pointer);
  return result;
}

/** Calls a function value; the result may be an exception. */
function invoke(guest: Guest, target: number, ...args: number[]): number {
  const list = guest.call('wasm_malloc', 4 * args.length + 4);
  if (list === 0) guest.abort('the guest has no memory left for its own program');
  args.forEach((value, i) => {
    guest.view.setU32(list + i * 4, value);
  });
  const self = guest.call('qjs_get_undefined');
  const result = guest.call('qjs_call', target, self, args.length, list);
  guest.call('qjs_free_value', self);
  guest.call('wasm_free', list);
  return result;
}

function property(guest: Guest, object: number, name: string): number {
  return withText(guest, name, (pointer) => guest.call('qjs_get_prop_string', object, pointer));
}

function readText(guest: Guest, value: number): string | undefined {
  const out = guest.call('wasm_malloc', 4);
  const start = out === 0 ? 0 : guest.call('qjs_get_string_len', value, out);
  if (start === 0) return undefined;
  const length = guest.view.u32(out);
  const text = length > MAX_REPORT_BYTES ? undefined : new TextDecoder().decode(guest.view.bytes(start, length));
  guest.call('qjs_free_cstring', start);
  guest.call('wasm_free', out);
  return text;
}

// ---- boot ----

function moveStack(guest: Guest): void {
  const start = guest.call('wasm_malloc', STACK_BYTES);
  if (start === 0) guest.abort('the guest has no memory left for its stack');
  (guest.exports['__stack_pointer'] as WebAssembly.Global).value = (start + STACK_BYTES) & ~15;
}

/** An object with a function for each system call. */
function makeDoor(guest: Guest): number {
  const door = guest.call('qjs_new_object');
  for (const name of OPERATION_NAMES) {
    withText(guest, name, (pointer, length) => {
      const operation = guest.call('qjs_new_host_function', pointer, length, 0);
      guest.call('qjs_set_prop_string', door, pointer, operation);
      guest.call('qjs_free_value', operation);
    });
  }
  return door;
}

function readBootScript(guest: Guest): string {
  const { volume } = guest.kernel;
  const node = volume.lookup(`${LAYER}/${BOOT_FILE}`, '/', true);
  const bytes = new Uint8Array(node.kind === 'file' ? node.size : 0);
  volume.read(node, 0, bytes);
  return new TextDecoder().decode(bytes);
}

function evaluate(guest: Guest, code: string, file: string): number {
  const value = withText(guest, code, (pointer, length) =>
    withText(guest, file, (name) => guest.call('qjs_eval', pointer, length, name, 0)),
  );
  return succeed(guest, value);
}

/** A value that is no exception; at boot there is nobody to catch one. */
function succeed(guest: Guest, value: number): number {
  if (guest.call('qjs_is_exception', value) === 0) return value;
  const error = guest.call('qjs_get_exception');
  const stack = readText(guest, property(guest, error, 'stack'));
  return guest.abort(`${readText(guest, error)}\n${stack}`);
}

/**
 * Finds the 64-bit state of Math.random: the word of the context that one call changes in the way of xorshift64*. The
 * state is part of the image, so each start has to put a new one there.
 */
function findRandomState(guest: Guest): number {
  const context = guest.call('qjs_get_context_ptr');
  const words = () => {
    const bytes = guest.view.bytes(context, CONTEXT_BYTES).slice();
    return new BigUint64Array(bytes.buffer);
  };
  const before = words();
  guest.call('qjs_free_value', evaluate(guest, 'Math.random()', 'boot'));
  const after = words();
  const at = before.findIndex((word, i) => word !== after[i] && xorshift(word) === after[i]);
  return at < 0 ? guest.abort('the state of Math.random was not found') : context + at * 8;
}

function xorshift(state: bigint): bigint {
  let x = state ^ (state >> 12n);
  x = (x ^ (x << 25n)) & WORD_MASK;
  return x ^ (x >> 27n);
}

function boot(guest: Guest): Handles {
  guest.call('_initialize');
  moveStack(guest);
  if (guest.call('qjs_init') !== 0) guest.abort('the interpreter did not start');
  guest.call('qjs_set_max_stack_size', STACK_LIMIT_BYTES);
  guest.call('qjs_set_promise_rejection_handler', 1);
  guest.call('qjs_set_module_loader', 1);
  const main = evaluate(guest, readBootScript(guest), 'sandbox:boot');
  const door = makeDoor(guest);
  const entries = succeed(guest, invoke(guest, main, door));
  drain(guest, 0);
  const handles: Handles = { random: findRandomState(guest) };
  for (const name of ENTRIES) handles[name] = property(guest, entries, name);
  for (const value of [main, door, entries]) guest.call('qjs_free_value', value);
  guest.call('qjs_run_gc');
  return handles;
}

// ---- runs ----

/** Puts fresh bits, never all zero, where Math.random has its state. */
function renewRandom(guest: Guest, at: number): void {
  const state = guest.view.bytes(at, 8);
  guest.random(state);
  state[0]! |= 1;
}

/** Takes the pending exception and hands it to `fail`, if there is one. */
function failWithException(guest: Guest, fail: number): void {
  const error = guest.call('qjs_get_exception');
  if (fail !== 0) guest.call('qjs_free_value', invoke(guest, fail, error));
  guest.call('qjs_free_value', error);
}

/** Runs promise jobs until there are none. */
function drain(guest: Guest, fail: number): void {
  while (guest.call('qjs_is_job_pending') !== 0) {
    if (guest.call('qjs_execute_pending_job') < 0) failWithException(guest, fail);
  }
}

/** Frees what a call returned; an exception goes to `fail`. */
function settle(guest: Guest, value: number, fail: number): void {
  if (guest.call('qjs_is_exception', value) !== 0) failWithException(guest, fail);
  guest.call('qjs_free_value', value);
}

function loop(guest: Guest, turn: number, fail: number): void {
  for (;;) {
    drain(guest, fail);
    const timer = invoke(guest, turn);
    const isDone = guest.call('qjs_is_function', timer) === 0;
    if (!isDone) settle(guest, invoke(guest, timer), fail);
    settle(guest, timer, fail);
    if (isDone) return;
  }
}

function run(guest: Guest, handles: Handles, request: GuestRequest): string {
  const { random, start, turn, fail, report } = handles as Record<string, number>;
  running.set(guest, handles);
  renewRandom(guest, random!);
  const text = JSON.stringify({ code: request.code, env: request.env, ...planProgram(request.code) });
  const argument = withText(guest, text, (pointer, length) => guest.call('qjs_new_string', pointer, length));
  settle(guest, invoke(guest, start!, argument), fail!);
  guest.call('qjs_free_value', argument);
  loop(guest, turn!, fail!);
  const value = invoke(guest, report!);
  if (guest.call('qjs_is_exception', value) !== 0) {
    // Not even the report could be made; in practice because memory is used up.
    return JSON.stringify({ exit_code: 1, error: { type: 'InternalError', message: 'out of memory', line: null } });
  }
  const answer = readText(guest, value) ?? '{}';
  guest.call('qjs_free_value', value);
  return answer;
}

export const javascript: Runtime = {
  name: 'javascript',
  binary: {
    specifier: 'quickjs-wasi/quickjs.wasm',
    sha256: 'd4c9375f2b1ca4dc95f72c8aa2982a7a9951ac8011490d79c6582df732b4bbd9',
  },
  prepare: {
    exports: [
      '__indirect_function_table',
      '__stack_pointer',
      '_initialize',
      'JS_ThrowReferenceError',
      'qjs_call',
      'qjs_eval',
      'qjs_execute_pending_job',
      'qjs_free_cstring',
      'qjs_free_value',
      'qjs_get_array_buffer',
      'qjs_get_context_ptr',
      'qjs_get_exception',
      'qjs_get_float64',
      'qjs_get_prop_string',
      'qjs_get_string_len',
      'qjs_get_undefined',
      'qjs_init',
      'qjs_is_array_buffer',
      'qjs_is_exception',
      'qjs_is_function',
      'qjs_is_job_pending',
      'qjs_is_number',
      'qjs_is_string',
      'qjs_new_array_buffer',
      'qjs_new_host_function',
      'qjs_new_number',
      'qjs_new_object',
      'qjs_new_string',
      'qjs_run_gc',
      'qjs_set_max_stack_size',
      'qjs_set_module_loader',
      'qjs_set_promise_rejection_handler',
      'qjs_set_prop_string',
      'wasm_free',
      'wasm_malloc',
    ],
  },
  linkage: {
    doors: (guest) => ({
      env: quickJsDoors(guest, () => running.get(guest)?.['rejected'] ?? 0),
      wasi_snapshot_preview1: wasiDoors(guest.kernel, guest.view, (code) => guest.exit(code)),
    }),
    hostFunctions: [],
  },
  minMemoryBytes: 16 * 1024 * 1024,
  bootEnv: {},
  async layers() {
    const data = encoder.encode(await bootSource());
    const entry = { path: BOOT_FILE, kind: 'file', mode: 0o444, mtimeMs: LAYER_TIME_MS, data } as const;
    const layer: Layer = { at: LAYER, entries: [entry] };
    return [layer];
  },
  boot,
  run,
};
