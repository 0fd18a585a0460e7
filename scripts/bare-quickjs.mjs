/**
 * Runs a QuickJS binary without the sandbox: no boot script, no files, no limits but the stack. For comparisons of engines:
 * test262, benchmarks and the fuzz target. Needs a build.
 */
import { readFileSync } from 'node:fs';
import { prepareModule } from '../packages/core/dist/wasm/prepare-module.js';
import { trampolineModule } from '../packages/core/dist/wasm/trampoline.js';

/** The engine of the JavaScript guest. */
export const quickJsBinary = () => readFileSync(new URL('../programs/quickjs.wasm', import.meta.url));

const EXPORTS = [
  ...['__indirect_function_table', '__stack_pointer', '_initialize', 'wasm_malloc', 'wasm_free'],
  ...['init', 'eval', 'set_max_stack_size', 'set_interrupt_handler', 'set_module_loader'].map(qjs),
  ...['get_exception', 'get_prop_string', 'set_prop_string', 'get_string_len', 'get_undefined'].map(qjs),
  ...['free_value', 'free_cstring', 'is_exception', 'is_promise', 'new_host_function'].map(qjs),
  ...['promise_state', 'promise_result', 'is_job_pending', 'execute_pending_job'].map(qjs),
];
const STACK_BYTES = 1_048_576;
/** Less than fills the stack of the main thread. */
const MAX_STACK_BYTES = 262_144;
/** Bytes at the end of the stack for functions that do not check the stack pointer. */
const STACK_RESERVE_BYTES = 131_072;
const FUEL = 1n << 60n;
const REJECTED = 2;
/** Flag of an evaluation: the code is a module. */
const MODULE = 1;

function qjs(name) {
  return `qjs_${name}`;
}

const noRefill = () =>
  new WebAssembly.Instance(new WebAssembly.Module(trampolineModule([{ params: [], results: [] }])), {
    host: { 0: () => {} },
  }).exports['0'];

/** The engine throws an error if the host returns a null pointer. */
const orNull =
  (find) =>
  (...args) => {
    try {
      return find(...args);
    } catch {
      return 0;
    }
  };

/** The functions that the engine imports. `texts` reads and writes its memory. */
function imports(memory, texts, { print, isInterrupted, resolve, load }) {
  const env = {
    memory,
    host_call: (...[, , , count, values]) => {
      print(Array.from({ length: count }, (_, i) => texts.valueAt(values + i * 4)).join(' '));
      return texts.undefinedValue();
    },
    host_interrupt: () => (isInterrupted() ? 1 : 0),
    host_module_normalize: orNull(
      (base, name) => texts.write(resolve(texts.cString(base), texts.cString(name)))[0],
    ),
    host_module_load: orNull((name, outLength) => {
      const [address, length] = texts.write(load(texts.cString(name)));
      new DataView(memory.buffer).setUint32(outLength, length, true);
      return address;
    }),
  };
  const clock_time_get = (_id, _precision, at) => {
    new DataView(memory.buffer).setBigUint64(at, BigInt(Date.now()) * 1_000_000n, true);
    return 0;
  };
  const others = { get: (functions, name) => functions[name] ?? (() => 0) };
  return { env: new Proxy(env, others), wasi_snapshot_preview1: new Proxy({ clock_time_get }, others) };
}

/** Strings in the memory of the engine. */
class Texts {
  constructor(memory) {
    this.memory = memory;
  }

  /** Copies a text to the heap. Returns its address and its length in bytes. */
  write(text) {
    const bytes = Buffer.from(`${text}\0`);
    const address = this.exports.wasm_malloc(bytes.length);
    new Uint8Array(this.memory.buffer).set(bytes, address);
    return [address, bytes.length - 1];
  }

  cString(address) {
    const bytes = new Uint8Array(this.memory.buffer, address);
    return Buffer.from(bytes.subarray(0, bytes.indexOf(0))).toString();
  }

