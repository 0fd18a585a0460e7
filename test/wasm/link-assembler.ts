/** Assembles main modules and side modules for tests of dynamic linking, valid and invalid ones. */
import {
  EXTERNAL_KIND,
  FUNCTION_TYPE,
  HEADER,
  SECTION,
  VALUE_TYPE,
} from '../../packages/core/src/wasm/binary-format.ts';
import { Writer } from '../../packages/core/src/wasm/binary-io.ts';
import { assemble, type Code, type FunctionSource, opcode, type ValueType } from './assembler.ts';

type Kind = keyof typeof EXTERNAL_KIND;

export type ImportSource = readonly [module: string, name: string, item: ImportItem];
type ImportItem =
  | { readonly func: number }
  | { readonly tag: number }
  | { readonly global: ValueType; readonly mutable?: boolean }
  | { readonly table: number }
  | { readonly memory: number; readonly flags?: number };

export interface Dylink {
  readonly memory?: readonly [bytes: number, align: number];
  readonly table?: readonly [entries: number, align: number];
  readonly needed?: readonly string[];
  readonly runtimePaths?: readonly string[];
  readonly exports?: readonly (readonly [name: string, flags: number])[];
  readonly imports?: readonly (readonly [module: string, name: string, flags: number])[];
  /** Subsections with arbitrary numbers and contents. */
  readonly raw?: readonly (readonly [id: number, contents: readonly number[]])[];
}

export interface LinkSource {
  /** Absent for a main module. */
  readonly dylink?: Dylink;
  readonly types: readonly (readonly [params: readonly ValueType[], results: readonly ValueType[]])[];
  readonly imports?: readonly ImportSource[];
  readonly functions: readonly FunctionSource[];
  readonly tables?: readonly number[];
  readonly memoryPages?: number;
  readonly tags?: readonly number[];
  readonly globals?: readonly {
    readonly type?: ValueType;
    readonly mutable?: boolean;
    readonly init: readonly Code[];
  }[];
  /** Exports other than those of `functions`. */
  readonly exports?: readonly (readonly [name: string, kind: Kind, index: number])[];
  readonly start?: number;
  readonly elements?: readonly { readonly at: readonly Code[]; readonly functions: readonly number[] }[];
  /** A segment without `at` is passive. */
  readonly data?: readonly { readonly at?: readonly Code[]; readonly bytes: readonly number[] }[];
}

export function buildLinked(source: LinkSource): Uint8Array {
  const out = new Writer().bytes(Uint8Array.from(HEADER));
  if (source.dylink) out.section(SECTION.custom, dylinkSection(source.dylink));
  const section = <T>(
    id: number,
    items: readonly T[] | undefined,
    write: (to: Writer, item: T) => unknown,
  ) => {
    if (items !== undefined && items.length > 0) out.section(id, new Writer().vector(items, write).view());
  };
  const types = (to: Writer, list: readonly ValueType[]) =>
    to.vector(list, (_, type) => to.u8(VALUE_TYPE[type]));
  const constant = (to: Writer, code: readonly Code[]) => opcode(assemble(to, code), 'end');
  section(SECTION.type, source.types, (to, [params, results]) => {
    types(to.u8(FUNCTION_TYPE), params);
    types(to, results);
  });
  section(SECTION.import, source.imports, (to, [module, name, item]) =>
    importItem(to.name(module).name(name), item),
  );
  section(SECTION.function, source.functions, (to, { type }) => to.u32(type));
  section(SECTION.table, source.tables, (to, size) => to.u8(VALUE_TYPE.funcref).u8(0).u32(size));
  const { memoryPages } = source;
  section(SECTION.memory, memoryPages === undefined ? undefined : [memoryPages], (to, min) =>
    to.u8(0).u32(min),
  );
  section(SECTION.tag, source.tags, (to, type) => to.u8(0).u32(type));
  section(SECTION.global, source.globals, (to, { type = 'i32', mutable = false, init }) =>
    constant(to.u8(VALUE_TYPE[type]).u8(mutable ? 1 : 0), init),
  );
  const imported = (source.imports ?? []).filter(([, , item]) => 'func' in item).length;
  const exports = [
    ...source.functions.flatMap(({ export: name }, i) =>
      name === undefined ? [] : [[name, 'function', imported + i] as const],
    ),
    ...(source.exports ?? []),
  ];
  section(SECTION.export, exports, (to, [name, kind, index]) =>
    to.name(name).u8(EXTERNAL_KIND[kind]).u32(index),
  );
  if (source.start !== undefined) out.section(SECTION.start, new Writer().u32(source.start).view());
  section(SECTION.element, source.elements, (to, { at, functions }) =>
    constant(to.u8(0), at).vector(functions, (_, index) => to.u32(index)),
  );
  if (source.data) out.section(SECTION.dataCount, new Writer().u32(source.data.length).view());
  section(SECTION.code, source.functions, (to, { locals = [], code }) => {
    const body = new Writer().vector(locals, (into, type) => into.u8(1).u8(VALUE_TYPE[type]));
    if (code instanceof Uint8Array) body.bytes(code);
    else assemble(body, code);
    opcode(body, 'end');
    to.u32(body.length).bytes(body.view());
  });
  section(SECTION.data, source.data, (to, { at, bytes }) => {
    if (at === undefined) to.u8(1);
    else constant(to.u8(0), at);
    to.u32(bytes.length).bytes(Uint8Array.from(bytes));
  });
  return out.view().slice();
}

