/**
 * Writes a function body again with fuel code in it.
 *
 * The counter lives in a global. Inside a function it is kept in a local where that is worth it: `inLocal` and
 * `inGlobal` say which of the two holds the current value, and at least one always does. Calls, throws and returns
 * need it in the global; labels need it in one place that all who branch there agree on.
 * Invariant: only code that leaves the operand stack alone is added, so it can stand between any two instructions.
 */
import { Reader, type Writer } from './binary.ts';
import type { IndexSpace } from './decode.ts';
import { skipLocals } from './locals.ts';
import type { Range } from './module.ts';
import { WEIGHTS, weightOf } from './opcodes.ts';
import { Event, type ScanContext, Segments } from './segments.ts';

enum Op {
  if = 0x04,
  end = 0x0b,
  return = 0x0f,
  call = 0x10,
  localGet = 0x20,
  localSet = 0x21,
  localTee = 0x22,
  globalGet = 0x23,
  globalSet = 0x24,
  i64Const = 0x42,
  i64LtS = 0x53,
  i64Sub = 0x7d,
  i64Shl = 0x86,
  i64ShrU = 0x88,
  i64ExtendI32U = 0xad,
}

const EMPTY_BLOCK = 0x40;
const I64 = 0x7e;
const I32 = 0x7f;

export interface MeterContext extends ScanContext {
  readonly bytes: Uint8Array;
  readonly space: IndexSpace;
  /** Index of the fuel global, and of the function that asks the host for more. */
  readonly fuelGlobal: number;
  readonly refillFunction: number;
  /** 1 for functions that look at the fuel when they are entered. */
  readonly entryChecks: Uint8Array;
}

/** One for a module; bodies are written one after the other. */
export class Meter {
  readonly segments = new Segments();
  /** Where in the last body the checks branch: rarely taken, which helps an engine that reads branch hints. */
  readonly hints: number[] = [];
  private readonly context: MeterContext;
  private out!: Writer;
  private useLocal = false;
  private fuelLocal = 0;
  private lengthLocal = 0;
  private wrap = false;
  private inLocal = false;
  private inGlobal = true;

  constructor(context: MeterContext) {
    this.context = context;
  }

  /** Appends the metered body to `out`. */
  write(index: number, body: Range, params: number, out: Writer): void {
    const { bytes, space } = this.context;
    this.hints.length = 0;
    const reader = new Reader(bytes, body.start, body.end);
    const locals = skipLocals(reader);
    const code = reader.pos;
    space.locals = params + locals.count;
    this.segments.scan(reader, this.context);
    this.out = out;
    this.useLocal = this.wantsLocal();
    const useLength = this.segments.bulks > 0;
    out.u32(locals.groups + (this.useLocal ? 1 : 0) + (useLength ? 1 : 0));
    out.bytes(bytes, locals.start, code);
    this.fuelLocal = space.locals;
    if (this.useLocal) out.u8(1).u8(I64);
    this.lengthLocal = this.fuelLocal + (this.useLocal ? 1 : 0);
    if (useLength) out.u8(1).u8(I32);
    this.code(code, index, params);
  }

  private wantsLocal(): boolean {
    const { segments } = this;
    return segments.loops > 0 || segments.count > 3;
  }

  private code(start: number, index: number, params: number): void {
    const { segments, out } = this;
    const { bytes } = this.context;
    this.wrap = segments.loops > 0 && segments.handlers === 0;
    this.inLocal = false;
    this.inGlobal = true;
    if (this.context.entryChecks[index]) this.checkAtEntry(index, params);
    let from = start;
    for (let i = 0; i < segments.count; i++) {
      if (!segments.dead[i]) {
        this.segment(i);
        out.bytes(bytes, from, segments.start[i]!);
        this.before(i);
      }
      this.instruction(i);
      this.follow(i);
      from = segments.after[i]!;
    }
  }

