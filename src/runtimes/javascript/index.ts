/**
 * The JavaScript runtime: QuickJS-NG from the binary of the quickjs-wasi package, whose JavaScript is not used. The host
 * calls the C functions that the binary exports. Timers, modules and handlers are in guest memory, so images contain them.
 */
import { wasiFunctions } from '../../kernel/wasi.ts';
import type { Runtime } from '../runtime.ts';
import { boot } from './boot-interpreter.ts';
import { javascriptSource } from './file-extensions.ts';
import { errorVariablesOf } from './memory/error-variables.ts';
import { BACKTRACE, INTERPRETER_PROBE } from './memory/quickjs-layout.ts';
import { JavaScriptStackReader } from './memory/stack-reader.ts';
import { OPTIMIZATION_PROGRAMS } from './optimization-programs.ts';
import {
  interrupt,
  isInterrupted,
  moduleLoader,
  moduleResolver,
  onBacktrace,
  preload,
  rejectionTracker,
  resume,
  run,
} from './run-program.ts';
import { quickJsFunctions } from './syscalls/quickjs-imports.ts';

export const javascript: Runtime = {
  name: 'javascript',
  source: javascriptSource,
  binary: {
    specifier: 'quickjs-wasi/quickjs.wasm',
    sha256: 'd4c9375f2b1ca4dc95f72c8aa2982a7a9951ac8011490d79c6582df732b4bbd9',
  },
  prepare: {
    exports: [
      '__indirect_function_table',
      '__stack_pointer',
      '_initialize',
      'JS_SetUncatchableError',
      'JS_ThrowReferenceError',
      'qjs_call',
      'qjs_compile',
      'qjs_dup_value',
      'qjs_eval',
      'qjs_eval_bytecode',
      'qjs_execute_pending_job',
      'qjs_free_cstring',
      'qjs_free_value',
      'qjs_get_array_buffer',
      'qjs_get_class_name',
      'qjs_get_context_ptr',
      'qjs_get_exception',
      'qjs_get_float64',
      'qjs_get_prop_string',
      'qjs_get_proxy_handler',
      'qjs_get_proxy_target',
      'qjs_get_string_len',
      'qjs_get_undefined',
      'qjs_init',
      'qjs_is_array_buffer',
      'qjs_is_exception',
      'qjs_is_function',
      'qjs_is_job_pending',
      'qjs_is_number',
      'qjs_is_promise',
      'qjs_is_proxy',
      'qjs_is_string',
      'qjs_new_array_buffer',
      'qjs_new_host_function',
      'qjs_new_number',
      'qjs_new_object',
      'qjs_new_string',
      'qjs_promise_result',
      'qjs_promise_state',
      'qjs_run_gc',
      'qjs_set_interrupt_handler',
      'qjs_set_max_stack_size',
      'qjs_set_module_loader',
      'qjs_set_promise_rejection_handler',
      'qjs_set_prop_string',
      'qjs_throw',
      'wasm_free',
      'wasm_malloc',
    ],
    probe: INTERPRETER_PROBE,
    observed: BACKTRACE.function,
    stackPointer: '__stack_pointer',
  },
  linkage: {
    imports: (guest) => ({
      env: quickJsFunctions(guest, {
        rejectionTracker: () => rejectionTracker(guest),
        moduleResolver: () => moduleResolver(guest),
        moduleLoader: () => moduleLoader(guest),
        isInterrupted: () => isInterrupted(guest),
      }),
      wasi_snapshot_preview1: wasiFunctions(guest.kernel, guest.view, (code) => guest.exit(code)),
    }),
    overrides: [],
    observer: {
      signature: { params: BACKTRACE.parameters, results: [] },
      call: (guest, _, error) => onBacktrace(guest, error as bigint),
    },
    interrupt,
  },
  bootEnv: {},
  buildLayers: async (buildInGuest, warn) => {
    const { buildJavaScriptLayers } = await import('./build-file-layers.ts');
    return buildJavaScriptLayers(buildInGuest, warn);
  },
  unusedMemory: (guest) => [guest.stack.unused],
  optimizationPrograms: OPTIMIZATION_PROGRAMS,
  boot,
  stackReader: (guest, handles) =>
    new JavaScriptStackReader(guest, handles, (place) => errorVariablesOf(guest)?.uncaughtAt(place)),
  run,
  resume,
  preload,
};
