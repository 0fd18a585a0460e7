/**
 * The symbols of a main module that side modules can use. Functions are reached through a table that holds every exported
 * function: thousands of exports would make instantiation several times slower, but a table entry becomes a function object
 * only when it is read.
 */
import { EXTERNAL_KIND, VALUE_TYPE } from './binary-format.ts';
import type { Writer } from './binary-io.ts';
import { opcodesNamed } from './opcodes.ts';
import type { ElementSegment, ParsedModule } from './parse-module.ts';
import type { SymbolTable } from './sandbox-sections.ts';

interface ModuleSymbols {
  readonly table: SymbolTable;
  /** The exported functions, in the order of `table.functions`. */
  readonly indices: readonly number[];
}

const OP = opcodesNamed('end i32.const');

/** The first index in table 0 at which the active segments place each function, relative to the base of their offset. */
export function slotsOf(elements: readonly ElementSegment[]): ReadonlyMap<number, number> {
  const slots = new Map<number, number>();
  for (const { isActive, table, offset, functions } of elements) {
    if (!isActive || table !== 0 || offset === undefined) continue;
    functions?.forEach((index, i) => {
      if (!slots.has(index)) slots.set(index, offset.offset + i);
    });
  }
  return slots;
}

export function findSymbols(module: ParsedModule): ModuleSymbols {
  const slots = slotsOf(module.elements);
  const functions: [string, number][] = [];
  const data: [string, number][] = [];
  const indices: number[] = [];
  for (const { name, kind, index } of module.exports) {
    if (kind === EXTERNAL_KIND.function) {
      functions.push([name, slots.get(index) ?? 0]);
      indices.push(index);
    } else if (kind === EXTERNAL_KIND.global) {
      const { mutable, init } = module.globals[index]!;
      if (!mutable && init !== undefined && init.base === undefined) data.push([name, init.offset >>> 0]);
    }
  }
  return { table: { functions, data }, indices };
}

type EntryWriter = (to: Writer) => unknown;

/** The table of exported functions with index `table`, and the segment that fills it; neither without symbols. */
export function functionTable(
  symbols: ModuleSymbols | undefined,
  table: number,
): { table: readonly EntryWriter[]; elements: readonly EntryWriter[] } {
  if (symbols === undefined) return { table: [], elements: [] };
  const { indices } = symbols;
  return {
    table: [(to) => to.u8(VALUE_TYPE.funcref).u8(1).u32(indices.length).u32(indices.length)],
    elements: [
      // An active segment of functions with an explicit table.
      (to) =>
        to
          .u32(2)
          .u32(table)
          .u8(OP['i32.const'])
          .u8(0)
          .u8(OP.end)
          .u8(0)
          .vector(indices, (into, index) => into.u32(index)),
    ],
  };
}
