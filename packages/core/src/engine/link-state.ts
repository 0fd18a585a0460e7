/**
 * The link state of a guest: which side modules are loaded and where. It is plain data and part of images and deltas, which
 * may be forged: the check bounds every number and list, and the linker checks what depends on the modules.
 */
import { boolean, integer, list, type Matched, object, text } from '../framing/json-checks.ts';

/** Modules that a guest can load. */
export const MAX_SIDE_MODULES = 512;
/** Entries that the function table can have. */
export const MAX_TABLE_ENTRIES = 262_144;
/** Handles of dlopen that a guest can hold. */
export const MAX_HANDLES = 4096;
/** Functions whose address is taken but which have no entry in the part of the table that their module has. */
export const MAX_SLOTS = 65_536;
/** Imports and own globals of all modules of a guest. Each takes up to 300 bytes of the host. All known libraries together have 75,000. */
export const MAX_LINKED_SYMBOLS = 300_000;
/** Imported and own mutable globals of a module. */
const MAX_GLOBALS = 50_000;

const address = integer(0, 0xffff_ffff);
const tableIndex = integer(0, MAX_TABLE_ENTRIES);
const moduleIndex = integer(0, MAX_SIDE_MODULES);
const int32 = integer(-(2 ** 31), 2 ** 31 - 1);

const linkedModule = object({
  sha256: text(64, /^[0-9a-f]{64}$/),
  /** Canonical path of the stub, which identifies the module within a guest. */
  path: text(4096),
  memory_base: address,
  table_base: tableIndex,
  /** Modules in which its symbols are looked up, after the main module. */
  scope: list(moduleIndex, MAX_SIDE_MODULES),
  /** Modules that it requires. */
  needed: list(moduleIndex, MAX_SIDE_MODULES),
  /** Whether modules that are loaded later can use its symbols. */
  global: boolean,
  /** Addresses that dlopen returned for it. */
  handles: list(address, MAX_HANDLES),
  /** Values of its global offset table and of its own mutable globals. */
  globals: list(int32, MAX_GLOBALS),
});

export const linkState = object({
  /** Number of table entries in use. */
  table_end: tableIndex,
  /** In the order in which they were loaded. */
  modules: list(linkedModule, MAX_SIDE_MODULES, 1),
  /** Table entries that were assigned to functions without one. Module -1 is the main module. */
  slots: list(
    object({ slot: tableIndex, module: integer(-1, MAX_SIDE_MODULES), name: text(65_536) }),
    MAX_SLOTS,
  ),
});

export type LinkState = Matched<typeof linkState>;
export type LinkedModuleState = LinkState['modules'][number];
