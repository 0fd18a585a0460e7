/**
 * The JavaScript runtime: QuickJS-NG, built by programs/build/quickjs.mjs. The host calls the C functions that the
 * binary exports. Timers, modules and handlers are in guest memory, so images contain them.
 */
import { wasiFunctions } from '../../kernel/wasi.ts';
import type { Runtime } from '../runtime.ts';
import { errorVariablesOf } from './memory/error-variables.ts';
import { BACKTRACE } from './memory/quickjs-layout.ts';
import { JavaScriptStackReader } from './memory/stack-reader.ts';
import { MODULE_COMMANDS, runNodeCommand } from './node-command.ts';
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
import { javascriptSource } from './source-reader.ts';
import { quickJsFunctions } from './syscalls/quickjs-imports.ts';

export const javascript: Runtime = {
  name: 'javascript',
  source: javascriptSource,
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
  unusedMemory: (guest) => [guest.stack.unused],
  optimizationPrograms: OPTIMIZATION_PROGRAMS,
  stackReader: (guest, handles) =>
    new JavaScriptStackReader(guest, handles, (place) => errorVariablesOf(guest)?.uncaughtAt(place)),
  run,
  resume,
  commands: ['node', 'nodejs', ...MODULE_COMMANDS],
  runCommand: runNodeCommand,
  preload,
};
