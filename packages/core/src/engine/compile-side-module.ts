/** Prepared side modules as the linker uses them, and the symbols of main modules. */
import {
  SIDE_DATA_SECTION,
  SIDE_FACTS_SECTION,
  type SideModuleFacts,
  SYMBOLS_SECTION,
  type SymbolTable,
} from '../wasm/sandbox-sections.ts';

/** A compiled side module. It can be instantiated in any number of guests. */
export interface SideModule {
  /** SHA-256 of the original module, which its stub contains. */
  readonly sha256: string;
  readonly module: WebAssembly.Module;
  readonly facts: SideModuleFacts;
  /** The contents of its data segments, concatenated. */
  readonly data: Uint8Array;
  /** Position in the module's part of the function table, or -1, by name of the exported function. */
  readonly functions: ReadonlyMap<string, number>;
  /** Offset from the memory base by name of the data symbol. */
  readonly symbols: ReadonlyMap<string, number>;
}

/** Finds a module that the host has installed, by SHA-256. */
export type FindSideModule = (sha256: string) => SideModule | undefined;

/** Compiles a module that `prepareSideModule` wrote, unless the caller has compiled it. Throws CompileError. */
export function compileSideModule(
  sha256: string,
  prepared: Uint8Array,
  module = new WebAssembly.Module(prepared as BufferSource),
): SideModule {
  const section = (name: string) => WebAssembly.Module.customSections(module, name)[0] ?? new ArrayBuffer(0);
  const facts = JSON.parse(new TextDecoder().decode(section(SIDE_FACTS_SECTION))) as SideModuleFacts;
  return {
    sha256,
    module,
    facts,
    data: new Uint8Array(section(SIDE_DATA_SECTION)),
    functions: new Map(facts.exportedFunctions),
    symbols: new Map(facts.exportedData),
  };
}

/** The symbols of a main module. */
export interface MainSymbols {
  /** By name: index in the table of exported functions, and address or 0. */
  readonly functions: ReadonlyMap<string, { readonly index: number; readonly slot: number }>;
  /** Addresses by name. */
  readonly data: ReadonlyMap<string, number>;
}

const symbolsOfModule = new WeakMap<WebAssembly.Module, MainSymbols>();

/** The symbols of a prepared main module, read once per module; none if it is not linkable. */
export function mainSymbols(module: WebAssembly.Module): MainSymbols {
  let symbols = symbolsOfModule.get(module);
  if (symbols === undefined) {
    const [section] = WebAssembly.Module.customSections(module, SYMBOLS_SECTION);
    const table: SymbolTable =
      section === undefined
        ? { functions: [], data: [] }
        : (JSON.parse(new TextDecoder().decode(section)) as SymbolTable);
    symbols = {
      functions: new Map(table.functions.map(([name, slot], index) => [name, { index, slot }])),
      data: new Map(table.data),
    };
    symbolsOfModule.set(module, symbols);
  }
  return symbols;
}
