/** What `process` and the event loop share: the callbacks of process.nextTick, and what happens when a program ends. */

import { bindContext } from './async-context.js';

let ticks = [];

export function addTick(callback) {
  ticks.push(bindContext(callback));
}

export const hasTicks = () => ticks.length > 0;

export function runTicks() {
  for (let i = 0; i < ticks.length; ) {
    const callback = ticks[i++];
    if (i === ticks.length) {
      ticks = [];
      i = 0;
    } else if (i === 1000) {
      ticks = ticks.slice(i);
      i = 0;
    }
    try {
      callback();
    } catch (error) {
      ticks = ticks.slice(i);
      throw error;
    }
  }
}

export function discardTicks() {
  if (ticks.length > 0) ticks = [];
}

/**
 * Set by `process` when it is loaded. `uncaughtException` and `unhandledRejection` return true if the program handles the
 * failure; `beforeExit` and `exit` call its listeners, `begin` removes those of an earlier program.
 */
export const hooks = {
  uncaughtException: undefined,
  unhandledRejection: undefined,
  beforeExit: undefined,
  exit: undefined,
  begin: undefined,
};

/** The exit code that the program has set, and whether it has called process.exit. */
export const exit = { code: undefined, hasExited: false };

/** The error that the program has printed with the console, unless it has printed anything else since. */
export const printed = { error: undefined };

/** The running program: its file name, its text and its arguments. */
export const programSource = { file: '', code: '', args: [] };
