/**
 * A runtime as workers see it: how the interpreter's module is linked and called. The code that uses it does not know which
 * language runs. The part of a runtime that the main thread uses is `Language`, in language.ts; `RuntimeBuild`, in
 * build/runtime-build.ts, builds its guest.
 *
 * CONTRIBUTING.md says how a language is added.
 */

import type { StackFrame, Variables } from '../analysis/run-profile-schema.ts';
import type { Guest } from '../engine/guest.ts';
import type { Linkage } from '../engine/host-imports.ts';
import type { MemoryRange } from '../engine/memory-capture.ts';
import type { LimitReason } from '../engine/run-context.ts';
import type { Entry } from '../fs/flat-entries.ts';
import type { LanguageName, RuntimeName } from '../schema.ts';
import type { SourceReader } from './language.ts';

/** A read-only part of the file system that all guests of a runtime share. */
export interface Layer {
  /** Absolute path in the guest. */
  readonly at: string;
  readonly entries: readonly Entry[];
}

/** Modification time of all files in layers: constant, so that equal sources build equal layers, and valid in zip files. */
export const LAYER_TIME_MS = Date.UTC(2026, 0, 1);

/** A program as the sandbox describes it to a worker and the worker to a runtime. */
export interface Program {
  readonly code: string;
  /** The language of the program, if the runtime runs several. */
  readonly language: LanguageName;
  /** File name of the program, if it is the first of its interpreter; undefined for the default, null if it is not a file. */
  readonly file_name?: string | null | undefined;
  readonly env: Readonly<Record<string, string>>;
  /** Arguments of the program: sys.argv or process.argv. */
  readonly args: readonly string[];
  /** Provide packages and helpers. Otherwise the program sees only the bare language. */
  readonly inject_setup: boolean;
}

/** A program to run. The boot script receives it as JSON, without the limits. */
export interface GuestRequest extends Program {
  /** The path under which the program is compiled. */
  readonly file: string;
  /** Number of this call of the interpreter, starting at 1. The first call starts from the image. */
  readonly call: number;
  /** The interpreter is used again afterwards, so exit handlers do not run. */
  readonly keep: boolean;
  /** `[name, path]` of every tool as JSON; absent if the program has no tools. */
  readonly tools?: string | undefined;
  /** Present if the program may send requests. */
  readonly network?: true;
  /** Present if the program is the file that a command line names, not text. */
  readonly is_file?: true;
  /** What `argv[0]` is, if the program was started by a command line. */
  readonly argv0?: string;
  /** The limits appear in messages only. They are not passed to the guest, because fuel must not depend on them. */
  readonly fuel_budget: number;
  readonly timeout_seconds: number;
}

/** A command line with which a process starts the interpreter. */
export interface CommandRequest extends MessageLimits {
  readonly argv: readonly string[];
  /** `NAME=value`. */
  readonly env: readonly string[];
  /** See `Program`. */
  readonly inject_setup: boolean;
  readonly pid: number;
  /** The added packages that the image does not have, as `name==version`; present if the command can list them. */
  readonly others?: readonly string[];
  /** Present if the process may send requests. */
  readonly network?: true;
}

/** What a command line can read before its process starts. The contents are untrusted, and shortened if they are long. */
export interface CommandFiles {
  /** The text of a file; empty if there is none. */
  read(path: string): string;
  /** The text that standard input has. */
  input(): string;
  /** The names in a folder. */
  names(path: string): readonly string[];
}

/** The program of a command line. */
export interface CommandSource {
  readonly code: string;
  /** The names of files and folders next to the program. */
  readonly names: readonly string[];
  /** Whether it lists the packages that are there. */
  readonly listsPackages: boolean;
}

/** The limits that error messages contain. */
export type MessageLimits = Pick<GuestRequest, 'fuel_budget' | 'timeout_seconds'>;

/** Modules to import before the guest is saved as an image. The boot script receives it as JSON, without the limits. */
export interface PreloadRequest extends MessageLimits {
  readonly modules: readonly string[];
}