  /** The text of a value, or undefined if it has none. */
  read(value) {
    const out = this.exports.wasm_malloc(4);
    const start = this.exports.qjs_get_string_len(value, out);
    const length = new DataView(this.memory.buffer).getUint32(out, true);
    this.exports.wasm_free(out);
    if (start === 0) {
      this.exports.qjs_free_value(this.exports.qjs_get_exception());
      return undefined;
    }
    const text = Buffer.from(new Uint8Array(this.memory.buffer, start, length)).toString();
    this.exports.qjs_free_cstring(start);
    return text;
  }

  valueAt(address) {
    return this.read(new DataView(this.memory.buffer).getUint32(address, true));
  }

  undefinedValue() {
    return this.exports.qjs_get_undefined();
  }
}

const compiled = new WeakMap();

/** Prepares and compiles a binary once. */
function compile(bytes, meter) {
  const known = compiled.get(bytes)?.[meter];
  if (known !== undefined) return known;
  const prepared = prepareModule(bytes, { exports: EXPORTS, meter, stackPointer: '__stack_pointer' });
  const result = { prepared, module: new WebAssembly.Module(prepared.bytes) };
  compiled.set(bytes, { ...compiled.get(bytes), [meter]: result });
  return result;
}

function instantiate(bytes, meter, host) {
  const { prepared, module } = compile(bytes, meter);
  const memory = new WebAssembly.Memory({ initial: prepared.memory.minPages, maximum: 65_536 });
  for (const { offset, bytes: data } of prepared.data) new Uint8Array(memory.buffer).set(data, offset);
  const texts = new Texts(memory);
  const { exports } = new WebAssembly.Instance(module, imports(memory, texts, host));
  texts.exports = exports;
  exports.host.set(0, noRefill());
  exports.fuel.value = FUEL;
  return { exports, texts };
}

/**
 * Starts an engine. `host`: `print(text)`, `isInterrupted()`, and for modules `resolve(base, name)` and `load(name)`.
 * `evaluate` returns the text of the value, or the error: its name and its text.
 */
export function bareEngine(bytes, { meter = false, ...host } = {}) {
  const { exports, texts } = instantiate(bytes, meter, { isInterrupted: () => false, print() {}, ...host });
  exports._initialize();
  const stack = exports.wasm_malloc(STACK_BYTES);
  exports.__stack_pointer.value = (stack + STACK_BYTES) & ~15;
  exports.stack_limit.value = stack + STACK_RESERVE_BYTES;
  if (exports.qjs_init() !== 0) throw new Error('the engine failed to start');
  exports.qjs_set_max_stack_size(MAX_STACK_BYTES);
  exports.qjs_set_interrupt_handler(1);
  exports.qjs_set_module_loader(1);
  const errorOf = (value) => {
    const [name] = texts.write('name');
    const property = exports.qjs_get_prop_string(value, name);
    exports.wasm_free(name);
    return { error: texts.read(property), text: texts.read(value) };
  };
  const outcome = (value) => {
    while (exports.qjs_is_job_pending() !== 0) if (exports.qjs_execute_pending_job() < 0) break;
    if (exports.qjs_is_exception(value) !== 0) return errorOf(exports.qjs_get_exception());
    if (exports.qjs_is_promise(value) === 0) return { value: texts.read(value) };
    if (exports.qjs_promise_state(value) !== REJECTED) return { value: undefined };
    return errorOf(exports.qjs_promise_result(value));
  };
  return {
    evaluate(code, file = 'main.js', isModule = false) {
      const [source, length] = texts.write(code);
      const [name] = texts.write(file);
      const value = exports.qjs_eval(source, length, name, isModule ? MODULE : 0);
      const result = outcome(value);
      for (const address of [source, name]) exports.wasm_free(address);
      exports.qjs_free_value(value);
      return result;
    },
    /** Defines a global function that calls `print`. */
    definePrint() {
      const [name, length] = texts.write('print');
      const [self] = texts.write('globalThis');
      const global = exports.qjs_eval(self, 10, self, 0);
      exports.qjs_set_prop_string(global, name, exports.qjs_new_host_function(name, length, 0));
    },
    fuel: () => Number(FUEL - exports.fuel.value),
  };
}
