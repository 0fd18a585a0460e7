/**
 * A tiny assembler for tests: instruction trees to bytes, and module descriptions to modules.
 * Invariant: it knows nothing of the rewriter; only the byte writer is shared.
 */
import { Writer } from '../../src/wasm/binary-io.ts';
import { OPCODES } from '../../src/wasm/opcodes.ts';

export type BlockType = 'void' | 'i32';

/** A plain instruction with its immediates, or a structured one with its arms. */
export type Code =
  | readonly [name: string, ...immediates: number[]]
  | { readonly op: 'block' | 'loop'; readonly type: BlockType; readonly body: readonly Code[] }
  | { readonly op: 'if'; readonly yes: readonly Code[]; readonly no?: readonly Code[] }
  | {
      readonly op: 'try';
      readonly body: readonly Code[];
      /** Tag 0, and the code that finds its i32 on the stack. */
      readonly catch?: readonly Code[];
      readonly catchAll?: readonly Code[];
      readonly delegate?: number;
    }
  | { readonly op: 'br_table'; readonly targets: readonly number[] };

const opcodes = new Map(OPCODES.map((row) => [row[2], row]));

export function opcode(to: Writer, name: string): void {
  const row = opcodes.get(name);
  if (row === undefined) throw new Error(`no instruction is called ${name}`);
  if (row[0] !== 0) to.u8(row[0]).u32(row[1]);
  else to.u8(row[1]);
}

const TYPE = { void: 0x40, i32: 0x7f } as const;

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
  to.u8('type' in item ? TYPE[item.type] : TYPE.void);
  assemble(to, item.op === 'if' ? item.yes : item.body);
  if (item.op === 'if' && item.no) assemble(to.u8(0x05), item.no);
  if (item.op === 'try') {
    if (item.catch) assemble(to.u8(0x07).u32(0), item.catch);
    if (item.catchAll) assemble(to.u8(0x19), item.catchAll);
    if (item.delegate !== undefined) {
      to.u8(0x18).u32(item.delegate);
      return;
    }
  }
  to.u8(0x0b);
}

export type ValueType = 'i32' | 'i64' | 'f32' | 'f64' | 'v128' | 'funcref' | 'externref';
export const VALUE_TYPE: Readonly<Record<ValueType, number>> = {
  i32: 0x7f,
  i64: 0x7e,
  f32: 0x7d,
  f64: 0x7c,
  v128: 0x7b,
  funcref: 0x70,
  externref: 0x6f,
};

export interface FunctionSource {
  readonly type: number;
  readonly locals?: readonly ValueType[];
  readonly code: readonly Code[] | Uint8Array;
  readonly export?: string;
}

export interface ModuleSource {
  readonly types: readonly (readonly [params: readonly ValueType[], results: readonly ValueType[]])[];
  /** Imported functions, from module "env". */
  readonly imports?: readonly (readonly [name: string, type: number])[];
  readonly functions: readonly FunctionSource[];
  /** Sizes of funcref tables. */
  readonly tables?: readonly number[];
  readonly memoryPages?: number;
  /** Types of tags. */
  readonly tags?: readonly number[];
  /** Mutable i32 globals. */
  readonly globals?: readonly number[];
  /** Function indices for table 0 from slot 0 on. */
  readonly elements?: readonly number[];
  /** With an offset active, without one passive. */
  readonly data?: readonly { readonly offset?: number; readonly bytes: readonly number[] }[];
  readonly start?: number;
}

export function build(source: ModuleSource): Uint8Array {
  const out = new Writer();
  for (const byte of [0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0]) out.u8(byte);
  const section = <T>(id: number, items: readonly T[] | undefined, write: (to: Writer, item: T) => void) => {
    if (items === undefined || items.length === 0) return;
    const contents = new Writer().u32(items.length);
    for (const item of items) write(contents, item);
    out.u8(id).u32(contents.length).bytes(contents.view());
  };
  const types = (to: Writer, list: readonly ValueType[]) => {
    to.u32(list.length);
    for (const type of list) to.u8(VALUE_TYPE[type]);
  };
  section(1, source.types, (to, [params, results]) => {
    types(to.u8(0x60), params);
    types(to, results);
  });
  section(2, source.imports, (to, [name, type]) => to.name('env').name(name).u8(0).u32(type));
  section(3, source.functions, (to, item) => to.u32(item.type));
  section(4, source.tables, (to, size) => to.u8(0x70).u8(0).u32(size));
  const pages = source.memoryPages;
  section(5, pages === undefined ? undefined : [pages], (to, min) => to.u8(0).u32(min));
  section(13, source.tags, (to, type) => to.u8(0).u32(type));
  section(6, source.globals, (to, value) => to.u8(0x7f).u8(1).u8(0x41).signed(value).u8(0x0b));
  const imported = source.imports?.length ?? 0;
  const exported = source.functions.flatMap((item, i) =>
    item.export ? [[item.export, i + imported] as const] : [],
  );
  section(7, exported, (to, [name, index]) => to.name(name).u8(0).u32(index));
  if (source.start !== undefined) out.u8(8).u8(1).u32(source.start);
  section(9, source.elements && [source.elements], (to, items) => {
    to.u8(0).u8(0x41).u8(0).u8(0x0b).u32(items.length);
    for (const index of items) to.u32(index);
  });
  if (source.data) out.u8(12).u8(1).u32(source.data.length);
  section(10, source.functions, (to, item) => {
    const body = new Writer().u32(item.locals?.length ?? 0);
    for (const type of item.locals ?? []) body.u8(1).u8(VALUE_TYPE[type]);
    if (item.code instanceof Uint8Array) body.bytes(item.code);
    else assemble(body, item.code);
    body.u8(0x0b);
    to.u32(body.length).bytes(body.view());
  });
  section(11, source.data, (to, { offset, bytes }) => {
    if (offset === undefined) to.u8(1);
    else to.u8(0).u8(0x41).signed(offset).u8(0x0b);
    to.u32(bytes.length).bytes(Uint8Array.from(bytes));
  });
  return out.view().slice();
}
