/** Prints function bodies as text for the golden files. Supports only the immediates that occur there. */
import { EMPTY_BLOCK, HEADER, SECTION, VALUE_TYPE } from '../../packages/core/src/wasm/binary-format.ts';
import { Reader } from '../../packages/core/src/wasm/binary-io.ts';
import { isPrefix, opcodeOf, rowOf } from '../../packages/core/src/wasm/opcodes.ts';

const TYPES: Readonly<Record<number, string>> = {
  [EMPTY_BLOCK]: '',
  [VALUE_TYPE.i32]: ' i32',
  [VALUE_TYPE.i64]: ' i64',
};
const OPENING = new Set(['block', 'loop', 'if', 'try']);
const MIDDLE = new Set(['else', 'catch', 'catch_all']);

/** All function bodies of a module, in order. */
export function print(bytes: Uint8Array, importedFunctions = 0): string {
  const reader = new Reader(bytes, HEADER.length);
  while (!reader.done) {
    const id = reader.u8();
    const section = reader.part(reader.u32());
    if (id !== SECTION.code) continue;
    const lines: string[] = [];
    const count = section.u32();
    for (let i = 0; i < count; i++) {
      const last = i === count - 1 ? '   ;; asks the host for fuel through entry 0 of the host table' : '';
      lines.push(`function ${i + importedFunctions}${last}`, ...body(section.part(section.u32())), '');
    }
    return lines.join('\n');
  }
  return '';
}

function body(reader: Reader): string[] {
  const lines: string[] = [];
  for (let groups = reader.u32(); groups > 0; groups--) {
    lines.push(`  local ${reader.u32()} x${TYPES[reader.u8()]}`);
  }
  let depth = 1;
  while (!reader.done) {
    const first = reader.u8();
    const [, , name, immediate] = rowOf(isPrefix(first) ? opcodeOf(first, reader.u32()) : first)!;
    if (name === 'end' || name === 'delegate' || MIDDLE.has(name)) depth--;
    lines.push(`${'  '.repeat(depth)}${name}${operands(reader, immediate)}`);
    if (OPENING.has(name) || MIDDLE.has(name)) depth++;
  }
  return lines;
}

function operands(reader: Reader, immediate: string): string {
  const numbers = (count: number) => Array.from({ length: count }, () => ` ${reader.u32()}`).join('');
  switch (immediate) {
    case 'none':
      return '';
    case 'block':
      return TYPES[reader.u8()]!;
    case 'i32':
    case 'i64':
      return ` ${reader.s33()}`;
    case 'labels':
      return numbers(reader.u32() + 1);
    case 'memarg':
    case 'type_table':
    case 'memory2':
    case 'data_memory':
    case 'table2':
      return numbers(2);
    default:
      return numbers(1);
  }
}
