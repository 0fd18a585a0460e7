/**
 * Reads constant expressions: the initial values of globals, and the offsets of data and element segments.
 * Invariant: an opcode that is not allowed in a constant expression is an error.
 */
import { isValueType } from './binary-format.ts';
import { invalid, type Reader } from './binary-io.ts';
import { isPrefix, opcodeOf, opcodesNamed } from './opcodes.ts';

/** An i32 that is known at link time: `offset`, plus the value of the global with index `base` if there is one. */
export interface LinkConstant {
  readonly base: number | undefined;
  readonly offset: number;
}

/** The index spaces that an expression can refer to. */
interface ConstantContext {
  readonly globals: readonly unknown[];
  readonly space: { readonly functions: number };
  readonly addressTaken: Set<number>;
}

const OP = opcodesNamed(
  'end i32.const i64.const f32.const f64.const v128.const global.get i32.add ref.null ref.func',
);
/** Arithmetic that the extended constant expressions proposal allows. */
const ARITHMETIC: ReadonlySet<number> = new Set(
  Object.values(opcodesNamed('i32.add i32.sub i32.mul i64.add i64.sub i64.mul')),
);

/**
 * Skips a constant expression. Returns its value if it is an i32 constant, a global, or the sum of one of each;
 * otherwise undefined.
 */
export function readConstant(context: ConstantContext, section: Reader): LinkConstant | undefined {
  /** The operands so far; undefined for one that is not a LinkConstant. */
  const stack: (LinkConstant | undefined)[] = [];
  for (;;) {
    const at = section.pos;
    const first = section.u8();
    const opcode = isPrefix(first) ? opcodeOf(first, section.u32()) : first;
    if (opcode === OP.end) return stack.length === 1 ? stack[0] : undefined;
    if (opcode === OP['i32.const']) stack.push({ base: undefined, offset: section.s32() });
    else if (opcode === OP['global.get'])
      stack.push({ base: bounded(section, context.globals.length, 'global'), offset: 0 });
    else if (ARITHMETIC.has(opcode)) {
      const [right, left] = [stack.pop(), stack.pop()];
      stack.push(opcode === OP['i32.add'] ? sum(left, right) : undefined);
    } else {
      skipOperand(context, section, opcode, first, at);
      stack.push(undefined);
    }
  }
}

function sum(left: LinkConstant | undefined, right: LinkConstant | undefined): LinkConstant | undefined {
  if (left === undefined || right === undefined) return undefined;
  if (left.base !== undefined && right.base !== undefined) return undefined;
  return { base: left.base ?? right.base, offset: (left.offset + right.offset) | 0 };
}

function skipOperand(
  context: ConstantContext,
  section: Reader,
  opcode: number,
  first: number,
  at: number,
): void {
  if (opcode === OP['i64.const']) section.skipS64();
  else if (opcode === OP['f32.const']) section.skip(4);
  else if (opcode === OP['f64.const']) section.skip(8);
  else if (opcode === OP['v128.const']) section.skip(16);
  else if (opcode === OP['ref.null']) {
    const type = section.u8();
    if (!isValueType(type)) throw invalid(`value type 0x${type.toString(16)} is not supported`, at + 1);
  } else if (opcode === OP['ref.func']) {
    context.addressTaken.add(bounded(section, context.space.functions, 'function'));
  } else throw invalid(`opcode 0x${first.toString(16)} is not allowed in a constant expression`, at);
}

/** Reads an index that must be less than `limit`. */
export function bounded(section: Reader, limit: number, item: string): number {
  const at = section.pos;
  const value = section.u32();
  if (value >= limit) throw invalid(`${item} ${value} does not exist (count: ${limit})`, at);
  return value;
}
