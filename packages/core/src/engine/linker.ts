/**
 * Loads side modules into a guest: dlopen and dlsym. Guests are hostile: modules, table entries and handles are limited,
 * every load costs fuel, and a module is selected by the stub in a read-only file and must be one that the host has.
 * Invariant: the function table beyond the entries of the main module follows from the link state.
 */
import { posix } from 'node:path';
import type { GuestMemory } from '../kernel/guest-memory.ts';
import { isSyscallError } from '../kernel/syscall-error.ts';
import type { HostFunctions } from '../kernel/syscall-guard.ts';
import type { Kernel } from '../kernel/syscalls.ts';
import { INVALID_FLAG, TEST_AND_CLEAR } from '../wasm/float-status.ts';
import { ADDED_IMPORTS, INITIALISERS } from '../wasm/sandbox-sections.ts';
import { checkLinkState } from './check-link-state.ts';
import {
  type FindSideModule,
  type MainSymbols,
  mainSymbols,
  type SideModule,
} from './compile-side-module.ts';
import { FunctionTable, type Slot } from './function-table.ts';
import { LinkFailure, undefinedSymbol } from './link-failure.ts';
import { type LinkState, MAX_HANDLES, MAX_LINKED_SYMBOLS, MAX_SIDE_MODULES } from './link-state.ts';
import { LinkedModule, type ModuleMemory, type Placement } from './linked-module.ts';
import { readSideModuleStub } from './side-module-stub-file.ts';

/** The guest as the linker uses it. */
export interface LinkableGuest {
  readonly kernel: Kernel;
  readonly memory: WebAssembly.Memory;
  readonly view: GuestMemory;
  readonly table: WebAssembly.Table;
  readonly exports: WebAssembly.Exports;
  readonly compiled: { readonly module: WebAssembly.Module };
  readonly findSideModule: FindSideModule;
  /** The host functions of the main module, by module name. */
  readonly hostFunctions: Readonly<Record<string, HostFunctions>>;
  call(name: string, ...args: number[]): number;
  charge(fuel: number): void;
  deny(name: string): never;
  instantiate(module: WebAssembly.Module, imports: WebAssembly.Imports): WebAssembly.Exports;
}

/** Fuel for a load, about what the work of the host takes; the sizes of the memory and of the table are added. */
const LOAD_FUEL = 100_000;
const IMPORT_FUEL = 5000;
/** Fuel for the lookup of a symbol. */
const SYMBOL_FUEL = 500;

interface FoundFile {
  readonly path: string;
  readonly sha256: string;
}

/** A symbol: the address of data, or a function of a module, undefined for the main module. */
type FoundSymbol =
  | { readonly address: number }
  | { readonly module: LinkedModule | undefined; readonly name: string };

export class Linker {
  readonly #guest: LinkableGuest;
  #functionTable: FunctionTable | undefined;
  #modules: LinkedModule[] = [];
  /** Paths of the modules that are being loaded, to detect modules that need each other. */
  readonly #loading = new Set<string>();
  /** The state that was restored last, until a library is opened or a symbol looked up; only its globals can have changed. */
  #restored: LinkState | undefined;

