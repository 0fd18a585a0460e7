/**
 * What a runtime is: a row of data and three small functions. Everything that differs between Python and JavaScript
 * is behind this type; nothing above it knows which language runs.
 */

import type { MemoryRange } from '../engine/delta.ts';
import type { Guest } from '../engine/guest.ts';
import type { Linkage } from '../engine/host-imports.ts';
import type { LimitReason } from '../engine/run-context.ts';
import type { Entry } from '../fs/entries.ts';
import type { MissingPackage } from '../packages/catalog.ts';
import type { RuntimeName } from '../schema.ts';
import type { PrepareOptions } from '../wasm/prepare-module.ts';

/** A read-only subtree that every guest of a runtime sees. */
export interface Layer {
  /** Absolute path in the guest. */
  readonly at: string;
  readonly entries: readonly Entry[];
}

/** What the host asks of the boot script's `run`. Crosses into the guest as JSON. */
export interface GuestRequest {
  readonly code: string;
  readonly env: Readonly<Record<string, string>>;
  /** Which call of its interpreter this is, from 1; the first one starts from the boot image. */
  readonly call: number;
  /** Whether the interpreter lives on afterwards: then it does not run what belongs to the end of a process. */
  readonly keep: boolean;
  /** For the words of the exception that tells a program of its limit; not sent, so that fuel does not depend on them. */
  readonly fuel_budget: number;
  readonly timeout_seconds: number;
  /** Whether packages and helpers are at hand; without, the program finds the bare language. */
  readonly inject_setup: boolean;
}

/** What the words of a limit speak of. */
export type LimitFacts = Pick<GuestRequest, 'fuel_budget' | 'timeout_seconds'>;

/** What a guest is to have loaded before it is saved as a warm image. Crosses into the guest as JSON. */
export interface WarmRequest extends LimitFacts {
  readonly modules: readonly string[];
  /** Whether a layer of the caller's packages is there. */
  readonly packages: boolean;
}

/** What a guest says about warming up; like all reports, hostile. */
export interface WarmReport {
  /** The module that could not be loaded, and why. */
  readonly error?: { readonly module: string; readonly message: string };
}

/** How images beyond the boot image are made; a runtime without this has none. */
export interface Extension {
  /**
   * The layer of a caller's own packages, from its sources; `build` is as in `Runtime.layers`, with a guest that has been
   * booted. A runtime without this takes none.
   */
  packages?(
    files: readonly Entry[],
    build: (layers: readonly Layer[], use: (guest: Guest, handles: Handles) => void) => readonly Entry[],
    limits: Pick<GuestRequest, 'fuel_budget' | 'timeout_seconds'>,
  ): Layer;
  /** Loads modules and returns a WarmReport as JSON text. */
  warm(guest: Guest, handles: Handles, request: WarmRequest): string;
}

/** Longest report the host reads back: what a boot script says at most, at twelve bytes for a character. */
export const MAX_REPORT_BYTES = 1_500_000;

/** A line of the program; `file` when it is one of an earlier call. */
export interface SourceLocation {
  readonly line: number;
  readonly file?: string;
}

/** Addresses in guest memory that `boot` leaves for `run`; part of the image. */
export type Handles = Record<string, number>;

/** Runs guest code that makes part of a layer, at build time: the layers of the guest, and its files afterwards. */
export type BuildGuest = (layers: readonly Layer[], use: (guest: Guest) => void) => readonly Entry[];

export interface Runtime {
  readonly name: RuntimeName;
  /** The binary inside a pinned dependency; only this exact one is run. */
  readonly binary: { readonly specifier: string; readonly sha256: string };
  readonly prepare: PrepareOptions;
  readonly linkage: Linkage<Guest>;
  /** The environment the interpreter is booted with. */
  readonly bootEnv: Readonly<Record<string, string>>;
  /**
   * Makes the layers; `build` boots a guest over unfinished layers when the guest itself has to do part of it, `warn`
   * takes a package that had to be left out.
   */
  layers(build: BuildGuest, warn: (missing: MissingPackage) => void): Promise<readonly Layer[]>;
  /** Parts of an idle guest's memory whose content means nothing: what is not looked at costs nothing to save. */
  unusedMemory(guest: Guest): readonly MemoryRange[];
  boot(guest: Guest): Handles;
  /**
   * Where the program stands in a guest that was stopped, read with the guest's own functions. Called inside `look`:
   * anything may be in ruins, so it may stop again or be wrong.
   */
  currentLocation(guest: Guest): SourceLocation | undefined;
  readonly extend?: Extension;
  /** Runs a program and returns the boot script's report, as JSON text from the guest: hostile. */
  run(guest: Guest, handles: Handles, request: GuestRequest): string;
}

/** The name and the words of the exception by which a program is told of its limit. */
export const LIMIT_ERRORS: Record<LimitReason, { name: string; message: (facts: LimitFacts) => string }> = {
  out_of_fuel: {
    name: 'OutOfFuel',
    message: ({ fuel_budget }) => `the fuel budget of ${fuel_budget} is used up`,
  },
  timeout: {
    name: 'Timeout',
    message: ({ timeout_seconds }) => `the time limit of ${timeout_seconds} s has passed`,
  },
  cancelled: { name: 'Cancelled', message: () => 'the run was cancelled' },
};

/** Copies bytes into guest memory that the guest's own malloc gave out; the caller frees it. */
export function allocate(guest: Guest, bytes: Uint8Array, malloc: string): number {
  const pointer = guest.call(malloc, bytes.length + 1);
  if (pointer === 0) guest.abort('the guest has no memory left for its own program');
  const target = guest.view.bytes(pointer, bytes.length + 1);
  target.set(bytes);
  target[bytes.length] = 0;
  return pointer;
}
