/**
 * Emits the instructions that move and change the fuel counter of one function.
 *
 * The counter lives in a global. Within a function it can also be in a local. `inLocal` and `inGlobal` say which of
 * them holds the current value at the current position in the output.
 * Invariant: at least one of them does. Emitted code leaves the operand stack unchanged, so it can be placed between any two
 * instructions. Only `emitIsNegative` pushes its result, and the pages of a refused memory.grow become too many.
 */

import { EMPTY_BLOCK } from './binary-format.ts';
import type { Writer } from './binary-io.ts';
import { opcodesNamed, WEIGHTS, weightOf } from './opcodes.ts';
import { type StackBound, writeFreeStack } from './shadow-stack-frames.ts';

const OP = opcodesNamed(
  'if end call local.get local.set local.tee global.get global.set i64.const i64.lt_s i64.sub i64.or',
  'i64.shl i64.shr_u i64.extend_i32_s i64.extend_i32_u',
);

export class FuelCodeEmitter {
  inLocal = false;
  inGlobal = true;
  /** Whether the function has a local for the counter. */
  hasLocal = false;
  private out!: Writer;
  private fuelLocal = 0;
  private lengthLocal = 0;
  private readonly fuelGlobal: number;
  private readonly refillFunction: number;
  private readonly admitFunction: number;

  constructor(indices: Readonly<Record<'fuelGlobal' | 'refillFunction' | 'admitFunction', number>>) {
    this.fuelGlobal = indices.fuelGlobal;
    this.refillFunction = indices.refillFunction;
    this.admitFunction = indices.admitFunction;
  }

  /** Starts a function whose added locals have indices from `firstLocal` on. */
  begin(out: Writer, firstLocal: number, hasLocal: boolean): void {
    this.out = out;
    this.hasLocal = hasLocal;
    this.fuelLocal = firstLocal;
    this.lengthLocal = firstLocal + (hasLocal ? 1 : 0);
    this.inLocal = false;
    this.inGlobal = true;
  }

  /** Subtracts `amount` and stores the result in the local, the global or both; in the local if neither is named. */
  emitCharge(amount: number, toLocal: boolean, toGlobal: boolean): void {
    this.emitGet();
    this.out.u8(OP['i64.const']).signed(amount).u8(OP['i64.sub']);
    const local = this.hasLocal && (toLocal || !toGlobal);
    if (local) this.out.u8(toGlobal ? OP['local.tee'] : OP['local.set']).u32(this.fuelLocal);
    if (toGlobal || !local) this.out.u8(OP['global.set']).u32(this.fuelGlobal);
    this.inLocal = local;
    this.inGlobal = toGlobal || !local;
  }

  /** Copies the counter to the local, the global or both, unless it is there already. */
  emitSync(needLocal: boolean, needGlobal: boolean): void {
    if (needGlobal && !this.inGlobal) this.emitLocalToGlobal();
    if (needLocal && !this.inLocal) this.emitGlobalToLocal();
    this.inGlobal ||= needGlobal;
    this.inLocal ||= needLocal;
  }

  /**
   * Charges for a bulk instruction, whose amount of work is the i32 on top of the stack, and checks the counter before
   * the instruction executes: one bulk instruction can cost more than a whole budget. memory.grow always calls the
   * host, because the time it takes depends on the engine and the operating system, and then asks it for the memory.
   */
  emitBulkCharge(opcode: number): void {
    const weight = weightOf(opcode)!;
    const { left, right } = WEIGHTS[weight];
    const { out } = this;
    out.u8(OP['local.tee']).u32(this.lengthLocal);
    this.emitGet();
    out.u8(OP['local.get']).u32(this.lengthLocal).u8(OP['i64.extend_i32_u']);
    if (left > 0) out.u8(OP['i64.const']).signed(left).u8(OP['i64.shl']);
    if (right > 0) out.u8(OP['i64.const']).signed(right).u8(OP['i64.shr_u']);
    out.u8(OP['i64.sub']);
    if (this.inLocal) out.u8(OP['local.set']).u32(this.fuelLocal);
    else out.u8(OP['global.set']).u32(this.fuelGlobal);
    this.inGlobal = !this.inLocal;
    if (weight === 'pages') {
      this.emitRefill();
      out.u8(OP.call).u32(this.admitFunction);
      return;
    }
    this.emitIsNegative();
    out.u8(OP.if).u8(EMPTY_BLOCK);
    this.emitRefill();
    out.u8(OP.end);
  }

  /**
   * Pushes whether the counter is negative or, if `stack` is given, the stack has overflowed; each is a sign bit. Afterwards
   * the local, if there is one, contains the counter.
   */
  emitIsNegative(stack?: StackBound): void {
    const { out } = this;
    this.emitGet();
    if (this.hasLocal && !this.inLocal) out.u8(OP['local.tee']).u32(this.fuelLocal);
    this.inLocal = this.hasLocal;
    if (stack !== undefined) {
      writeFreeStack(out, stack);
      out.u8(OP['i64.extend_i32_s']).u8(OP['i64.or']);
    }
    out.u8(OP['i64.const']).u8(0).u8(OP['i64.lt_s']);
  }

  /** Asks the host for fuel. Afterwards the counter is in the same places as before. */
  emitRefill(): void {
    if (!this.inGlobal) this.emitLocalToGlobal();
    this.out.u8(OP.call).u32(this.refillFunction);
    if (this.inLocal) this.emitGlobalToLocal();
  }

  private emitGet(): void {
    if (this.inLocal) this.out.u8(OP['local.get']).u32(this.fuelLocal);
    else this.out.u8(OP['global.get']).u32(this.fuelGlobal);
  }

  private emitLocalToGlobal(): void {
    this.out.u8(OP['local.get']).u32(this.fuelLocal).u8(OP['global.set']).u32(this.fuelGlobal);
  }

  private emitGlobalToLocal(): void {
    this.out.u8(OP['global.get']).u32(this.fuelGlobal).u8(OP['local.set']).u32(this.fuelLocal);
  }
}