function importItem(to: Writer, item: ImportItem): Writer {
  if ('func' in item) return to.u8(EXTERNAL_KIND.function).u32(item.func);
  if ('tag' in item) return to.u8(EXTERNAL_KIND.tag).u8(0).u32(item.tag);
  if ('table' in item) return to.u8(EXTERNAL_KIND.table).u8(VALUE_TYPE.funcref).u8(0).u32(item.table);
  if ('memory' in item) {
    const flags = item.flags ?? 0;
    const limits = to.u8(EXTERNAL_KIND.memory).u8(flags).u32(item.memory);
    return flags & 1 ? limits.u32(item.memory) : limits;
  }
  return to
    .u8(EXTERNAL_KIND.global)
    .u8(VALUE_TYPE[item.global])
    .u8(item.mutable ? 1 : 0);
}

function dylinkSection(dylink: Dylink): Uint8Array {
  const out = new Writer().name('dylink.0');
  const names = (list: readonly string[]) => new Writer().vector(list, (to, name) => to.name(name)).view();
  const memory = new Writer();
  for (const value of [...(dylink.memory ?? [0, 0]), ...(dylink.table ?? [0, 0])]) memory.u32(value);
  const parts: [number, Uint8Array][] = [[1, memory.view()]];
  if (dylink.needed) parts.push([2, names(dylink.needed)]);
  if (dylink.exports)
    parts.push([
      3,
      new Writer().vector(dylink.exports, (to, [name, flags]) => to.name(name).u32(flags)).view(),
    ]);
  if (dylink.imports)
    parts.push([
      4,
      new Writer()
        .vector(dylink.imports, (to, [module, name, flags]) => to.name(module).name(name).u32(flags))
        .view(),
    ]);
  if (dylink.runtimePaths) parts.push([5, names(dylink.runtimePaths)]);
  for (const [id, contents] of dylink.raw ?? []) parts.push([id, Uint8Array.from(contents)]);
  for (const [id, contents] of parts) out.section(id, contents);
  return out.view();
}

/** The imports that side modules usually have. Global 0 is the memory base, 1 the table base, 2 the stack pointer. */
export const USUAL_IMPORTS: readonly ImportSource[] = [
  ['env', 'memory', { memory: 0 }],
  ['env', '__indirect_function_table', { table: 0 }],
  ['env', '__memory_base', { global: 'i32' }],
  ['env', '__table_base', { global: 'i32' }],
  ['env', '__stack_pointer', { global: 'i32', mutable: true }],
];
export const MEMORY_BASE: Code = ['global.get', 0];
export const TABLE_BASE: Code = ['global.get', 1];
