/**
 * Records the imports that guest/import_tracker.py reports. Any code can make the system call, so a report counts only if
 * the innermost frames run the code objects of the boot script, which the image keeps alive, and the name is read from
 * the frame of the import itself. Python code can hide an import, but cannot invent one.
 */
import type { Guest } from '../../../engine/guest.ts';
import { isSyscallError } from '../../../kernel/syscall-error.ts';
import type { Handles } from '../../runtime.ts';
import { IMPORT_IOCTL } from '../syscalls/abi.ts';
import { type Offsets, offsetsOf } from './debug-offsets.ts';
import { ObjectReader } from './object-reader.ts';
import { POINTER_MASK } from './stack-reader.ts';

const MAX_NAME_CHARS = 200;
/** Entries of `sys.modules` that are searched. */
const MAX_MODULES = 10_000;
/** Estimated microseconds of host work: for a report, and for each entry of `sys.modules` that is searched. */
const REPORT_US = 2;
const ENTRY_US = 0.2;

export class ImportObserver {
  readonly #offsets: Offsets;
  readonly #objects: ObjectReader;

  constructor(
    readonly guest: Guest,
    readonly handles: Handles,
  ) {
    this.#offsets = offsetsOf(handles);
    this.#objects = new ObjectReader(guest, this.#offsets);
  }

  /** Records a report. Returns false if the request is not a report of the boot script. */
  record(request: number): boolean {
    const { begin, end, failed, loaded } = IMPORT_IOCTL;
    if (request < begin || request > failed) return false;
    const { kernel } = this.guest;
    kernel.chargeHostTime(REPORT_US);
    const { handles } = this;
    const callers =
      request === loaded
        ? [handles['report_loaded'], handles['record_loaded'], handles['execute']]
        : [handles['find_and_load']];
    try {
      const frame = this.#innermost(callers);
      if (frame === undefined) return false;
      const fuel = this.guest.fuelConsumed;
      if (request === failed && this.guest.memoryLimit.isReached) kernel.imports.isInterrupted = true;
      if (request === end) kernel.imports.end(fuel, frame);
      else if (request === failed) kernel.imports.end(fuel, frame, (name) => this.#isLoaded(name));
      else this.#begin(frame, fuel, request === loaded);
      return true;
    } catch (cause) {
      // The program has corrupted the structures of the interpreter.
      if (isSyscallError(cause)) return false;
      throw cause;
    }
  }

  #begin(frame: number, fuel: number, isLoaded: boolean): void {
    const slot = this.guest.view.u32(frame + this.#offsets.frame_localsplus) & POINTER_MASK;
    const name = this.#objects.string(slot, MAX_NAME_CHARS)?.split('.', 1)[0];
    if (name === undefined || (isLoaded && !this.#isLoaded(name))) return;
    this.guest.kernel.imports.begin(name, fuel, isLoaded, frame);
  }

  /** The innermost frame, if it and its callers run these code objects. */
  #innermost(codes: readonly (number | undefined)[]): number | undefined {
    const { view } = this.guest;
    const { current_frame, frame_executable, frame_previous } = this.#offsets;
    const innermost = view.u32(this.handles['thread']! + current_frame);
    let frame = innermost;
    for (const code of codes) {
      if (frame === 0 || (view.u32(frame + frame_executable) & POINTER_MASK) !== code) return undefined;
      frame = view.u32(frame + frame_previous);
    }
    return innermost;
  }

  /** Whether `sys.modules` contains the module. */
  #isLoaded(name: string): boolean {
    let searched = 0;
    let isLoaded = false;
    for (const [key, value] of this.#objects.entries(this.handles['modules']!, MAX_MODULES)) {
      searched++;
      if (this.#objects.string(key, name.length + 1) !== name) continue;
      isLoaded = this.#objects.describe(value) !== 'None';
      break;
    }
    this.guest.kernel.chargeHostTime(searched * ENTRY_US);
    return isLoaded;
  }
}
