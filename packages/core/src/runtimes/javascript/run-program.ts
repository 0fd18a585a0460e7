/**
 * Runs a program in a JavaScript guest: starts it, runs the event loop and collects the report. The loop runs on the
 * host so that the stack of a program contains no frames of the runtime; promise jobs and timers are in guest memory.
 */
import type { Guest } from '../../engine/guest.ts';
import type { LimitReason } from '../../engine/run-context.ts';
import {
  type GuestRequest,
  type Handles,
  LIMIT_ERRORS,
  MAX_REPORT_BYTES,
  type MessageLimits,
  type PreloadReport,
  type PreloadRequest,
} from '../runtime.ts';
import { type AsyncContexts, beginContexts } from './async-contexts.ts';
import { type ErrorVariables, trackErrorVariables } from './memory/error-variables.ts';
import { JavaScriptStackReader } from './memory/stack-reader.ts';
import { invoke, newText, readText } from './quickjs-api.ts';
import { type ProgramPlan, planProgram } from './syntax/module-to-script.ts';
import { payForPlan } from './syscalls/host-work.ts';

type ProgramLimits = Pick<GuestRequest, 'file'> & MessageLimits;

/**
 * A program that is ready to run. Its text is in the guest only, where it counts as memory of the call: programs that wait for
 * each other would otherwise keep their texts on the host.
 */
export interface PreparedProgram {
  readonly program: JavaScriptRun;
  readonly entry: 'start' | 'startWithTools';
  /** Values for the function of the boot script. */
  readonly texts: readonly number[];
}

/** The state of a running program. It is set by every call, so images need not contain it. */
interface JavaScriptRun {
  readonly handles: Handles;
  /** The file and the limits of the program, without its text. */
  readonly request: ProgramLimits;
  /** The limit that was reached. The program ends when the interpreter next checks for interrupts. */
  interrupt: LimitReason | undefined;
  /** The limit was reported. From then on only the boot script runs. */
  isOver: boolean;
  /** The program called process.exit. Its promise jobs and timers no longer run. */
  hasExited: boolean;
  /** Address of memory that is freed while the boot script reports a failure, or 0. */
  reserve: number;
  readonly contexts: AsyncContexts;
  readonly errors: ErrorVariables;
}

/** Memory that the boot script needs to describe an exception. */
const RESERVE_BYTES = 65_536;

const programs = new WeakMap<Guest, JavaScriptRun>();

/** Reseeds Math.random. Its state must not be zero. */
function reseedRandom(guest: Guest, at: number): void {
  const state = guest.view.bytes(at, 8);
  guest.random(state);
  state[0]! |= 1;
}

/** Passes the pending exception to the boot script, as the program's failure or as the line where a limit was reached. */
function reportException(guest: Guest): void {
  const error = guest.call('qjs_get_exception');
  const program = programs.get(guest);
  if (program?.interrupt !== undefined) endAtLimit(guest, program, error);
  else if (program !== undefined) {
    freeReserve(guest, program);
    const answer = invoke(guest, program.handles['fail']!, error);
    // The boot script returns a number if the exception is the end of a program that called process.exit.
    program.hasExited ||= guest.call('qjs_is_number', answer) !== 0;
    guest.call('qjs_free_value', answer);
    program.reserve = guest.call('wasm_malloc', RESERVE_BYTES);
  }
  guest.call('qjs_free_value', error);
}

/** Frees the reserve, so that a failure can be described even if the program has filled the memory. */
function freeReserve(guest: Guest, program: JavaScriptRun): void {
  guest.call('wasm_free', program.reserve);
  program.reserve = 0;
}

/** Reports the limit. The stack of `error`, if it is an Error, contains the line where it was reached. */
function endAtLimit(guest: Guest, program: JavaScriptRun, error: number): void {
  if (program.isOver) return;
  freeReserve(guest, program);
  const { name, message } = LIMIT_ERRORS[program.interrupt!];
  const texts = [name, message(program.request)].map((text) => newText(guest, text));
  // Set before the call, because the boot script must not be interrupted.
  program.isOver = true;
  for (const value of [invoke(guest, program.handles['failAtLimit']!, error, ...texts), ...texts]) {
    guest.call('qjs_free_value', value);
  }
}

const isRunning = (program: JavaScriptRun | undefined) =>
  program === undefined || (program.interrupt === undefined && !program.hasExited);

