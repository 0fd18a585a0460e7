/**
 * Reads the call stack of a Python program from guest memory, without calling the guest: thread state, frames, code
 * objects. The memory is hostile: the number of frames and the length of texts are capped, and an address that does not
 * exist ends the walk.
 */
import type { StackFrame } from '../../../analysis/run-profile-schema.ts';
import type { Guest } from '../../../engine/guest.ts';
import { isSyscallError } from '../../../kernel/syscall-error.ts';
import { type NamedValue, StackWalker, type VisitFrame } from '../../memory/stack-walker.ts';
import type { Handles } from '../../runtime.ts';
import { type Offsets, offsetsOf } from './debug-offsets.ts';
import { ObjectReader } from './object-reader.ts';

const MAX_NAME_CHARS = 200;
/** Code objects, lines and frames that are cached. When there are more, all are dropped. */
const MAX_CODES = 2_000;
const MAX_CACHED_LINES = 4_000_000;
const MAX_CACHED_FRAMES = 20_000;
const MAX_TABLE_BYTES = 262_144;
/** Location tables that are decoded in a run. Further code has no lines, because a program can create any number of them. */
const MAX_DECODED_BYTES = 16_777_216;
/** Variables of a frame that are examined. */
const MAX_VARIABLES = 200;
/** Owner of frames that the interpreter inserts between C and Python code; they have no code. */
const OWNED_BY_INTERPRETER = 3;
const MODULE = '<module>';
const IMPORTLIB = '<frozen importlib._bootstrap>';
/** Functions of importlib that load a module, or load it again. */
const LOADING_FUNCTIONS: ReadonlySet<string> = new Set(['_find_and_load', '_exec']);

interface Code {
  /** Words of the code object that identify it. If they change, another object has taken its place. */
  readonly identity: readonly [number, number, number, number];
  readonly file: string;
  readonly name: string;
  readonly origin: StackFrame['origin'];
  readonly lines: Int32Array;
  readonly frames: Map<number, StackFrame>;
}

export class PythonStackReader extends StackWalker {
  readonly #objects: ObjectReader;
  readonly #codes = new Map<number, Code>();
  readonly #offsets: Offsets;
  #cachedLines = 0;
  #cachedFrames = 0;
  #decodedBytes = 0;

  constructor(
    readonly guest: Guest,
    readonly handles: Handles,
  ) {
    super();
    this.#offsets = offsetsOf(handles);
    this.#objects = new ObjectReader(guest, this.#offsets);
  }

  protected describe(address: number): string {
    return this.#objects.describe(address);
  }

  protected loadsModule({ file, function: name }: StackFrame): boolean {
    return file === IMPORTLIB && LOADING_FUNCTIONS.has(name);
  }

  protected variablesOf(frame: StackFrame, address: number, code: number): Iterable<NamedValue> {
    return frame.function === MODULE ? this.#globals(address) : this.#locals(address, code);
  }