  /** The floating-point status, which the functions of the main module ignore. See wasm/float-status.ts. */
  #status = 0;
  readonly #floatStatus: HostFunctions = {
    feraiseexcept: () => {
      this.#status = INVALID_FLAG;
      return 0;
    },
    fetestexcept: (mask: number) => {
      const status = this.#status;
      if (mask === TEST_AND_CLEAR) this.#status = 0;
      return status;
    },
  };

  constructor(guest: LinkableGuest) {
    this.#guest = guest;
  }

  /** Created when it is first used: most guests load no side modules. */
  get #table(): FunctionTable {
    this.#functionTable ??= new FunctionTable(this.#guest.table);
    return this.#functionTable;
  }

  get #main(): MainSymbols {
    return mainSymbols(this.#guest.compiled.module);
  }

  /** Loads the module at a path, with the modules that it needs, and makes it known under `handle`. Throws LinkFailure. */
  open(path: string, isGlobal: boolean, handle: number): LinkedModule {
    const handles = this.#modules.reduce((sum, module) => sum + module.handles.size, 0);
    if (handles >= MAX_HANDLES) throw new LinkFailure('too many libraries are open');
    this.#restored = undefined;
    const module = this.#load(this.#find(path), isGlobal, []);
    module.handles.add(handle);
    return module;
  }

  /** The address of a symbol of an open module or of those that it needs. Throws LinkFailure. */
  symbol(handle: number, name: string): number {
    this.#guest.charge(SYMBOL_FUEL);
    this.#restored = undefined;
    const module = this.#modules.find(({ handles }) => handles.has(handle));
    if (module === undefined) throw new LinkFailure('the symbols of this library are not available');
    const found = findIn([module, ...module.at.needed], name);
    if (found === undefined) throw new LinkFailure(`undefined symbol: ${name}`);
    return this.#addressOf(found);
  }

  // ---- loading ----

  #find(path: string): FoundFile {
    const { volume, cwd } = this.#guest.kernel;
    try {
      const { node, path: canonical } = volume.resolve(path, cwd, true);
      const sha256 = node.kind === 'file' && node.readonly ? readSideModuleStub(node.data) : undefined;
      if (sha256 !== undefined) return { path: canonical, sha256 };
    } catch (cause) {
      if (!isSyscallError(cause)) throw cause;
      throw new LinkFailure(`${path}: cannot open the file (${cause.code})`);
    }
    throw new LinkFailure(`${path}: not a library of an installed package`);
  }

  /** `scope` collects the modules of one call of `open`; each can use the symbols of those before it. */
  #load(file: FoundFile, isGlobal: boolean, scope: LinkedModule[]): LinkedModule {
    const loaded = this.#modules.find(({ at }) => at.path === file.path);
    if (loaded !== undefined) {
      for (const module of [...loaded.at.needed, loaded]) {
        module.isGlobal ||= isGlobal;
        if (!scope.includes(module)) scope.push(module);
      }
      return loaded;
    }
    if (this.#loading.has(file.path)) throw new LinkFailure(`${file.path}: the library depends on itself`);
    const side = this.#guest.findSideModule(file.sha256);
    if (side === undefined) throw new LinkFailure(`${file.path}: the library is not installed`);
    this.#loading.add(file.path);
    try {
      return this.#link(side, file, isGlobal, scope);
    } finally {
      this.#loading.delete(file.path);
    }
  }

  #link(side: SideModule, file: FoundFile, isGlobal: boolean, scope: LinkedModule[]): LinkedModule {
    const { facts } = side;
    const fuel = LOAD_FUEL + IMPORT_FUEL * symbolCount(side);
    this.#guest.charge(fuel + facts.tableSize + Math.ceil(facts.memoryBytes / 8));
    const needed = new Set<LinkedModule>();
    for (const name of facts.needed) {
      const library = this.#load(this.#findNeeded(file, side, name), isGlobal, scope);
      for (const one of [...library.at.needed, library]) needed.add(one);
    }
    if (this.#modules.length >= MAX_SIDE_MODULES) throw new LinkFailure('too many libraries are loaded');
    const globals = this.#modules.filter((one) => one.isGlobal && !scope.includes(one));
    const memory = this.#allocate(side, file);
    const { end } = this.#table;
    let module: LinkedModule;
    try {
      module = this.#instantiate(side, {
        path: file.path,
        memoryBase: memory.base,
        tableBase: this.#table.reserve(facts.tableSize, facts.tableAlign),
        scope: [...globals, ...scope],
        needed: [...needed],
      });
      this.#setOffsets(module);
    } catch (cause) {
      this.#table.truncate(end);
      this.#guest.call('free', memory.allocation);
      if (cause instanceof WebAssembly.LinkError) throw new LinkFailure(`${file.path}: ${cause.message}`);
      throw cause;
    }
    module.isGlobal = isGlobal;
    this.#modules.push(module);
    scope.push(module);
    for (const name of INITIALISERS) {
      (module.exports[name] as (() => void) | undefined)?.();
    }
    return module;
  }

  #findNeeded({ path }: FoundFile, { facts }: SideModule, name: string): FoundFile {
    const origin = posix.dirname(path);
    for (const folder of facts.runtimePaths) {
      const candidate = posix.join(
        folder.replace(/^\$ORIGIN(?=\/|$)/, () => origin),
        name,
      );
      if (candidate.startsWith('/') && this.#guest.kernel.volume.exists(candidate))
        return this.#find(candidate);
    }
    throw new LinkFailure(`${path}: the library needs ${name}, which is not on its search path`);
  }

  /** Allocates the memory of a module in the heap of the guest and writes its data. */
  #allocate({ facts, data }: SideModule, { path }: FoundFile): ModuleMemory {
    const { memoryBytes, memoryAlign } = facts;
    if (memoryBytes === 0) return { base: 0, allocation: 0 };
    const allocation = this.#guest.call('malloc', memoryBytes + memoryAlign) >>> 0;
    if (allocation === 0) throw new LinkFailure(`${path}: not enough memory to load the library`);
    const base = Math.ceil(allocation / memoryAlign) * memoryAlign;
    const memory = this.#guest.view.bytes(base, memoryBytes).fill(0);
    let from = 0;
    for (const [offset, length] of facts.data) {
      memory.set(data.subarray(from, from + length), offset);
      from += length;
    }
    return { base, allocation };
  }

  #instantiate(side: SideModule, at: Placement): LinkedModule {
    const symbols = this.#modules.reduce((sum, one) => sum + symbolCount(one.side), symbolCount(side));
    if (symbols > MAX_LINKED_SYMBOLS) throw new LinkFailure('the libraries import too many symbols');
    const module = new LinkedModule(side, at);
    module.exports = this.#guest.instantiate(side.module, this.#imports(module));
    return module;
  }

  #imports(module: LinkedModule): WebAssembly.Imports {
    const { side, at, offsets, own } = module;
    const { facts } = side;
    const { exports } = this.#guest;
    const named = () => Object.create(null) as Record<string, WebAssembly.ImportValue>;
    const imports = {
      env: named(),
      wasi_snapshot_preview1: named(),
      'GOT.mem': named(),
      'GOT.func': named(),
    };
    const added = named();
    for (const [from, name] of facts.functions)
      imports[from as 'env'][name] = this.#importedFunction(at.scope, from, name);
    const uncalled = () => this.#guest.deny('bound import');
    for (const name of facts.bound) imports.env[name] = uncalled;
    for (const name of facts.tags) {
      if (!(exports[name] instanceof WebAssembly.Tag))
        throw new LinkFailure(`${at.path}: unknown tag ${name}`);
      imports.env[name] = exports[name] as WebAssembly.ImportValue;
    }
    facts.gotMem.forEach((name, i) => {
      imports['GOT.mem'][name] = offsets[i]!;
    });
    facts.gotFunc.forEach((name, i) => {
      imports['GOT.func'][name] = offsets[facts.gotMem.length + i]!;
    });
    own.forEach((global, i) => {
      added[`global:${i}`] = global;
    });
    const pointer = exports['__stack_pointer'] as WebAssembly.Global;
    const constant = (value: number) => new WebAssembly.Global({ value: 'i32', mutable: false }, value);
    Object.assign(imports.env, {
      memory: this.#guest.memory,
      __indirect_function_table: this.#guest.table,
      __memory_base: constant(at.memoryBase),
      __table_base: constant(at.tableBase),
      __stack_pointer: pointer,
    });
    const { fuel, stack_limit, host } = exports as Record<string, WebAssembly.ImportValue>;
    Object.assign(added, { fuel, stack_limit, host, stack_pointer: pointer });
    return { ...imports, [ADDED_IMPORTS]: added };
  }

  /** A function of the main module, of another side module or of the host. Calling one that does not exist stops the guest. */
  #importedFunction(scope: readonly LinkedModule[], from: string, name: string): WebAssembly.ImportValue {
    if (from === 'env' && Object.hasOwn(this.#floatStatus, name)) return this.#floatStatus[name]!;
    const found = from === 'env' ? this.#resolve(scope, name) : undefined;
    if (found !== undefined && 'name' in found) return this.#target(found) as WebAssembly.ImportValue;
    const { hostFunctions } = this.#guest;
    const host = Object.hasOwn(hostFunctions, from) ? hostFunctions[from]! : {};
    return Object.hasOwn(host, name) ? host[name]! : () => this.#guest.deny(`${from}.${name}`);
  }

  /** Sets the addresses that the module takes of symbols, its own included. */
  #setOffsets(module: LinkedModule): void {
    const { gotMem, gotFunc, weak } = module.side.facts;
    const isWeak = new Set(weak);
    const scope = [...module.at.scope, module];
    [...gotMem, ...gotFunc].forEach((name, i) => {
      const found = this.#resolve(scope, name);
      if (found === undefined && !isWeak.has(name))
        throw undefinedSymbol(module.at.path, name, this.#guest.hostFunctions['env']);
      module.offsets[i]!.value = found === undefined ? 0 : this.#addressOf(found);
    });
  }

  // ---- symbols ----

  #resolve(scope: readonly LinkedModule[], name: string): FoundSymbol | undefined {
    if (this.#main.functions.has(name)) return { module: undefined, name };
    const address = this.#main.data.get(name);
    return address === undefined ? findIn(scope, name) : { address };
  }

  #target({ module, name }: Pick<Slot, 'module' | 'name'>): unknown {
    if (module !== undefined) return module.exports[name];
    return (this.#guest.exports['functions'] as WebAssembly.Table).get(this.#main.functions.get(name)!.index);
  }

  #addressOf(symbol: FoundSymbol): number {
    if ('address' in symbol) return symbol.address;
    const { module, name } = symbol;
    if (module === undefined) {
      const { slot } = this.#main.functions.get(name)!;
      if (slot !== 0) return slot;
    } else {
      const position = module.side.functions.get(name)!;
      if (position >= 0) return module.at.tableBase + position;
    }
    return this.#table.slotFor(module, name, () => this.#target(symbol));
  }

  // ---- state ----

  /** Undefined if no module is loaded. */
  state(): LinkState | undefined {
    const modules = this.#modules;
    if (modules.length === 0) return undefined;
    return {
      table_end: this.#table.end,
      modules: modules.map((module) => module.state(modules)),
      slots: this.#table.slots.map(({ slot, module, name }) => ({
        slot,
        module: module === undefined ? -1 : modules.indexOf(module),
        name,
      })),
    };
  }

  /**
   * Restores a saved state, whose memory has been restored already. Modules that are loaded at the same place are kept;
   * no code of the others runs. Throws LinkFailure if the state is not consistent with the modules.
   */
  restore(state: LinkState | undefined): void {
    // numpy clears the status before it computes.
    this.#status = 0;
    if (state === undefined && this.#functionTable === undefined) return;
    if (state === undefined || state !== this.#restored) this.#relink(state);
    for (const [i, module] of this.#modules.entries()) {
      if (!module.setGlobals(state!.modules[i]!.globals))
        throw new LinkFailure(`${module.at.path}: wrong number of globals`);
    }
    this.#restored = state;
  }

  /** Restores everything but the values of globals. */
  #relink(state: LinkState | undefined): void {
    this.#restored = undefined;
    if (state !== undefined) this.#check(state);
    const saved = state?.modules ?? [];
    const kept: LinkedModule[] = [];
    for (const [i, one] of saved.entries()) {
      const module = this.#modules[i];
      if (module === undefined || !module.matches(one, kept)) break;
      kept.push(module);
    }
    this.#modules = kept;
    this.#table.clear(tableEnd(kept, this.#table.start), state?.table_end ?? this.#table.start);
    if (state === undefined) return;
    for (const one of saved.slice(kept.length)) {
      kept.push(
        this.#instantiate(this.#sideModule(one.sha256), {
          path: one.path,
          memoryBase: one.memory_base,
          tableBase: one.table_base,
          scope: one.scope.map((index) => kept[index]!),
          needed: one.needed.map((index) => kept[index]!),
        }),
      );
    }
    for (const [i, module] of kept.entries()) {
      const { global, handles } = saved[i]!;
      module.isGlobal = global;
      module.handles.clear();
      for (const handle of handles) module.handles.add(handle);
    }
    const slots = state.slots.map(({ slot, module, name }) => ({ slot, module: kept[module], name }));
    this.#table.setSlots(slots, (slot) => this.#target(slot));
  }

  #check(state: LinkState): void {
    checkLinkState(
      state,
      this.#table.start,
      this.#guest.memory.buffer.byteLength,
      (sha256) => this.#sideModule(sha256),
      (name) => this.#main.functions.has(name),
    );
  }

  #sideModule(sha256: string): SideModule {
    const side = this.#guest.findSideModule(sha256);
    if (side === undefined) throw new LinkFailure(`the library with SHA-256 ${sha256} is not installed`);
    return side;
  }
}

/** For each, the linker creates an object of the host. */
const symbolCount = ({ facts }: SideModule) =>
  [facts.functions, facts.bound, facts.gotMem, facts.gotFunc, facts.globals].reduce(
    (sum, list) => sum + list.length,
    0,
  );

/** The first module that exports the symbol. */
function findIn(scope: readonly LinkedModule[], name: string): FoundSymbol | undefined {
  for (const module of scope) {
    if (module.side.functions.has(name)) return { module, name };
    const offset = module.side.symbols.get(name);
    if (offset !== undefined) return { address: module.at.memoryBase + offset };
  }
  return undefined;
}

/** The end of the last part of the table that a module has. */
function tableEnd(modules: readonly LinkedModule[], start: number): number {
  return modules.reduce((end, { at, side }) => Math.max(end, at.tableBase + side.facts.tableSize), start);
}