/** Counts a turn and sets its context. The boot script reads both numbers; see async-context.js. */
function countTurn(guest: Guest, program: JavaScriptRun | undefined, context: number): void {
  const at = program?.handles['turns'];
  if (at === undefined) return;
  guest.view.setU32(at, guest.view.u32(at) + 1);
  guest.view.setU32(at + 4, context);
}

/**
 * Removes the promise jobs that an earlier program of the session left when it called process.exit or reached a limit. Their
 * memory is not released: the engine frees a job only by running it.
 */
function discardJobs(guest: Guest, jobs: number): void {
  if (guest.call('qjs_is_job_pending') === 0) return;
  guest.view.setU32(jobs, jobs);
  guest.view.setU32(jobs + 4, jobs);
}

/** Runs promise jobs until none are left, the program ends or a limit is reached. */
export function runPendingJobs(guest: Guest): void {
  const program = programs.get(guest);
  while (isRunning(program) && guest.call('qjs_is_job_pending') !== 0) {
    countTurn(guest, program, program?.contexts.beginJob() ?? 0);
    if (guest.call('qjs_execute_pending_job') < 0) reportException(guest);
  }
}

/** Frees the result of a call. An exception becomes the program's failure. */
function settle(guest: Guest, value: number): void {
  if (guest.call('qjs_is_exception', value) !== 0) reportException(guest);
  guest.call('qjs_free_value', value);
}

/**
 * The event loop: runs the callbacks of process.nextTick, then all promise jobs, then one timer, and repeats. `nextTimer`
 * sleeps until a timer is due, and returns a number if a promise job called process.nextTick.
 */
function runEventLoop(guest: Guest, program: JavaScriptRun): void {
  for (let isDone = false; !isDone; ) {
    countTurn(guest, program, program.contexts.beginCallback());
    settle(guest, invoke(guest, program.handles['runTicks']!));
    runPendingJobs(guest);
    if (program.hasExited) return;
    // Promise jobs may remain, so the boot script cannot tell whether the program has settled.
    if (program.interrupt !== undefined) break;
    const timer = invoke(guest, program.handles['nextTimer']!);
    const isFunction = guest.call('qjs_is_function', timer) !== 0;
    isDone = program.interrupt !== undefined || (!isFunction && guest.call('qjs_is_number', timer) === 0);
    if (guest.kernel.call.tools?.isPaused) {
      settle(guest, timer);
      if (program.interrupt === undefined) return;
      break;
    }
    countTurn(guest, program, program.contexts.beginCallback());
    if (!isDone && isFunction) settle(guest, invoke(guest, timer));
    settle(guest, timer);
  }
  if (program.interrupt === undefined) return;
  const unknown = guest.call('qjs_get_undefined');
  endAtLimit(guest, program, unknown);
  guest.call('qjs_free_value', unknown);
}

/** The plan without the fields that have their usual value, which the guest would spend fuel on. */
function compactPlan(guest: Guest, code: string): Partial<ProgramPlan> {
  const { imports, awaits, ...plan } = planProgram(code, payForPlan(guest));
  return { ...plan, ...(imports.length > 0 && { imports }), ...(awaits && { awaits }) };
}

function begin(
  guest: Guest,
  handles: Handles,
  { file, fuel_budget, timeout_seconds }: ProgramLimits,
): JavaScriptRun {
  const program: JavaScriptRun = {
    handles,
    request: { file, fuel_budget, timeout_seconds },
    interrupt: undefined,
    isOver: false,
    hasExited: false,
    reserve: guest.call('wasm_malloc', RESERVE_BYTES),
    contexts: beginContexts(guest, handles['jobs']!),
    errors: trackErrorVariables(guest, handles, file),
  };
  programs.set(guest, program);
  discardJobs(guest, handles['jobs']!);
  countTurn(guest, program, 0);
  return program;
}

export function prepare(guest: Guest, handles: Handles, request: GuestRequest): PreparedProgram {
  const program = begin(guest, handles, request);
  const { code, file, env, args, call, inject_setup, language, tools, is_file, argv0 } = request;
  if (call === 1) reseedRandom(guest, handles['random']!);
  // The boot script removes the types of a TypeScript program before it asks for the plan.
  const plan =
    language === 'typescript' ? { typescript: true } : guest.preparing(() => compactPlan(guest, code));
  const argument = newText(
    guest,
    JSON.stringify({ code, file, env, args, inject_setup, is_file, argv0, ...plan }),
  );
  return tools === undefined
    ? { program, entry: 'start', texts: [argument] }
    : { program, entry: 'startWithTools', texts: [argument, newText(guest, tools)] };
}

