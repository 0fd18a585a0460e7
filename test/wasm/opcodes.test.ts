/** Every instruction in the opcode table is either preserved by prepareModule or rejected by name. */
import { setFlagsFromString } from 'node:v8';
import { describe, expect, it } from 'vitest';
import { SandboxError } from '../../packages/core/src/errors.ts';
import { Writer } from '../../packages/core/src/wasm/binary-io.ts';
import { OPCODES, type OpcodeRow } from '../../packages/core/src/wasm/opcodes.ts';
import { build, type ModuleSource, opcode } from './assembler.ts';
import { prepareModule } from './run-module.ts';

// Tail calls are behind a flag in Node 20.
setFlagsFromString('--experimental-wasm-return-call');

/** Sample bytes for each kind of immediate. */
const IMMEDIATES: Readonly<Record<string, readonly number[]>> = {
  none: [],
  block: [0x40],
  label: [0],
  labels: [0, 0],
  catches: [0x40, 1, 2, 0],
  func: [0],
  type_table: [0, 0],
  tag: [0],
  types: [1, 0x7f],
  heap: [0x70],
  local: [0],
  global: [0],
  table: [0],
  table2: [0, 0],
  elem: [0],
  elem_table: [0, 0],
  data: [0],
  data_memory: [0, 0],
  memory: [0],
  memory2: [0, 0],
  memarg: [0, 0],
  memarg_lane: [0, 0, 0],
  lane: [0],
  i32: [0],
  i64: [0],
  bytes4: [0, 0, 0, 0],
  bytes8: new Array(8).fill(0),
  bytes16: new Array(16).fill(0),
  refused: [],
};

/** Code before and after instructions that are not valid on their own. */
const FRAMES: Readonly<Record<string, readonly [before: readonly number[], after: readonly number[]]>> = {
  else: [[0x41, 0, 0x04, 0x40], [0x0b]],
  end: [[0x02, 0x40], []],
  if: [[0x41, 0], [0x0b]],
  block: [[], [0x0b]],
  loop: [[], [0x0b]],
  try: [[], [0x19, 0x0b]],
  catch: [[0x06, 0x40], [0x0b]],
  catch_all: [[0x06, 0x40], [0x0b]],
  rethrow: [[0x06, 0x40, 0x19], [0x0b]],
  delegate: [[0x06, 0x40], []],
  try_table: [[], [0x0b]],
};

/** Atomic accesses require natural alignment; other accesses allow any. */
function immediateBytes(row: OpcodeRow): readonly number[] {
  const bytes = IMMEDIATES[row[3]]!;
  if (row[0] !== 0xfe || row[3] !== 'memarg') return bytes;
  const name = row[2];
  if (name === 'memory.atomic.notify' || name === 'memory.atomic.wait32') return [2, 0];
  if (name === 'memory.atomic.wait64') return [3, 0];
  const width = Number(/(?:load|store|rmw)(8|16|32)?/.exec(name)?.[1] ?? name.slice(1, 3));
  return [Math.log2(width / 8), 0];
}

/** If not `live`, the instruction follows `unreachable`, where it type-checks with any operands. */
function sample(row: OpcodeRow, live: boolean): ModuleSource {
  const [before, after] = FRAMES[row[2]] ?? [[], []];
  const code = new Writer();
  if (!live) code.u8(0x00);
  code.bytes(Uint8Array.from(before));
  opcode(code, row[2]);
  code.bytes(Uint8Array.from(immediateBytes(row))).bytes(Uint8Array.from(after));
  code.u8(0x00);
  return {
    types: [[[], []]],
    functions: [{ type: 0, locals: ['i32'], code: code.view().slice(), export: 'run' }],
    tables: [1],
    memoryPages: 1,
    tags: [0],
    globals: [0],
    elements: [0],
    data: [{ bytes: [] }],
  };
}

const accepted = OPCODES.filter((row) => row[3] !== 'refused');
const refused = OPCODES.filter((row) => row[3] === 'refused' && row[2] !== 'gc');
/** Not supported by the engine of Node 20. */
const UNKNOWN_TO_ENGINE = new Set(['throw_ref', 'try_table']);

describe('opcode table', () => {
  it('has one row for each opcode', () => {
    expect(new Set(OPCODES.map((row) => `${row[0]} ${row[1]}`)).size).toBe(OPCODES.length);
    expect(new Set(OPCODES.map((row) => row[2])).size).toBe(OPCODES.length);
  });

  it.each(accepted.map((row) => [row[2], row] as const))('allows %s', (name, row) => {
    const original = build(sample(row, false));
    const { bytes } = prepareModule(original, { exports: ['run'] });
    if (UNKNOWN_TO_ENGINE.has(name)) return;
    expect(WebAssembly.validate(original as BufferSource)).toBe(true);
    expect(WebAssembly.validate(bytes as BufferSource)).toBe(true);
  });

  it.each(accepted.map((row) => [row[2], row] as const))('copies %s in live code', (_, row) => {
    // The code does not type-check, which is left to the engine. This test checks only that the bytes are copied.
    const { bytes } = prepareModule(build(sample(row, true)), { exports: ['run'] });
    const wanted = new Writer();
    opcode(wanted, row[2]);
    expect(Buffer.from(bytes).includes(Buffer.from(wanted.view()))).toBe(true);
  });

  it.each(refused.map((row) => [row[2], row] as const))('rejects %s by name', (name, row) => {
    const attempt = () => prepareModule(build(sample(row, true)), { exports: ['run'] });
    expect(attempt).toThrow(SandboxError);
    expect(attempt).toThrow(name);
  });

  it.each([
    ['the GC prefix', [0xfb, 0x00], 'garbage collection'],
    ['an unassigned opcode', [0x27], 'unknown opcode 0x27'],
    ['an unassigned prefixed opcode', [0xfc, 0x63], 'unknown opcode 0xfc 0x63'],
    ['a memory index other than 0', [0x28, 0x42, 0x01, 0x00], 'multi-memory'],
    ['the index of the added global', [0x23, 0x01], 'global 1 does not exist'],
    ['the index of the added local', [0x20, 0x01], 'local 1 does not exist'],
    ['the index of the added function', [0x10, 0x01], 'function 1 does not exist'],
    ['the index of the host table', [0x11, 0x00, 0x01], 'table 1 does not exist'],
  ])('rejects %s', (_, code, message) => {
    const source = sample(OPCODES[0]!, true);
    const functions = [{ ...source.functions[0]!, code: Uint8Array.from(code) }];
    expect(() => prepareModule(build({ ...source, functions }), { exports: ['run'] })).toThrow(message);
  });
});
