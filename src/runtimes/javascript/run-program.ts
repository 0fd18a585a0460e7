/**
 * One program in a JavaScript guest: its start, the event loop around it, and its end. The loop is on this side so that
 * no frame of ours is below the program's own; what it turns over is in guest memory.
 */
import type { Guest } from '../../engine/guest.ts';
import type { LimitReason } from '../../engine/run-context.ts';
import {
  type GuestRequest,
  type Handles,
  LIMIT_ERRORS,
  type SourceLocation,
  type WarmReport,
  type WarmRequest,
} from '../runtime.ts';
import { planProgram } from './module-to-script.ts';
import { evaluate, invoke, newText, readText } from './quickjs-api.ts';

/** Of the program a guest runs now. All of it comes with the call, so there is nothing an image would have to keep. */
interface RunningProgram {
  readonly handles: Handles;
  readonly request: GuestRequest;
  /** The limit that was met, if any: the program is over as soon as the interpreter looks. */
  interrupt: LimitReason | undefined;
  /** Whether the limit has been reported; nothing of the program runs after that. */
  isOver: boolean;
  isOutOfMemory: boolean;
}

const programs = new WeakMap<Guest, RunningProgram>();

/** Puts fresh bits, never all zero, where Math.random has its state. */
function renewRandom(guest: Guest, at: number): void {
  const state = guest.view.bytes(at, 8);
  guest.random(state);
  state[0]! |= 1;
}

/** Takes the pending exception and hands it to the boot script: as the end at a limit, or as the program's failure. */
function failWithException(guest: Guest): void {
  const error = guest.call('qjs_get_exception');
  const program = programs.get(guest);
  // With no room left even for the error, QuickJS throws null.
  if (program !== undefined && guest.isOutOfMemory && guest.call('qjs_is_null', error) !== 0) {
    program.isOutOfMemory = true;
    return;
  }
  if (program?.interrupt !== undefined) endAtLimit(guest, program, error);
  else if (program !== undefined)
    guest.call('qjs_free_value', invoke(guest, program.handles['fail']!, error));
  guest.call('qjs_free_value', error);
}

/** Reports the limit, with the place where the program was if `error` knows it. */
function endAtLimit(guest: Guest, program: RunningProgram, error: number): void {
  if (program.isOver) return;
  const { name, message } = LIMIT_ERRORS[program.interrupt!];
  const words = [name, message(program.request)].map((word) => newText(guest, word));
  // From here on the interpreter is needed for the report.
  program.isOver = true;
  for (const value of [invoke(guest, program.handles['limit']!, error, ...words), ...words]) {
    guest.call('qjs_free_value', value);
  }
}

/** Runs promise jobs until there are none, or until a limit is met. */
export function drain(guest: Guest): void {
  while (programs.get(guest)?.interrupt === undefined && guest.call('qjs_is_job_pending') !== 0) {
    if (guest.call('qjs_execute_pending_job') < 0) failWithException(guest);
  }
}

/** Frees what a call returned; an exception is the program's failure. */
function settle(guest: Guest, value: number): void {
  if (guest.call('qjs_is_exception', value) !== 0) failWithException(guest);
  guest.call('qjs_free_value', value);
}

/** The event loop: all promise jobs, one timer, and again. `turn` sleeps, and says when the program is over. */
function loop(guest: Guest, program: RunningProgram): void {
  for (let isDone = false; !isDone; ) {
    drain(guest);
    const timer = invoke(guest, program.handles['turn']!);
    isDone = program.interrupt !== undefined || guest.call('qjs_is_function', timer) === 0;
    if (!isDone) settle(guest, invoke(guest, timer));
    settle(guest, timer);
  }
  if (program.interrupt === undefined) return;
  const unknown = guest.call('qjs_get_undefined');
  endAtLimit(guest, program, unknown);
  guest.call('qjs_free_value', unknown);
}

export function run(guest: Guest, handles: Handles, request: GuestRequest): string {
  const program: RunningProgram = {
    handles,
    request,
    interrupt: undefined,
    isOver: false,
    isOutOfMemory: false,
  };
  programs.set(guest, program);
  const { code, env, call, inject_setup } = request;
  if (call === 1) renewRandom(guest, handles['random']!);
  const file = programFile(call);
  const argument = newText(guest, JSON.stringify({ code, file, env, inject_setup, ...planProgram(code) }));
  settle(guest, invoke(guest, handles['start']!, argument));
  guest.call('qjs_free_value', argument);
  loop(guest, program);
  const value = invoke(guest, handles['report']!);
  // Not even the report could be made; in practice because memory is used up.
  if (program.isOutOfMemory || guest.call('qjs_is_exception', value) !== 0) return outOfMemory(guest);
  const answer = readText(guest, value) ?? '{}';
  guest.call('qjs_free_value', value);
  // The same null, on its way through a promise.
  return guest.isOutOfMemory && answer.includes('"error":{"type":"null"') ? outOfMemory(guest) : answer;
}

const programFile = (call: number) => (call === 1 ? '/app/main.js' : `/app/call-${call}.js`);

/** The innermost line of the program, from the stack of an error that is made where the guest was stopped. */
export function currentLocation(guest: Guest): SourceLocation | undefined {
  const program = programs.get(guest);
  if (program === undefined) return undefined;
  // Or the interpreter would be interrupted again.
  program.isOver = true;
  const stack = readText(guest, evaluate(guest, 'new Error().stack', 'sandbox:look')) ?? '';
  const at = stack.indexOf(`${programFile(program.request.call)}:`);
  const line = /^[^:]*:(\d{1,9})\b/.exec(stack.slice(Math.max(0, at)))?.[1];
  return at < 0 || line === undefined ? undefined : { line: Number(line) };
}

function outOfMemory(guest: Guest): string {
  guest.output(2, new TextEncoder().encode('Uncaught InternalError: out of memory\n'));
  return JSON.stringify({ exit_code: 1, error: { type: 'InternalError', message: 'out of memory' } });
}

/** Loads packages into an image that is being made; what cannot be loaded is in the report. */
export function warm(guest: Guest, handles: Handles, { modules }: WarmRequest): string {
  let report: WarmReport = {};
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
  drain(guest);
  guest.call('qjs_run_gc');
  return JSON.stringify(report);
}

/** The guest function that is told of rejected promises, or 0 at boot. */
export const rejectionTracker = (guest: Guest) => programs.get(guest)?.handles['rejected'] ?? 0;

/** The guest function that loads packages, or 0 when the program is to have none. */
export function packageProvider(guest: Guest): number {
  const program = programs.get(guest);
  return program?.request.inject_setup ? program.handles['provide']! : 0;
}

/** Whether a limit was met that the program does not know of yet. */
export function isInterrupted(guest: Guest): boolean {
  const program = programs.get(guest);
  return program?.interrupt !== undefined && !program.isOver;
}

export function interrupt(guest: Guest, reason: LimitReason): void {
  const program = programs.get(guest);
  if (program !== undefined) program.interrupt = reason;
}