/** The boot script's answer to a PreloadRequest, as JSON. Untrusted, like everything from a guest. */
export interface PreloadReport {
  /** The module that could not be imported and the reason. */
  readonly error?: { readonly module: string; readonly message: string };
}

/** Longest report that the host reads: the largest report of a boot script, with up to twelve bytes per character. */
export const MAX_REPORT_BYTES = 1_500_000;

/**
 * Reads the stack of a running program from guest memory. It does not call the guest and never throws: what cannot be
 * read is missing, and corrupt memory gives wrong but bounded texts.
 */
export interface StackReader {
  /** At most `max` frames, innermost first. With `untilProgram` the innermost frame of the program is the last one. */
  frames(max: number, untilProgram: boolean): readonly StackFrame[];
  /**
   * Variables of the innermost frames of the program, at most `max` of them, among the first `maxFrames`. The preferred
   * ones come first. An object whose contents are not shown has its address after "#".
   */
  variables(isPreferred: (name: string) => boolean, max: number, maxFrames: number): readonly Variables[];
  /**
   * Variables for the place of an uncaught exception, for runtimes whose report has none. In a function, only the
   * preferred global variables are included.
   */
  variablesAfter?(
    place: Pick<StackFrame, 'file' | 'line' | 'function'>,
    isPreferred: (name: string) => boolean,
  ): Variables;
}

/** Addresses in guest memory that `boot` returns for later calls. They are saved with the image. */
export type Handles = Record<string, number>;

/** Starts a guest from the boot image with the given layers, calls `use` and returns the files that it left in /tmp. */
type BuildInBootedGuest = (
  layers: readonly Layer[],
  use: (guest: Guest, handles: Handles) => void,
) => readonly Entry[];

export interface Runtime {
  readonly name: RuntimeName;
  readonly source: SourceReader;
  readonly linkage: Linkage<Guest>;
  /** Memory of an idle guest whose contents do not matter and need not be saved. */
  unusedMemory(guest: Guest): readonly MemoryRange[];
  /** Short programs that use the parts of the interpreter that most programs use (see worker/thread/idle-optimization.ts). */
  readonly optimizationPrograms: readonly string[];
  stackReader(guest: Guest, handles: Handles): StackReader;
  /** Runs a program and returns the boot script's report as JSON text. Untrusted. */
  run(guest: Guest, handles: Handles, request: GuestRequest): string;
  /**
   * Continues a program that is paused (see ToolChannel.isPaused): `run` or `resume` returned, and the program waits for
   * answers from tools. Returns the same as `run`.
   */
  resume(guest: Guest, handles: Handles, request: GuestRequest): string;
  /** The names under which processes start the interpreter. */
  readonly commands: readonly string[];
  /** Runs a command line, in a guest that has run nothing, and returns the same as `run`. */
  runCommand(guest: Guest, handles: Handles, request: CommandRequest): string;
  /** The program of a command line, which determines its image; undefined if it needs no packages. Absent if none are supported. */
  commandSource?(argv: readonly string[], files: CommandFiles): CommandSource | undefined;
  /** Imports modules before the guest is saved as an image. Returns a PreloadReport as JSON text. */
  preload(guest: Guest, handles: Handles, request: PreloadRequest): string;
  /** Builds the layer of user packages from their source files. Absent if the runtime does not support them. */
  buildUserPackages?(files: readonly Entry[], buildInGuest: BuildInBootedGuest, limits: MessageLimits): Layer;
}

/** The exception that a program receives when it reaches a limit. */
export const LIMIT_ERRORS: Record<LimitReason, { name: string; message: (limits: MessageLimits) => string }> =
  {
    out_of_fuel: {
      name: 'OutOfFuel',
      message: ({ fuel_budget }) => `the fuel budget of ${fuel_budget} is used up`,
    },
    timeout: {
      name: 'Timeout',
      message: ({ timeout_seconds }) => `the time limit of ${timeout_seconds} s was exceeded`,
    },
    cancelled: { name: 'Cancelled', message: () => 'the run was cancelled' },
  };
