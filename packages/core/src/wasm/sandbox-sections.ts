/** Names and contents of the custom sections in which prepared modules carry what the linker has to know. */

import { SECTION } from './binary-format.ts';
import { Writer } from './binary-io.ts';
import type { DylinkInfo } from './dylink-section.ts';

/** Name of the custom section that holds a SymbolTable as JSON. */
export const SYMBOLS_SECTION = 'sandbox.symbols';

export interface SymbolTable {
  /**
   * Name of each exported function and its index in table 0, which is its address; 0 if it has none. The position in the list
   * is the index in the table exported as "functions".
   */
  readonly functions: readonly (readonly [name: string, slot: number])[];
  /** Address of each exported data symbol. */
  readonly data: readonly (readonly [name: string, address: number])[];
}

/** Module name of the imports that are added. */
export const ADDED_IMPORTS = 'sandbox';
/** Name under which the start function is exported. */
export const START_EXPORT = 'sandbox:start';
/** Exported functions that initialise a side module, in the order in which they are called. */
export const INITIALISERS = [START_EXPORT, '__wasm_apply_data_relocs', '__wasm_call_ctors'] as const;
/** Names of the custom sections: SideModuleFacts as JSON, and the contents of the data segments. */
export const SIDE_FACTS_SECTION = 'sandbox.side';
export const SIDE_DATA_SECTION = 'sandbox.data';
/** Version of what `prepareSideModule` writes. Prepared modules are cached by it. */
export const SIDE_FORMAT = '6';

/** A global of a side module, which the linker creates. */
export interface SideGlobal {
  readonly mutable: boolean;
  /** What the initial value is relative to. */
  readonly base: 'none' | 'memory' | 'table';
  readonly offset: number;
}

/** What the linker has to know about a prepared side module. */
export interface SideModuleFacts extends Omit<DylinkInfo, 'weak'> {
  readonly weak: readonly string[];
  readonly functions: readonly (readonly [module: string, name: string])[];
  /** Functions imported from "env" that are never called: the module calls its own instead. */
  readonly bound: readonly string[];
  readonly tags: readonly string[];
  readonly gotMem: readonly string[];
  readonly gotFunc: readonly string[];
  /** Imported as "global:<position>" from ADDED_IMPORTS. */
  readonly globals: readonly SideGlobal[];
  /** Exported functions and their position in the part of the table that the module gets; -1 if they have none. */
  readonly exportedFunctions: readonly (readonly [name: string, slot: number])[];
  /** Exported data symbols, relative to the memory base. */
  readonly exportedData: readonly (readonly [name: string, offset: number])[];
  readonly hasStart: boolean;
  /** The parts of the data section, in order. */
  readonly data: readonly (readonly [offset: number, bytes: number])[];
}

export function writeJsonSection(to: Writer, name: string, value: unknown): void {
  writeCustomSection(to, name, new TextEncoder().encode(JSON.stringify(value)));
}

export function writeCustomSection(to: Writer, name: string, contents: Uint8Array): void {
  to.section(SECTION.custom, new Writer(contents.length + 64).name(name).bytes(contents).view());
}
