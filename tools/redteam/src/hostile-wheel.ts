/** Builds wheels with libraries that attack the linker or the compiler. The wheels themselves are intact. */
import { createHash } from 'node:crypto';
import {
  EXTERNAL_KIND,
  FUNCTION_TYPE,
  HEADER,
  SECTION,
  TYPE_LETTERS,
  VALUE_TYPE,
  Writer,
} from '@llm-wasm-sandbox/core/internal';
import { type ZipMember, zipBytes } from './hostile-zip.ts';

const BYTE_OF = new Map(Object.entries(TYPE_LETTERS).map(([byte, letter]) => [letter, Number(byte)]));

/** A library with one function. */
export interface HostileLibrary {
  /** Types in the notation of parse-module.ts. The first is that of the function. */
  readonly types?: readonly string[];
  /** An import `module.name` of the second type. */
  readonly imports?: string;
  readonly exportedAs?: string;
  readonly locals?: number;
  /** Writes the code, without the `end`. */
  readonly code?: (to: Writer) => unknown;
  /** Number of functions, all with the same code. */
  readonly functions?: number;
}

export function hostileLibrary({
  types = ['>'],
  imports,
  exportedAs = 'PyInit_attack',
  locals = 0,
  code = () => {},
  functions = 1,
}: HostileLibrary): Uint8Array {
  const out = new Writer(65_536).bytes(Uint8Array.from(HEADER));
  // Subsection 1: no memory and no table entries.
  const dylink = new Writer().name('dylink.0').u8(1).u8(4).u8(0).u8(0).u8(0).u8(0);
  out.section(SECTION.custom, dylink.view());
  const letters = (to: Writer, text: string) => to.vector([...text], (_, one) => to.u8(BYTE_OF.get(one)!));
  const section = <T>(id: number, items: readonly T[], write: (to: Writer, item: T) => unknown) =>
    out.section(id, new Writer().vector(items, write).view());
  section(SECTION.type, types, (to, type) => {
    const [from, into] = type.split('>');
    letters(letters(to.u8(FUNCTION_TYPE), from!), into!);
  });
  const [module, name] = imports?.split('.') ?? [];
  const env = (to: Writer, item: string) => to.name('env').name(item);
  section(SECTION.import, ['table', 'memory', ...(imports === undefined ? [] : ['function'])], (to, item) => {
    if (item === 'table')
      env(to, '__indirect_function_table').u8(EXTERNAL_KIND.table).u8(VALUE_TYPE.funcref).u8(0).u8(0);
    else if (item === 'memory') env(to, 'memory').u8(EXTERNAL_KIND.memory).u8(0).u8(0);
    else to.name(module!).name(name!).u8(EXTERNAL_KIND.function).u32(1);
  });
  const own = Array.from({ length: functions }, () => 0);
  section(SECTION.function, own, (to, type) => to.u32(type));
  const index = imports === undefined ? 0 : 1;
  section(SECTION.export, [exportedAs], (to, item) => to.name(item).u8(EXTERNAL_KIND.function).u32(index));
  const body = new Writer(65_536).vector(locals > 0 ? [locals] : [], (to, count) =>
    to.u32(count).u8(VALUE_TYPE.i32),
  );
  code(body);
  body.u8(0x0b);
  section(SECTION.code, own, (to) => to.u32(body.length).bytes(body.view()));
  return out.view().slice();
}

/** A wheel whose RECORD matches its files. */
export function hostileWheel(files: readonly ZipMember[]): Uint8Array {
  const record = files.map(({ name, data }) => {
    const digest = createHash('sha256').update(data).digest('base64url');
    return `${name},sha256=${digest},${data.length}\n`;
  });
  const info = 'attack-1.0.dist-info/RECORD';
  return zipBytes([...files, { name: info, data: `${record.join('')}${info},,\n` }]);
}
