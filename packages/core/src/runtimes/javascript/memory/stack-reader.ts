/**
 * Reads the call stack of a JavaScript program from guest memory, without calling the guest. QuickJS stores the position
 * of a frame only before it calls something; while it interprets bytecode, the position is a local of the interpreter,
 * which the probe of the module publishes. The memory is hostile: the walk is capped and ends at an invalid address.
 */
import type { StackFrame, Variables } from '../../../analysis/run-profile-schema.ts';
import type { Guest } from '../../../engine/guest.ts';
import { isSyscallError } from '../../../kernel/syscall-error.ts';
import {
  isIdentifier,
  MAX_SHOWN,
  type NamedValue,
  StackWalker,
  type VisitFrame,
} from '../../memory/stack-walker.ts';
import type { Handles } from '../../runtime.ts';
import {
  BYTECODE,
  BYTECODE_CLASSES,
  CAPTURED,
  CONTEXT,
  FRAME,
  FROM_RANDOM,
  FUNCTION,
  OBJECT,
  REFERENCE,
  RUNTIME,
  VARIABLE,
} from './quickjs-layout.ts';
import { ValueReader } from './value-reader.ts';

/** Functions, and positions with their lines, that are cached. When there are more, all are dropped. */
const MAX_FUNCTIONS = 2_000;
const MAX_POSITIONS = 20_000;
const MAX_TABLE_BYTES = 262_144;
/** Line tables that are searched in a run. After that lines are unknown, because a program can create any number of them. */
const MAX_SEARCHED_BYTES = 67_108_864;
/** Variables of a frame that are examined. */
const MAX_VARIABLES = 200;
/** Frames that are searched for the one of the program that creates an error: more than a stack trace has. */
const MAX_ERROR_FRAMES = 64;
/** Variables of the frame that are described. The worker chooses among them. */
const MAX_ERROR_VARIABLES = 40;
/** Name of the function that QuickJS compiles a script to. */
const SCRIPT = '<eval>';
/** Functions of the boot script and of the Node.js modules that load a module. */
const LOADING_FUNCTIONS: ReadonlySet<string> = new Set(['loadNodeModule', 'loadOnce', 'requireFrom']);
/** Name of a function without a name in stack traces. */
const ANONYMOUS = '<anonymous>';

/** A place in a stack trace. */
export type TracePlace = Pick<StackFrame, 'file' | 'line' | 'function'>;

/** The frame of the program that created an error. */
export interface ErrorState extends TracePlace {
  /** Short texts by name; undefined for a name whose value is not shown. */
  readonly variables: ReadonlyMap<string, string | undefined>;
  /** Variables of blocks that are undefined: the program may not have entered the block. */
  readonly unset: ReadonlySet<string>;
}

/** A variable of a frame. */
type FrameVariable = readonly [...NamedValue, isLexical: boolean];

interface Bytecode {
  /** Words of the bytecode that identify it. If they change, another function has taken its place. */
  readonly identity: readonly [number, number, number];
  readonly file: string;
  readonly name: string;
  readonly origin: StackFrame['origin'];
  readonly firstLine: number;
  /** By position in the code. */
  readonly frames: Map<number, StackFrame>;
  readonly framesByLine: Map<number, StackFrame>;
}

const NO_STATE: Pick<ErrorState, 'variables' | 'unset'> = { variables: new Map(), unset: new Set() };

export class JavaScriptStackReader extends StackWalker {
  readonly #values: ValueReader;
  readonly #functions = new Map<number, Bytecode>();
  readonly #natives = new Map<string, StackFrame>();
  readonly #runtime: number;
  #cachedPositions = 0;
  #searchedBytes = 0;

  constructor(
    readonly guest: Guest,
    readonly handles: Handles,
    /** The state of the uncaught error if it was created at this place. */
    readonly errorStateAt: (place: TracePlace) => ErrorState | undefined = () => undefined,
  ) {
    super();
    this.#runtime = guest.view.u32(handles['context']! + CONTEXT.runtime);
    this.#values = new ValueReader(guest, this.#runtime);
  }

