/**
 * Calls that the host answers later: tool calls and requests. A call is sent immediately; the event loop fetches the answers when it
 * has nothing else to do.
 */
import { host } from '../../host-calls.js';
import { endWaiting, startWaiting } from '../../timers.js';

const { parse } = JSON;
/** The errno of a call that the host does not accept yet. */
const EAGAIN = -11;
/** The errno of a run without tools and network. */
export const ENOSYS = -38;
/** Returned by `waitForAnswer` if the program is paused or interrupted. */
const WAIT_OUTSIDE = 2;

let lastId = 0;
/** Calls without an answer, by number. */
const waiting = new Map();
/** Calls that the host does not accept yet. */
let queue = [];

/** Whether the host accepted or refused the call. */
function send({ id, name, text, settle }) {
  const result = host.toolCall(id, name, text);
  if (result === EAGAIN) return false;
  if (result !== 0) {
    forget(id);
    settle({ refusal: result });
  }
  return true;
}

function forget(id) {
  waiting.delete(id);
  if (waiting.size === 0) endWaiting();
}

function receive(answer) {
  const call = waiting.get(answer.id);
  waiting.delete(answer.id);
  call?.settle(answer);
  while (queue.length > 0 && send(queue[0])) queue.shift();
  if (waiting.size === 0) endWaiting();
}

/** Waits for an answer. Returns a callback, a number if the program is paused or interrupted, or undefined after the timeout. */
function waitForAnswer(milliseconds) {
  const text = host.toolWait(milliseconds === Number.POSITIVE_INFINITY ? -1 : Math.max(0, milliseconds));
  const answer = typeof text === 'string' ? parse(text) : { status: 'idle' };
  if (answer.id !== undefined) return () => receive(answer);
  if (answer.status === 'timeout') return undefined;
  if (answer.status !== 'idle') return WAIT_OUTSIDE;
  waiting.clear();
  endWaiting();
  return undefined;
}

/**
 * Sends a call. `settle` receives `{ value }`, `{ code, message }`, or `{ refusal }` with an errno if the host does not accept the
 * call. Returns the number of the call.
 */
export function sendCall(name, text, settle) {
  const call = { id: ++lastId, name, text, settle };
  waiting.set(call.id, call);
  startWaiting(waitForAnswer);
  if (queue.length > 0 || !send(call)) queue.push(call);
  return call.id;
}

/** Withdraws a call. Its answer is discarded. */
export function withdrawCall(id, reason) {
  if (!waiting.has(id)) return;
  const queued = queue.findIndex((call) => call.id === id);
  if (queued >= 0) queue.splice(queued, 1);
  else host.toolWithdraw(id, reason);
  forget(id);
}

/** Forgets the calls of an earlier program. */
export function forgetCalls() {
  waiting.clear();
  queue = [];
}
