/**
 * A small assembler for tests: it turns instruction trees into bytes and module descriptions into modules.
 * Invariant: it shares only the byte writer and the format tables with packages/core/src/wasm, not the parser or the metering code.
 */
import {
  EMPTY_BLOCK,
  EXTERNAL_KIND,
  FUNCTION_TYPE,
  HEADER,
  SECTION,
  VALUE_TYPE,
} from '../../packages/core/src/wasm/binary-format.ts';
import { Writer } from '../../packages/core/src/wasm/binary-io.ts';
import { OPCODES } from '../../packages/core/src/wasm/opcodes.ts';

export type BlockType = 'void' | 'i32';

/** A plain instruction with its immediates, or a structured instruction with its arms. */
export type Code =
  | readonly [name: string, ...immediates: number[]]
  | { readonly op: 'block' | 'loop'; readonly type: BlockType; readonly body: readonly Code[] }
  | { readonly op: 'if'; readonly yes: readonly Code[]; readonly no?: readonly Code[] }
  | {
      readonly op: 'try';
      readonly body: readonly Code[];
      /** Handler for tag 0. It starts with the i32 of the exception on the stack. */
      readonly catch?: readonly Code[];
      /** Tag of `catch`; by default 0. */
      readonly tag?: number;
      readonly catchAll?: readonly Code[];
      readonly delegate?: number;
    }
  | { readonly op: 'br_table'; readonly targets: readonly number[] };

const rows = new Map(OPCODES.map((row) => [row[2], row]));

export function opcode(to: Writer, name: string): Writer {
  const row = rows.get(name);
  if (row === undefined) throw new Error(`unknown instruction name: ${name}`);
  const [prefix, code] = row;
  return prefix === 0 ? to.u8(code) : to.u8(prefix).u32(code);
}

const BLOCK_TYPE: Readonly<Record<BlockType, number>> = { void: EMPTY_BLOCK, i32: VALUE_TYPE.i32 };

export function assemble(to: Writer, code: readonly Code[]): Writer {
  for (const item of code) {
    if ('op' in item) structured(to, item);
    else {
      const [name, ...immediates] = item;
      opcode(to, name);
      const signed = name === 'i32.const' || name === 'i64.const';
      for (const value of immediates) signed ? to.signed(value) : to.u32(value);
    }
  }
  return to;
}

function structured(to: Writer, item: Exclude<Code, readonly unknown[]>): void {
  opcode(to, item.op);
  if (item.op === 'br_table') {
    to.u32(item.targets.length - 1);
    for (const depth of item.targets) to.u32(depth);
    return;
  }
  to.u8(BLOCK_TYPE['type' in item ? item.type : 'void']);
  assemble(to, item.op === 'if' ? item.yes : item.body);
  if (item.op === 'if' && item.no) assemble(opcode(to, 'else'), item.no);
  if (item.op === 'try') {
    if (item.catch) assemble(opcode(to, 'catch').u32(item.tag ?? 0), item.catch);
    if (item.catchAll) assemble(opcode(to, 'catch_all'), item.catchAll);
    if (item.delegate !== undefined) {
      opcode(to, 'delegate').u32(item.delegate);
      return;
    }
  }
  opcode(to, 'end');
}

export type ValueType = keyof typeof VALUE_TYPE;

export interface FunctionSource {
  readonly type: number;
  readonly locals?: readonly ValueType[];
  readonly code: readonly Code[] | Uint8Array;
  readonly export?: string;
}

export interface ModuleSource {
  readonly types: readonly (readonly [params: readonly ValueType[], results: readonly ValueType[]])[];
  /** Functions imported from module "env". */
  readonly imports?: readonly (readonly [name: string, type: number])[];
  readonly functions: readonly FunctionSource[];
  /** Sizes of funcref tables. */
  readonly tables?: readonly number[];
  readonly memoryPages?: number;
  /** Type index of each tag. */
  readonly tags?: readonly number[];
  /** Initial values of mutable i32 globals. */
  readonly globals?: readonly number[];
  /** Name under which global 0 is exported. */
  readonly exportedGlobal?: string;
  /** Function indices for table 0, from its first entry on. */
  readonly elements?: readonly number[];
  /** A segment with an offset is active, one without is passive. */
  readonly data?: readonly { readonly offset?: number; readonly bytes: readonly number[] }[];
  readonly start?: number;
}

export function build(source: ModuleSource): Uint8Array {
  const out = new Writer().bytes(Uint8Array.from(HEADER));
  const section = <T>(
    id: number,
    items: readonly T[] | undefined,
    write: (to: Writer, item: T) => unknown,
  ) => {
    if (items === undefined || items.length === 0) return;
    out.section(id, new Writer().vector(items, write).view());
  };
  const types = (to: Writer, list: readonly ValueType[]) =>
    to.vector(list, (_, type) => to.u8(VALUE_TYPE[type]));
  const i32Constant = (to: Writer, value: number) => opcode(opcode(to, 'i32.const').signed(value), 'end');
  section(SECTION.type, source.types, (to, [params, results]) => {
    types(to.u8(FUNCTION_TYPE), params);
    types(to, results);
  });
  section(SECTION.import, source.imports, (to, [name, type]) =>
    to.name('env').name(name).u8(EXTERNAL_KIND.function).u32(type),
  );
  section(SECTION.function, source.functions, (to, item) => to.u32(item.type));
  section(SECTION.table, source.tables, (to, size) => to.u8(VALUE_TYPE.funcref).u8(0).u32(size));
  const pages = source.memoryPages;
  section(SECTION.memory, pages === undefined ? undefined : [pages], (to, min) => to.u8(0).u32(min));
  section(SECTION.tag, source.tags, (to, type) => to.u8(0).u32(type));
  section(SECTION.global, source.globals, (to, value) => i32Constant(to.u8(VALUE_TYPE.i32).u8(1), value));
  const imported = source.imports?.length ?? 0;
  const exported = source.functions.flatMap((item, i) =>
    item.export ? [[item.export, i + imported] as const] : [],
  );
  const exports = [
    ...exported.map(([name, index]) => [name, EXTERNAL_KIND.function, index] as const),
    ...(source.exportedGlobal ? [[source.exportedGlobal, EXTERNAL_KIND.global, 0] as const] : []),
  ];
  section(SECTION.export, exports, (to, [name, kind, index]) => to.name(name).u8(kind).u32(index));
  if (source.start !== undefined) out.section(SECTION.start, new Writer().u32(source.start).view());
  section(SECTION.element, source.elements && [source.elements], (to, items) =>
    i32Constant(to.u8(0), 0).vector(items, (_, index) => to.u32(index)),
  );
  if (source.data) out.section(SECTION.dataCount, new Writer().u32(source.data.length).view());
  section(SECTION.code, source.functions, (to, item) => {
    const body = new Writer().u32(item.locals?.length ?? 0);
    for (const type of item.locals ?? []) body.u8(1).u8(VALUE_TYPE[type]);
    if (item.code instanceof Uint8Array) body.bytes(item.code);
    else assemble(body, item.code);
    opcode(body, 'end');
    to.u32(body.length).bytes(body.view());
  });
  section(SECTION.data, source.data, (to, { offset, bytes }) => {
    if (offset === undefined) to.u8(1);
    else i32Constant(to.u8(0), offset);
    to.u32(bytes.length).bytes(Uint8Array.from(bytes));
  });
  return out.view().slice();
}
