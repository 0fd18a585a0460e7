/**
 * Collects frames and variables while a runtime visits the frames of a stack in guest memory. Names and values are hostile:
 * only identifiers are shown, and their number is capped.
 */
import type { StackFrame, Variables } from '../../analysis/run-profile-schema.ts';
import type { StackReader } from '../runtime.ts';

/** A variable and the address of its value. */
export type NamedValue = readonly [name: string, address: number];

/** Returns true to end the walk. `address` and `code` are the addresses of the frame and of its code. */
export type VisitFrame = (frame: StackFrame, address: number, code: number) => boolean;

/** Variables of a frame that are described. */
export const MAX_SHOWN = 20;
/** Frames that are searched for one that loads a module. */
const MAX_SEARCHED_FRAMES = 10_000;
const IDENTIFIER = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u;

export const isIdentifier = (name: string) => IDENTIFIER.test(name);

export abstract class StackWalker implements StackReader {
  /** Visits at most `max` frames, from the innermost on. Ends at memory that cannot be read. */
  protected abstract walk(max: number, visit: VisitFrame): void;
  /** The variables of a frame of the program. */
  protected abstract variablesOf(frame: StackFrame, address: number, code: number): Iterable<NamedValue>;
  /** A short form of a value. */
  protected abstract describe(address: number): string;
  /** Whether a frame loads a module. `program` is the file of the running program. */
  protected abstract loadsModule(frame: StackFrame, program: string): boolean;

  frames(max: number, untilProgram: boolean): StackFrame[] {
    const found: StackFrame[] = [];
    this.walk(max, (frame) => {
      found.push(frame);
      return untilProgram && frame.origin === 'program';
    });
    return found;
  }

  /** Whether a module is being loaded. `program` is the file of the running program. */
  isImporting(program = ''): boolean {
    let isFound = false;
    this.walk(MAX_SEARCHED_FRAMES, (frame) => {
      isFound = this.loadsModule(frame, program);
      return isFound;
    });
    return isFound;
  }

  variables(isPreferred: (name: string) => boolean, max: number, maxFrames: number): Variables[] {
    const found: Variables[] = [];
    this.walk(maxFrames, (frame, address, code) => {
      if (frame.origin !== 'program') return false;
      return found.push(this.describeAll(this.variablesOf(frame, address, code), isPreferred)) >= max;
    });
    return found;
  }

  /** Short forms of variables, the preferred ones first. If several have the same name, the first is shown. */
  protected describeAll(values: Iterable<NamedValue>, isPreferred: (name: string) => boolean): Variables {
    const all = [...values];
    const found = new Map<string, string>();
    for (const wanted of [true, false]) {
      for (const [name, address] of all) {
        if (found.size >= MAX_SHOWN) break;
        if (isPreferred(name) !== wanted || found.has(name) || !isIdentifier(name)) continue;
        found.set(name, this.describe(address));
      }
    }
    return Object.fromEntries(found);
  }
}