  protected describe(address: number): string {
    return this.#values.describe(address);
  }

  /** The engine compiles an ES module to a function with the name of a script. */
  protected loadsModule({ file, function: name, origin }: StackFrame, program: string): boolean {
    if (origin === 'runtime') return LOADING_FUNCTIONS.has(name);
    return name === SCRIPT && file.startsWith('/') && file !== program;
  }

  protected *variablesOf(frame: StackFrame, address: number, bytecode: number): Generator<NamedValue> {
    yield* this.#locals(address, bytecode);
    if (frame.function === SCRIPT) yield* this.#globals();
  }

  /**
   * The frames are gone when an exception is reported; the variables were read when the error was created. The global
   * variables still exist.
   */
  variablesAfter(place: TracePlace, isPreferred: (name: string) => boolean): Variables {
    const state = this.errorStateAt(place);
    const isScript = place.function === SCRIPT;
    // Without the names of its variables it is unknown which globals a function can see.
    if (state === undefined && !isScript) return {};
    const { variables: locals, unset } = state ?? NO_STATE;
    const isShown = ([name]: NamedValue) => !locals.has(name) && (isScript || isPreferred(name));
    let globals: Variables = {};
    try {
      globals = this.describeAll([...this.#globals()].filter(isShown), isPreferred);
    } catch (cause) {
      if (!isSyscallError(cause)) throw cause;
    }
    const isKnown = ([name, text]: readonly [string, string | undefined]) =>
      text !== undefined && (!unset.has(name) || isPreferred(name));
    const texts = [...locals, ...Object.entries(globals)].filter(isKnown);
    const [preferred, others] = [true, false].map((wanted) =>
      texts.filter(([name]) => isPreferred(name) === wanted),
    );
    return Object.fromEntries([...preferred!, ...others!].slice(0, MAX_SHOWN)) as Variables;
  }

  /** The innermost frame in `file`, without the constructor of the error, as the report of the boot script has it. */
  errorState(file: string, error: number): ErrorState | undefined {
    const { view } = this.guest;
    let state: ErrorState | undefined;
    this.walk(MAX_ERROR_FRAMES, (frame, address, bytecode) => {
      // The stack trace has no line for a frame without a position.
      if (frame.file !== file || view.u32(address + FRAME.pc) === 0) return false;
      const target = this.#values.objectAt(address + FRAME.function);
      const name = this.#values.functionName(target) || ANONYMOUS;
      if (name === this.#values.className(error)) return false;
      state = { file, line: frame.line, function: name, ...this.#scope(address, target, bytecode) };
      return true;
    });
    return state;
  }

  /** The variables that a frame can see, without global ones. */
  #scope(frame: number, target: number, bytecode: number): Pick<ErrorState, 'variables' | 'unset'> {
    const found = new Map<string, number>();
    const unclear = new Set<string>();
    const unset = new Set<string>();
    for (const [name, address, isLexical] of this.#slots(frame, bytecode)) {
      const other = found.get(name);
      // Variables of several blocks have the same name. Which of them is in scope is unknown.
      if (other !== undefined && !this.#values.isSame(other, address)) unclear.add(name);
      else found.set(name, address);
      if (isLexical && this.#values.isUndefined(address)) unset.add(name);
    }
    for (const [name, address] of this.#captured(target, bytecode))
      if (!found.has(name)) found.set(name, address);
    const variables = new Map<string, string | undefined>();
    let count = 0;
    for (const [name, address] of found) {
      const isShown = !unclear.has(name) && isIdentifier(name) && this.#values.isData(address);
      variables.set(name, isShown && count++ < MAX_ERROR_VARIABLES ? this.describe(address) : undefined);
    }
    return { variables, unset };
  }

  protected walk(max: number, visit: VisitFrame): void {
    const { view } = this.guest;
    try {
      let address = view.u32(this.#runtime + RUNTIME.currentFrame);
      let { probe } = this.guest;
      for (let i = 0; address !== 0 && i < max; i++) {
        const target = this.#values.objectAt(address + FRAME.function);
        const isBytecode = target !== 0 && BYTECODE_CLASSES.has(this.#values.classOf(target));
        const bytecode = isBytecode ? view.u32(target + OBJECT.data) : 0;
        const frame = isBytecode
          ? this.#frameAt(target, bytecode, probe, view.u32(address + FRAME.pc))
          : this.#nativeFrame(target);
        if (visit(frame, address, bytecode)) return;
        // Only the innermost frame is being interpreted.
        probe = 0;
        address = view.u32(address + FRAME.previous);
      }
    } catch (cause) {
      if (!isSyscallError(cause)) throw cause;
    }
  }

  #nativeFrame(target: number): StackFrame {
    const name = (target === 0 ? undefined : this.#values.functionName(target)) || '<native>';
    let frame = this.#natives.get(name);
    if (frame === undefined) {
      frame = { file: '<native>', function: name, line: 0, origin: 'library' };
      if (this.#natives.size >= MAX_FUNCTIONS) this.#natives.clear();
      this.#natives.set(name, frame);
    }
    return frame;
  }

  /** `saved` is the address after the last instruction that the frame stored; 0 if it stored none. */
  #frameAt(target: number, bytecode: number, probe: number, saved: number): StackFrame {
    const { view } = this.guest;
    const code = this.#bytecodeAt(target, bytecode);
    const start = view.u32(bytecode + BYTECODE.code);
    const length = view.u32(bytecode + BYTECODE.codeLength);
    const isProbed = probe >= start && probe < start + length;
    const position = isProbed ? probe - start : saved === 0 ? -1 : saved - start - 1;
    const known = code.frames.get(position);
    if (known !== undefined) return known;
    const line = position < 0 ? code.firstLine : this.#lineAt(bytecode, code.firstLine, position);
    let frame = code.framesByLine.get(line);
    if (frame === undefined) {
      frame = { file: code.file, function: code.name, line: Math.max(0, line), origin: code.origin };
      code.framesByLine.set(line, frame);
    }
    code.frames.set(position, frame);
    if (++this.#cachedPositions > MAX_POSITIONS) this.#clearCache();
    return frame;
  }

  #lineAt(bytecode: number, firstLine: number, position: number): number {
    const { view } = this.guest;
    const size = Math.min(view.u32(bytecode + BYTECODE.linesLength), MAX_TABLE_BYTES);
    this.#searchedBytes += size;
    if (this.#searchedBytes > MAX_SEARCHED_BYTES) return 0;
    return lineAt(view.bytes(view.u32(bytecode + BYTECODE.lines), size), firstLine, position);
  }

  #clearCache(): void {
    this.#functions.clear();
    this.#cachedPositions = 0;
  }

  #bytecodeAt(target: number, address: number): Bytecode {
    const { view } = this.guest;
    const file = view.u32(address + BYTECODE.file);
    const table = view.u32(address + BYTECODE.lines);
    const firstLine = view.i32(address + BYTECODE.line);
    const cached = this.#functions.get(address);
    if (cached !== undefined) {
      const { identity } = cached;
      if (identity[0] === file && identity[1] === table && identity[2] === firstLine) return cached;
    }
    const path = this.#values.atom(file);
    const ownName = this.#values.atom(view.u32(address + BYTECODE.name));
    const code: Bytecode = {
      identity: [file, table, firstLine],
      file: path,
      name: ownName || this.#values.functionName(target) || ANONYMOUS,
      origin: originOf(path, this.guest.kernel.volume.home),
      firstLine,
      frames: new Map(),
      framesByLine: new Map(),
    };
    if (this.#functions.size >= MAX_FUNCTIONS) this.#clearCache();
    this.#functions.set(address, code);
    return code;
  }

  /** The arguments and local variables of a function that have a value. */
  *#locals(frame: number, bytecode: number): Generator<NamedValue> {
    for (const [name, address] of this.#slots(frame, bytecode))
      if (this.#values.isData(address)) yield [name, address];
  }

  /** The arguments and local variables of a function. */
  *#slots(frame: number, bytecode: number): Generator<FrameVariable> {
    const { view } = this.guest;
    const definitions = view.u32(bytecode + BYTECODE.variables);
    const args = view.u16(bytecode + BYTECODE.argumentCount);
    const count = Math.min(args + view.u16(bytecode + BYTECODE.variableCount), MAX_VARIABLES);
    const [argumentsAt, variablesAt] = [view.u32(frame + FRAME.arguments), view.u32(frame + FRAME.variables)];
    for (let i = 0; i < count; i++) {
      const address = i < args ? argumentsAt + i * 8 : variablesAt + (i - args) * 8;
      const definition = definitions + i * VARIABLE.size;
      const isLexical = (view.u8(definition + VARIABLE.flags) & VARIABLE.isLexical) !== 0;
      yield [this.#values.atom(view.u32(definition + VARIABLE.name)), address, isLexical];
    }
  }

  /** The variables of enclosing functions that a function uses. */
  *#captured(target: number, bytecode: number): Generator<NamedValue> {
    const { view } = this.guest;
    const definitions = view.u32(bytecode + BYTECODE.captured);
    const count = Math.min(view.u16(bytecode + BYTECODE.capturedCount), MAX_VARIABLES);
    const references = view.u32(target + FUNCTION.captured);
    for (let i = 0; i < count; i++) {
      const definition = definitions + i * CAPTURED.size;
      if ((view.u8(definition + CAPTURED.kind) & CAPTURED.kindMask) >= CAPTURED.firstGlobal) continue;
      const address = view.u32(view.u32(references + i * 4) + REFERENCE.value);
      yield [this.#values.atom(view.u32(definition + CAPTURED.name)), address];
    }
  }

  /** The global variables of the program: declared with let or const, or added to the global object. */
  *#globals(): Generator<NamedValue> {
    const { random, globals } = this.handles as { random: number; globals: number };
    const declared = this.#values.objectAt(random + FROM_RANDOM.globalVariables);
    const object = this.#values.objectAt(random + FROM_RANDOM.globalObject);
    const sources = [this.#values.properties(declared, MAX_VARIABLES)];
    sources.push(this.#values.properties(object, MAX_VARIABLES, globals));
    for (const values of sources) for (const named of values) if (this.#values.isData(named[1])) yield named;
  }
}

function originOf(file: string, home: string): StackFrame['origin'] {
  if (file.startsWith('/app/') || file.startsWith(`${home}/`)) return 'program';
  return file.startsWith('sandbox:') ? 'runtime' : 'library';
}

// The line table of QuickJS bytecode
const OP_FIRST = 1;
const RANGE = 5;
const BASE = -1;

/** The line of the instruction at offset `pc`; `firstLine` is that of the function. Any bytes are valid as a table. */
export function lineAt(table: Uint8Array, firstLine: number, pc: number): number {
  let at = 0;
  const unsigned = () => {
    let value = 0;
    for (let shift = 0; at < table.length && shift < 35; shift += 7) {
      const byte = table[at++]!;
      value |= (byte & 127) << shift;
      if (byte < 128) break;
    }
    return value >>> 0;
  };
  /** Zigzag encoding. */
  const signed = () => {
    const value = unsigned();
    return (value >>> 1) ^ -(value & 1);
  };
  let line = firstLine;
  let position = 0;
  while (at < table.length) {
    const op = table[at++]!;
    let next = line;
    if (op === 0) {
      position += unsigned();
      next += signed();
    } else {
      position += Math.floor((op - OP_FIRST) / RANGE);
      next += ((op - OP_FIRST) % RANGE) + BASE;
    }
    signed();
    if (pc < position) break;
    line = next;
  }
  return line;
}