  /** The instruction of event i; branches count the blocks put around loops. */
  private instruction(i: number): void {
    const { segments, out } = this;
    const kind = segments.kind[i]!;
    if (this.wrap) {
      if (kind === Event.loop) {
        this.openLoop(i);
        return;
      }
      if (kind === Event.br || kind === Event.brIf) {
        const label = segments.label[i]!;
        out.u8(segments.slot[i]!).u32(this.depthOf(i, label));
        return;
      }
      if (kind === Event.brTable) {
        const first = segments.link[i]!;
        let end = first;
        while (segments.tableLabels[end] !== -1) end++;
        out.u8(segments.slot[i]!).u32(end - first - 1);
        for (let at = first; at < end; at++) out.u32(this.depthOf(i, segments.tableLabels[at]!));
        return;
      }
    }
    out.bytes(this.context.bytes, segments.start[i]!, segments.after[i]!);
    if (this.wrap && kind === Event.loopEnd) this.closeLoop();
  }

  private depthOf(i: number, label: number): number {
    return this.segments.depthOf(i, label, 3);
  }

  private openLoop(i: number): void {
    const { segments, out } = this;
    const { bytes } = this.context;
    out.u8(0x02).bytes(bytes, segments.start[i]! + 1, segments.after[i]!);
    out.u8(0x03).u8(EMPTY_BLOCK).u8(0x02).u8(EMPTY_BLOCK);
    out.bytes(bytes, segments.start[i]!, segments.after[i]!);
  }

  private closeLoop(): void {
    const { out } = this;
    out.u8(0x0c).u8(2).u8(Op.end);
    if (this.useLocal) out.u8(Op.localGet).u32(this.fuelLocal).u8(Op.globalSet).u32(this.context.fuelGlobal);
    out.u8(Op.call).u32(this.context.refillFunction);
    if (this.useLocal) out.u8(Op.globalGet).u32(this.context.fuelGlobal).u8(Op.localSet).u32(this.fuelLocal);
    out.u8(0x0c).u8(0).u8(Op.end).u8(0x00).u8(Op.end);
  }

  /** The payment of segment i, left where its end wants it. */
  private segment(i: number): void {
    const { segments } = this;
    const amount = segments.pay[i]!;
    if (amount === 0) return;
    this.get();
    this.out.u8(Op.i64Const).signed(amount).u8(Op.i64Sub);
    const global = this.needsGlobal(i);
    const local =
      this.useLocal && (!global || this.needsLocal(i) || (this.inLocal && segments.kind[i] === Event.brIf));
    if (local) this.out.u8(global ? Op.localTee : Op.localSet).u32(this.fuelLocal);
    if (global || !local) this.out.u8(Op.globalSet).u32(this.context.fuelGlobal);
    this.inLocal = local;
    this.inGlobal = global || !local;
  }

  /** Moves the counter to where the instruction of event i needs it. */
  private before(i: number): void {
    const { segments } = this;
    if (segments.kind[i] === Event.bulk) this.bulk(segments.slot[i]!);
    if (!this.inGlobal && this.needsGlobal(i)) this.store();
    if (!this.inLocal && this.needsLocal(i)) this.load();
  }

  /** Where the counter is after event i. */
  private follow(i: number): void {
    const { segments } = this;
    switch (segments.kind[i]) {
      case Event.call:
      case Event.catch:
        this.inLocal = false;
        this.inGlobal = true;
        return;
      case Event.loop:
        this.atLabel(segments.label[i]!);
        this.checkAtLoop();
        return;
      case Event.end:
        this.atLabel(segments.label[i]!);
        return;
      case Event.if:
        // An else begins in the state of its if; the bits are kept in the event itself.
        segments.start[i] = (this.inLocal ? 1 : 0) | (this.inGlobal ? 2 : 0);
        return;
      case Event.else: {
        const state = segments.start[segments.link[i]!]!;
        this.inLocal = (state & 1) !== 0;
        this.inGlobal = (state & 2) !== 0;
        return;
      }
    }
  }

  private atLabel(label: number): void {
    this.inLocal = !this.labelInGlobal(label);
    this.inGlobal = !this.inLocal;
  }

  /** Label 0 is the function itself: branching there returns. */
  private labelInGlobal(label: number): boolean {
    return !this.useLocal || label === 0 || this.segments.labelThrown[label] === 1;
  }

  private needsGlobal(i: number): boolean {
    const { segments } = this;
    switch (segments.kind[i]) {
      case Event.call:
      case Event.exit:
      case Event.finish:
        return true;
      case Event.brTable:
        return this.anyTarget(i, true);
      case Event.trap:
      case Event.bulk:
        return false;
      case Event.if:
        return segments.link[i]! < 0 && this.labelInGlobal(segments.label[i]!);
      default:
        return this.labelInGlobal(segments.label[i]!);
    }
  }