export function runPrepared(guest: Guest, { program, entry, texts }: PreparedProgram): string {
  settle(guest, invoke(guest, program.handles[entry]!, ...texts));
  for (const value of texts) guest.call('qjs_free_value', value);
  return finish(guest, program);
}

export const run = (guest: Guest, handles: Handles, request: GuestRequest): string =>
  runPrepared(guest, prepare(guest, handles, request));

export function resume(guest: Guest, handles: Handles, request: GuestRequest): string {
  return finish(guest, begin(guest, handles, request));
}

/** Runs the event loop until the program ends or pauses, and returns the report. */
function finish(guest: Guest, program: JavaScriptRun): string {
  runEventLoop(guest, program);
  freeReserve(guest, program);
  const value = invoke(guest, program.handles['report']!);
  // In practice the report fails only when the guest is out of memory.
  if (guest.call('qjs_is_exception', value) !== 0) return outOfMemory(guest);
  const report = readText(guest, value) ?? '{}';
  guest.call('qjs_free_value', value);
  return guest.memoryLimit.isReached ? withUnknownThrower(report) : report;
}

/** QuickJS throws null if it cannot allocate an error. Once memory has run out, it is unknown what threw a null. */
function withUnknownThrower(report: string): string {
  if (report.length > MAX_REPORT_BYTES || !report.includes('"error":{"type":"null"')) return report;
  const parsed = JSON.parse(report) as { error?: { type?: unknown; message?: string; raised?: boolean } };
  if (parsed.error?.type !== 'null') return report;
  delete parsed.error.raised;
  parsed.error.message =
    'null was thrown, either by the program or by the engine because it had no memory for an error object';
  return JSON.stringify(parsed);
}

function outOfMemory(guest: Guest): string {
  guest.output(2, new TextEncoder().encode('Uncaught InternalError: out of memory\n'));
  return JSON.stringify({ exit_code: 1, error: { type: 'InternalError', message: 'out of memory' } });
}

/** Loads packages into an image that is being built. */
export function preload(guest: Guest, handles: Handles, { modules }: PreloadRequest): string {
  let report: PreloadReport = {};
  for (const module of modules) {
    const name = newText(guest, module);
    const value = invoke(guest, handles['preload']!, name);
    if (guest.call('qjs_is_exception', value) !== 0) {
      const error = guest.call('qjs_get_exception');
      report = { error: { module, message: readText(guest, error) ?? '' } };
      guest.call('qjs_free_value', error);
    }
    for (const used of [value, name]) guest.call('qjs_free_value', used);
  }
  runPendingJobs(guest);
  guest.call('qjs_run_gc');
  return JSON.stringify(report);
}

/** The function of the boot script that receives rejected promises, or 0 during boot. */
export const rejectionTracker = (guest: Guest) => programs.get(guest)?.handles['trackRejection'] ?? 0;

/** The function of the boot script that resolves the name of a module, or 0 during boot. */
export const moduleResolver = (guest: Guest) => programs.get(guest)?.handles['resolveImport'] ?? 0;

/** The function of the boot script that returns the source of a module, or 0 during boot. */
export const moduleLoader = (guest: Guest) => programs.get(guest)?.handles['importSource'] ?? 0;

/** The engine is about to store a stack trace in `error`. At a limit the variables are read by the worker. */
export function onBacktrace(guest: Guest, error: bigint): undefined {
  const program = programs.get(guest);
  if (program?.interrupt === undefined) program?.errors.onBacktrace(error);
}

/** Whether the interpreter must end the program because of a limit. */
export function isInterrupted(guest: Guest): boolean {
  const program = programs.get(guest);
  if (program?.interrupt === undefined || program.isOver) return false;
  recordImport(guest, program);
  return true;
}

/** The program ends at the next check after the limit: an import may be in progress at both times, or only at one. */
function recordImport(guest: Guest, { handles, request }: JavaScriptRun): void {
  guest.kernel.imports.isInterrupted ||= new JavaScriptStackReader(guest, handles).isImporting(request.file);
}

export function interrupt(guest: Guest, reason: LimitReason): void {
  const program = programs.get(guest);
  if (program === undefined) return;
  program.interrupt = reason;
  recordImport(guest, program);
}
