/**
 * The link state of a guest: which side modules are loaded and where. It is plain data and part of images and deltas, which
 * may be forged: the schema bounds every number and list, and the linker checks what depends on the modules.
 */
import { z } from 'zod';

/** Modules that a guest can load. */
export const MAX_SIDE_MODULES = 512;
/** Entries that the function table can have. */
export const MAX_TABLE_ENTRIES = 262_144;
/** Handles of dlopen that a guest can hold. */
export const MAX_HANDLES = 4096;
/** Functions outside of the parts of the table that modules get, to which a pointer exists. */
export const MAX_SLOTS = 65_536;
/** Imported and own mutable globals of a module. */
const MAX_GLOBALS = 50_000;

const address = z.number().int().min(0).max(0xffff_ffff);
const tableIndex = z.number().int().min(0).max(MAX_TABLE_ENTRIES);
const moduleIndex = z.number().int().min(0).max(MAX_SIDE_MODULES);
const int32 = z
  .number()
  .int()
  .min(-(2 ** 31))
  .max(2 ** 31 - 1);

export const linkState = z.strictObject({
  /** Number of table entries in use. */
  table_end: tableIndex,
  /** In the order in which they were loaded. */
  modules: z
    .array(
      z.strictObject({
        sha256: z.string().regex(/^[0-9a-f]{64}$/),
        /** Canonical path of the stub, which identifies the module within a guest. */
        path: z.string().max(4096),
        memory_base: address,
        table_base: tableIndex,
        /** Modules in which its symbols are searched, after the main module. */
        scope: z.array(moduleIndex).max(MAX_SIDE_MODULES),
        /** Modules that it requires. */
        needed: z.array(moduleIndex).max(MAX_SIDE_MODULES),
        /** Whether modules that are loaded later can use its symbols. */
        global: z.boolean(),
        /** Addresses that dlopen returned for it. */
        handles: z.array(address).max(MAX_HANDLES),
        /** Values of its global offset table and of its own mutable globals. */
        globals: z.array(int32).max(MAX_GLOBALS),
      }),
    )
    .min(1)
    .max(MAX_SIDE_MODULES),
  /** Table entries that were assigned to functions without one. Module -1 is the main module. */
  slots: z
    .array(
      z.strictObject({
        slot: tableIndex,
        module: z.number().int().min(-1).max(MAX_SIDE_MODULES),
        name: z.string().max(65_536),
      }),
    )
    .max(MAX_SLOTS),
});

export type LinkState = z.infer<typeof linkState>;
export type LinkedModuleState = LinkState['modules'][number];
