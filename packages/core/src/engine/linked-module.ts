/** A side module that is loaded into a guest: its place in memory, its globals and its instance. */

import type { SideModule } from './compile-side-module.ts';
import type { LinkedModuleState } from './link-state.ts';

/** The memory of a module in the heap of the guest. `allocation` is what malloc returned, which is not aligned. */
export interface ModuleMemory {
  readonly base: number;
  readonly allocation: number;
}

/** Where a module is placed, and the modules that it uses. */
export interface Placement {
  readonly path: string;
  readonly memoryBase: number;
  readonly tableBase: number;
  /** Modules in which its symbols are looked up, after the main module. */
  readonly scope: readonly LinkedModule[];
  /** Modules that it requires, directly or indirectly. */
  readonly needed: readonly LinkedModule[];
}

export class LinkedModule {
  /** Addresses that dlopen returned for it. */
  readonly handles = new Set<number>();
  /** Whether modules that are loaded later can use its symbols. */
  isGlobal = false;
  /** The global offset table: GOT.mem, then GOT.func, in the order of the facts. */
  readonly offsets: readonly WebAssembly.Global<'i32'>[];
  /** The globals that the module defined. */
  readonly own: readonly WebAssembly.Global<'i32'>[];
  /** The globals whose values are part of the state of the guest. */
  readonly #mutable: readonly WebAssembly.Global<'i32'>[];
  /** Set when the module is instantiated. */
  exports: WebAssembly.Exports = {};

  constructor(
    readonly side: SideModule,
    readonly at: Placement,
  ) {
    const { gotMem, gotFunc, globals } = side.facts;
    this.offsets = [...gotMem, ...gotFunc].map(
      () => new WebAssembly.Global({ value: 'i32', mutable: true }, 0),
    );
    const bases = { none: 0, memory: at.memoryBase, table: at.tableBase };
    this.own = globals.map(
      ({ mutable, base, offset }) => new WebAssembly.Global({ value: 'i32', mutable }, bases[base] + offset),
    );
    this.#mutable = [...this.offsets, ...this.own.filter((_, i) => globals[i]!.mutable)];
  }

  /** Sets the globals. Returns false if the number of values is wrong. */
  setGlobals(values: readonly number[]): boolean {
    const globals = this.#mutable;
    if (values.length !== globals.length) return false;
    for (let i = 0; i < globals.length; i++) globals[i]!.value = values[i]!;
    return true;
  }

  state(all: readonly LinkedModule[]): LinkedModuleState {
    const indices = (modules: readonly LinkedModule[]) => modules.map((module) => all.indexOf(module));
    return {
      sha256: this.side.sha256,
      path: this.at.path,
      memory_base: this.at.memoryBase,
      table_base: this.at.tableBase,
      scope: indices(this.at.scope),
      needed: indices(this.at.needed),
      global: this.isGlobal,
      handles: [...this.handles],
      globals: this.#mutable.map(({ value }) => value),
    };
  }

  /** Whether a saved module is this one, at the same place and with the same imports. */
  matches(saved: LinkedModuleState, all: readonly LinkedModule[]): boolean {
    const same = (modules: readonly LinkedModule[], indices: readonly number[]) =>
      modules.length === indices.length && modules.every((module, i) => module === all[indices[i]!]);
    return (
      this.side.sha256 === saved.sha256 &&
      this.at.path === saved.path &&
      this.at.memoryBase === saved.memory_base &&
      this.at.tableBase === saved.table_base &&
      same(this.at.scope, saved.scope) &&
      same(this.at.needed, saved.needed)
    );
  }
}