  protected walk(max: number, visit: VisitFrame): void {
    const { view } = this.guest;
    const { current_frame, frame_owner, frame_executable, frame_instr_ptr, frame_previous } = this.#offsets;
    try {
      let frame = view.u32(this.handles['thread']! + current_frame);
      for (let i = 0; frame !== 0 && i < max; i++) {
        if (view.u8(frame + frame_owner) < OWNED_BY_INTERPRETER) {
          const code = view.u32(frame + frame_executable) & POINTER_MASK;
          if (visit(this.#frameAt(code, view.u32(frame + frame_instr_ptr)), frame, code)) return;
        }
        frame = view.u32(frame + frame_previous);
      }
    } catch (cause) {
      if (!isSyscallError(cause)) throw cause;
    }
  }

  #frameAt(address: number, instruction: number): StackFrame {
    const code = this.#codeAt(address);
    const line = code.lines[(instruction - address - this.#offsets.code_instructions) >> 1] ?? 0;
    let frame = code.frames.get(line);
    if (frame === undefined) {
      frame = { file: code.file, function: code.name, line: Math.max(0, line), origin: code.origin };
      code.frames.set(line, frame);
      if (++this.#cachedFrames > MAX_CACHED_FRAMES) this.#clearCache();
    }
    return frame;
  }

  #clearCache(): void {
    this.#codes.clear();
    this.#cachedLines = 0;
    this.#cachedFrames = 0;
  }

  #codeAt(address: number): Code {
    const { view } = this.guest;
    const offsets = this.#offsets;
    const file = view.u32(address + offsets.code_filename);
    const name = view.u32(address + offsets.code_qualname);
    const table = view.u32(address + offsets.code_linetable);
    const firstLine = view.i32(address + offsets.code_firstlineno);
    const cached = this.#codes.get(address);
    if (cached !== undefined) {
      const { identity } = cached;
      if (identity[0] === file && identity[1] === name && identity[2] === table && identity[3] === firstLine)
        return cached;
    }
    const room = Math.min(MAX_TABLE_BYTES, MAX_DECODED_BYTES - this.#decodedBytes);
    const tableBytes = Math.min(view.u32(table + offsets.bytes_size), room);
    this.#decodedBytes += tableBytes;
    const path = this.#objects.string(file, MAX_NAME_CHARS) ?? '';
    const code: Code = {
      identity: [file, name, table, firstLine],
      file: path,
      name: this.#objects.string(name, MAX_NAME_CHARS) ?? '',
      origin: originOf(path, this.guest.kernel.volume.home),
      lines: decodeLocationTable(view.bytes(table + offsets.bytes_data, tableBytes), firstLine),
      frames: new Map(),
    };
    this.#cachedLines += code.lines.length;
    if (this.#codes.size >= MAX_CODES || this.#cachedLines > MAX_CACHED_LINES) this.#clearCache();
    this.#codes.set(address, code);
    return code;
  }

  /** The local variables of a function that have a value. */
  *#locals(frame: number, code: number): Generator<NamedValue> {
    const { view } = this.guest;
    const { code_localsplusnames, tuple_size, tuple_items, frame_localsplus } = this.#offsets;
    const names = view.u32(code + code_localsplusnames);
    const count = Math.min(view.u32(names + tuple_size), MAX_VARIABLES);
    for (let i = 0; i < count; i++) {
      const name = this.#objects.string(view.u32(names + tuple_items + i * 4), MAX_NAME_CHARS);
      const slot = view.u32(frame + frame_localsplus + i * 4) & POINTER_MASK;
      const value = slot === 0 ? 0 : this.#objects.contents(slot);
      if (name !== undefined && value !== 0 && this.#objects.isData(value)) yield [name, value];
    }
  }

  /** The global variables of the module of a frame that are data of the program. */
  *#globals(frame: number): Generator<NamedValue> {
    const globals = this.guest.view.u32(frame + FRAME_GLOBALS);
    for (const [key, value] of this.#objects.entries(globals, MAX_VARIABLES)) {
      const name = this.#objects.string(key, MAX_NAME_CHARS);
      if (name !== undefined && !name.startsWith('__') && this.#objects.isData(value)) yield [name, value];
    }
  }
}

/** The files of the boot script are named `_sandbox…`. */
function originOf(file: string, home: string): StackFrame['origin'] {
  if (file.startsWith('/app/') || file.startsWith(`${home}/`)) return 'program';
  return /\/_sandbox\w*\.py$/.test(file) ? 'runtime' : 'library';
}

/** References in frames use the lowest bits of a pointer as a tag. */
export const POINTER_MASK = ~3;
/** Globals of a frame, between two of the published offsets. */
const FRAME_GLOBALS = 12;

/** Kinds of entries of a location table. Kinds below `SHORT_LINE` are on the same line as the previous entry. */
const SHORT_LINE = 10;
const LONG = 13;
const WITHOUT_COLUMNS = 14;
const WITHOUT_LINE = 15;

/** The lines by instruction (code unit) in `co_linetable`; 0 for instructions without a line. Any bytes are valid input. */
function decodeLocationTable(table: Uint8Array, firstLine: number): Int32Array {
  const end = Math.min(table.length, MAX_TABLE_BYTES);
  const lines = new Int32Array(instructionsIn(table, end));
  let line = firstLine;
  let at = 0;
  let instruction = 0;
  while (at < end) {
    const head = table[at++]!;
    const kind = (head >> 3) & 15;
    if (kind === LONG || kind === WITHOUT_COLUMNS) {
      let value = 0;
      // The first byte of an entry has its highest bit set, so a number ends there at the latest.
      for (let shift = 0; at < end && shift < 30 && table[at]! < 128; shift += 6) {
        const byte = table[at++]!;
        value |= (byte & 63) << shift;
        if ((byte & 64) === 0) break;
      }
      line += value & 1 ? -(value >> 1) : value >> 1;
    } else if (kind >= SHORT_LINE && kind < LONG) line += kind - SHORT_LINE;
    const next = instruction + (head & 7) + 1;
    if (kind === WITHOUT_LINE) instruction = next;
    else while (instruction < next) lines[instruction++] = line;
    while (at < end && table[at]! < 128) at++;
  }
  return lines;
}

/** The number of instructions that the entries in the first `end` bytes describe. */
function instructionsIn(table: Uint8Array, end: number): number {
  let count = 0;
  for (let at = 0; at < end; at++) if (at === 0 || table[at]! >= 128) count += (table[at]! & 7) + 1;
  return count;
}