  private needsLocal(i: number): boolean {
    const { segments } = this;
    switch (segments.kind[i]) {
      case Event.call:
      case Event.exit:
      case Event.finish:
      case Event.trap:
      case Event.bulk:
        return false;
      case Event.brTable:
        return this.anyTarget(i, false);
      case Event.if:
        return segments.link[i]! < 0 && !this.labelInGlobal(segments.label[i]!);
      default:
        return !this.labelInGlobal(segments.label[i]!);
    }
  }

  private anyTarget(i: number, inGlobal: boolean): boolean {
    const { segments } = this;
    for (let at = segments.link[i]!; segments.tableLabels[at] !== -1; at++) {
      if (this.labelInGlobal(segments.tableLabels[at]!) === inGlobal) return true;
    }
    return false;
  }

  private get(): void {
    if (this.inLocal) this.out.u8(Op.localGet).u32(this.fuelLocal);
    else this.out.u8(Op.globalGet).u32(this.context.fuelGlobal);
  }

  private store(): void {
    this.out.u8(Op.localGet).u32(this.fuelLocal).u8(Op.globalSet).u32(this.context.fuelGlobal);
    this.inGlobal = true;
  }

  private load(): void {
    this.out.u8(Op.globalGet).u32(this.context.fuelGlobal).u8(Op.localSet).u32(this.fuelLocal);
    this.inLocal = true;
  }

  /** Pays for an instruction whose work is the i32 on top of the stack. */
  private bulk(slot: number): void {
    const { left, right } = WEIGHTS[weightOf(slot)!];
    const { out } = this;
    out.u8(Op.localTee).u32(this.lengthLocal);
    this.get();
    out.u8(Op.localGet).u32(this.lengthLocal).u8(Op.i64ExtendI32U);
    if (left > 0) out.u8(Op.i64Const).signed(left).u8(Op.i64Shl);
    if (right > 0) out.u8(Op.i64Const).signed(right).u8(Op.i64ShrU);
    out.u8(Op.i64Sub);
    if (this.inLocal) out.u8(Op.localSet).u32(this.fuelLocal);
    else out.u8(Op.globalSet).u32(this.context.fuelGlobal);
    this.inGlobal = !this.inLocal;
  }

  /**
   * With fuel below zero: refill, then begin again. A second call rather than going on here keeps the optimizing
   * compiler from saving all parameters on the way into every function, for the sake of a call that never happens.
   */
  private checkAtEntry(index: number, params: number): void {
    const { out } = this;
    this.get();
    if (this.useLocal) out.u8(Op.localTee).u32(this.fuelLocal);
    out.u8(Op.i64Const).u8(0).u8(Op.i64LtS);
    this.hints.push(out.length);
    out.u8(Op.if).u8(EMPTY_BLOCK);
    out.u8(Op.call).u32(this.context.refillFunction);
    for (let i = 0; i < params; i++) out.u8(Op.localGet).u32(i);
    out.u8(Op.call).u32(index).u8(Op.return).u8(Op.end);
    this.inLocal = this.useLocal;
  }

  private checkAtLoop(): void {
    this.get();
    if (this.wrap) {
      this.out.u8(Op.i64Const).u8(0).u8(Op.i64LtS);
      this.hints.push(this.out.length);
      this.out.u8(0x0d).u8(1);
      return;
    }
    this.refillIfNegative();
  }

  /** Takes the counter from the stack. Afterwards it is again in all the places it was in before. */
  private refillIfNegative(): void {
    const { out } = this;
    out.u8(Op.i64Const).u8(0).u8(Op.i64LtS);
    this.hints.push(out.length);
    out.u8(Op.if).u8(EMPTY_BLOCK);
    if (!this.inGlobal) out.u8(Op.localGet).u32(this.fuelLocal).u8(Op.globalSet).u32(this.context.fuelGlobal);
    out.u8(Op.call).u32(this.context.refillFunction);
    if (this.useLocal) out.u8(Op.globalGet).u32(this.context.fuelGlobal).u8(Op.localSet).u32(this.fuelLocal);
    out.u8(Op.end);
  }
}
