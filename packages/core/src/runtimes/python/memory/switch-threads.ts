/**
 * Switches between the threads of a Python program, which all run in one interpreter (guest/threads.py). A function of the
 * interpreter's main loop that calls another Python function keeps no state on the C stack, so a thread is suspended by
 * letting its innermost function return into the innermost function of another thread, with the fields of the thread state
 * that belong to it. All addresses come from the guest and are only used inside its memory.
 */
import type { Guest } from '../../../engine/guest.ts';
import { syscallError } from '../../../kernel/syscall-error.ts';
import type { Handles } from '../../runtime.ts';
import { THREAD_IOCTL } from '../syscalls/abi.ts';
import { offsetsOf } from './debug-offsets.ts';

/** Owner of the frame with which the interpreter's main loop starts. */
const OWNED_BY_INTERPRETER = 3;
/** The highest recursion limit. */
const MAX_LIMIT = 0x7fffffff;
/** Frames that are examined to find the start of the main loop. Deeper recursions cannot be suspended. */
const MAX_FRAMES = 20_000;
/** Estimated microseconds of host work for a request, and for each thousand frames. */
const REQUEST_US = 2;
const FRAMES_US = 10;

/** Fields of the thread state of CPython 3.14.2 that are not published. */
const STATE = {
  recursion_remaining: 32,
  recursion_limit: 36,
  exc_info: 76,
  async_gen_firstiter: 112,
  async_gen_finalizer: 116,
  context: 120,
  context_version: 128,
  datastack_chunk: 144,
  datastack_top: 148,
  datastack_limit: 152,
  exc_state: 156,
  local_key: 176,
  local_sentinel: 180,
} as const;

/** The fields that belong to a thread of the program, in the order in which its buffer contains them. */
const SWITCHED = [
  STATE.recursion_remaining,
  STATE.exc_info,
  STATE.local_key,
  STATE.local_sentinel,
  STATE.async_gen_firstiter,
  STATE.async_gen_finalizer,
  STATE.context,
  STATE.datastack_chunk,
  STATE.datastack_top,
  STATE.datastack_limit,
  STATE.exc_state,
] as const;

/** Stops the build of an image if the thread state has another layout. */
export function checkThreadState(guest: Guest, handles: Handles): void {
  const { view } = guest;
  const offsets = offsetsOf(handles);
  const state = handles['thread']!;
  const isKnown =
    offsets.datastack_chunk === STATE.datastack_chunk &&
    view.u32(state + STATE.exc_info) === state + STATE.exc_state &&
    view.u32(state + STATE.recursion_limit) === 1000;
  if (!isKnown) guest.abort('the thread state of the interpreter does not have the expected layout');
}

/** Lets functions call each other to the recursion limit and `frames` further. No function may be running. */
export function resetRecursion({ view }: Guest, handles: Handles, frames: number): void {
  const state = handles['thread']!;
  const limit = view.i32(state + STATE.recursion_limit);
  view.setU32(state + STATE.recursion_remaining, Math.min(limit + frames, MAX_LIMIT));
}

/** Handles a request of guest/threads.py. Returns false for any other request. */
export function switchThreads(guest: Guest, handles: Handles, request: number, varargs: number): boolean {
  const { FIND, LEAVE, ENTER, SWAP, END, CONTEXT } = THREAD_IOCTL;
  if (request < FIND || request > CONTEXT) return false;
  guest.kernel.chargeHostTime(REQUEST_US);
  const { view } = guest;
  const { current_frame, frame_previous } = offsetsOf(handles);
  const state = handles['thread']!;
  const buffer = view.u32(varargs);
  const frame = view.u32(state + current_frame);
  const word = (index: number) => view.u32(buffer + index * 4);
  if (request === FIND) {
    const { start, isOuter } = findStart(guest, handles, frame, word(1));
    view.setU32(buffer, frame);
    view.setU32(buffer + 8, isOuter ? start : 0);
    view.setU32(buffer + 12, start);
  } else if (request === LEAVE) {
    // The function must have been called in the same main loop.
    if (word(4) !== 0 && view.u32(frame + frame_previous) !== word(4)) throw syscallError('EINVAL');
    view.setU32(frame + frame_previous, word(0));
    if (word(1) !== 0 && word(2) === 0) view.setU32(word(1) + frame_previous, word(3));
  } else if (request === ENTER) {
    view.setU32(buffer + 4, frame);
    view.setU32(frame + frame_previous, word(3));
    view.setU32(state + STATE.exc_info, state + STATE.exc_state);
    view.setU32(state + STATE.context, word(4));
    newVersion(guest, state);
  } else if (request === SWAP) {
    swap(guest, state, buffer);
  } else if (request === END) {
    releaseLocals(guest, state);
  } else {
    const context = view.u32(state + STATE.context);
    view.setU32(state + STATE.context, word(0));
    view.setU32(buffer, context);
    newVersion(guest, state);
  }
  return true;
}

/** The frame with which the running main loop starts, and whether it is reached before the first frame of the thread. */
function findStart(guest: Guest, handles: Handles, innermost: number, first: number) {
  const { view, kernel } = guest;
  const { frame_owner, frame_previous } = offsetsOf(handles);
  let isOuter = true;
  let frame = innermost;
  for (let count = 1; count <= MAX_FRAMES && frame !== 0; count++) {
    if (view.u8(frame + frame_owner) === OWNED_BY_INTERPRETER) {
      kernel.chargeHostTime((count / 1000) * FRAMES_US);
      return { start: frame, isOuter };
    }
    if (frame === first) isOuter = false;
    frame = view.u32(frame + frame_previous);
  }
  kernel.chargeHostTime((MAX_FRAMES / 1000) * FRAMES_US);
  throw syscallError('EINVAL');
}

/** Exchanges the fields in the buffer with those of the thread state. A buffer of zeros is a new thread. */
function swap(guest: Guest, state: number, buffer: number): void {
  const { view } = guest;
  const isNew = view.u32(buffer) === 0;
  SWITCHED.forEach((field, index) => {
    const next = view.u32(buffer + index * 4);
    view.setU32(buffer + index * 4, view.u32(state + field));
    view.setU32(state + field, next);
  });
  if (isNew) {
    view.setU32(state + STATE.recursion_remaining, view.u32(state + STATE.recursion_limit));
    view.setU32(state + STATE.exc_info, state + STATE.exc_state);
  }
  newVersion(guest, state);
}

/** Releases the thread-local variables of a thread that ends. Their destructors may run. */
function releaseLocals(guest: Guest, state: number): void {
  const { view } = guest;
  const owned = [STATE.local_key, STATE.local_sentinel].map((field) => {
    const object = view.u32(state + field);
    view.setU32(state + field, 0);
    return object;
  });
  // The system call has released the thread state.
  guest.call('PyEval_RestoreThread', state);
  for (const object of owned) if (object !== 0) guest.call('Py_DecRef', object);
  guest.call('PyEval_SaveThread');
}

/** Invalidates the values of context variables that the interpreter has cached. */
function newVersion(guest: Guest, state: number): void {
  const { view } = guest;
  view.setU32(state + STATE.context_version, view.u32(state + STATE.context_version) + 1);
}
