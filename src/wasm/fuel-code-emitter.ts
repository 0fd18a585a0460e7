/**
 * Writes the code that moves and changes the fuel counter of one function.
 *
 * The counter lives in a global. Inside a function it may be kept in a local: `inLocal` and `inGlobal` say which of
 * the two holds the current value at the point that is being written.
 * Invariant: at least one of them does, and what is written here leaves the operand stack as it was (`test` adds its
 * answer), so it can stand between any two instructions.
 */
import type { Writer } from './binary-io.ts';
import { WEIGHTS, weightOf } from './opcodes.ts';

/** Opcodes the rewriter writes. */
export const OP = {
  unreachable: 0x00,
  block: 0x02,
  loop: 0x03,
  if: 0x04,
  end: 0x0b,
  br: 0x0c,
  brIf: 0x0d,
  return: 0x0f,
  call: 0x10,
  callIndirect: 0x11,
  localGet: 0x20,
  localSet: 0x21,
  localTee: 0x22,
  globalGet: 0x23,
  globalSet: 0x24,
  i32Const: 0x41,
  i64Const: 0x42,
  i64LtS: 0x53,
  i64Sub: 0x7d,
  i64Shl: 0x86,
  i64ShrU: 0x88,
  i64ExtendI32U: 0xad,
} as const;

/** Block type of a block without operands. */
export const VOID = 0x40;

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

  constructor(fuelGlobal: number, refillFunction: number) {
    this.fuelGlobal = fuelGlobal;
    this.refillFunction = refillFunction;
  }

  /** Begins a function; its own locals end before `firstLocal`. */
  begin(out: Writer, firstLocal: number, hasLocal: boolean): void {
    this.out = out;
    this.hasLocal = hasLocal;
    this.fuelLocal = firstLocal;
    this.lengthLocal = firstLocal + (hasLocal ? 1 : 0);
    this.inLocal = false;
    this.inGlobal = true;
  }

  /** Takes `amount` off, and leaves the result in the places named; in the local if none is. */
  emitCharge(amount: number, toLocal: boolean, toGlobal: boolean): void {
    this.emitGet();
    this.out.u8(OP.i64Const).signed(amount).u8(OP.i64Sub);
    const local = this.hasLocal && (toLocal || !toGlobal);
    if (local) this.out.u8(toGlobal ? OP.localTee : OP.localSet).u32(this.fuelLocal);
    if (toGlobal || !local) this.out.u8(OP.globalSet).u32(this.fuelGlobal);
    this.inLocal = local;
    this.inGlobal = toGlobal || !local;
  }

  /** Puts the current value where it is needed. */
  emitSync(needLocal: boolean, needGlobal: boolean): void {
    if (needGlobal && !this.inGlobal) this.emitLocalToGlobal();
    if (needLocal && !this.inLocal) this.emitGlobalToLocal();
    this.inGlobal ||= needGlobal;
    this.inLocal ||= needLocal;
  }

  /**
   * Pays for an instruction whose work is the i32 on top of the stack, and looks at the fuel before that work is done:
   * one such instruction can cost more than a whole budget. Growing memory looks every time, because what that takes
   * is up to the engine and the system below it.
   */
  emitBulkCharge(slot: number): void {
    const weight = weightOf(slot)!;
    const { left, right } = WEIGHTS[weight];
    const { out } = this;
    out.u8(OP.localTee).u32(this.lengthLocal);
    this.emitGet();
    out.u8(OP.localGet).u32(this.lengthLocal).u8(OP.i64ExtendI32U);
    if (left > 0) out.u8(OP.i64Const).signed(left).u8(OP.i64Shl);
    if (right > 0) out.u8(OP.i64Const).signed(right).u8(OP.i64ShrU);
    out.u8(OP.i64Sub);
    if (this.inLocal) out.u8(OP.localSet).u32(this.fuelLocal);
    else out.u8(OP.globalSet).u32(this.fuelGlobal);
    this.inGlobal = !this.inLocal;
    if (weight === 'pages') {
      this.emitRefill();
      return;
    }
    this.emitIsNegative();
    out.u8(OP.if).u8(VOID);
    this.emitRefill();
    out.u8(OP.end);
  }

  /** Leaves a condition on the stack: is the counter below zero? It is in the local afterwards, if there is one. */
  emitIsNegative(): void {
    this.emitGet();
    if (this.hasLocal && !this.inLocal) this.out.u8(OP.localTee).u32(this.fuelLocal);
    this.inLocal = this.hasLocal;
    this.out.u8(OP.i64Const).u8(0).u8(OP.i64LtS);
  }

  /** Asks the host for fuel; the counter is in the same places as before. */
  emitRefill(): void {
    if (!this.inGlobal) this.emitLocalToGlobal();
    this.out.u8(OP.call).u32(this.refillFunction);
    if (this.inLocal) this.emitGlobalToLocal();
  }

  private emitGet(): void {
    if (this.inLocal) this.out.u8(OP.localGet).u32(this.fuelLocal);
    else this.out.u8(OP.globalGet).u32(this.fuelGlobal);
  }

  private emitLocalToGlobal(): void {
    this.out.u8(OP.localGet).u32(this.fuelLocal).u8(OP.globalSet).u32(this.fuelGlobal);
  }

  private emitGlobalToLocal(): void {
    this.out.u8(OP.globalGet).u32(this.fuelGlobal).u8(OP.localSet).u32(this.fuelLocal);
  }
}
