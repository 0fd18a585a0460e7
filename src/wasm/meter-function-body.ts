/**
 * Writes a function body again with fuel code in it: payments where segments begin, the counter moved to where the
 * instruction that ends a segment needs it, checks at loop heads and at the entry of chosen functions.
 * Invariant: calls, throws and returns find the exact counter in the global; at a label it is where all who branch
 * there have put it.
 */

import { type BasicBlockList, Terminator } from './basic-block-list.ts';
import { Reader, type Writer } from './binary-io.ts';
import { CostDistribution } from './cost-distribution.ts';
import { BasicBlockFinder, type ScanContext } from './find-basic-blocks.ts';
import { FuelCodeEmitter, OP, VOID } from './fuel-code-emitter.ts';
import { skipLocalDeclarations } from './local-declarations.ts';
import type { ByteRange } from './parse-module.ts';

const I64 = 0x7e;
const I32 = 0x7f;
/** Blocks put around each loop by `openLoop`. */
const AROUND_LOOP = 3;

export interface MeterContext extends ScanContext {
  readonly bytes: Uint8Array;
  /** Index of the fuel global, and of the function that asks the host for more. */
  readonly fuelGlobal: number;
  readonly refillFunction: number;
  /** 1 for functions that look at the fuel when they are entered. */
  readonly entryChecks: Uint8Array;
}

/** One for a module; bodies are written one after the other. */
export class FunctionMeter {
  private readonly context: MeterContext;
  private readonly emitter: FuelCodeEmitter;
  private readonly finder = new BasicBlockFinder();
  private readonly blocks: BasicBlockList = this.finder.blocks;
  private readonly costs = new CostDistribution();
  private out!: Writer;
  /** Whether loops of this function have blocks around them. */
  private wrapped = false;
  /** Place of the counter at each open `if`, for its else. */
  private readonly atIf = new Map<number, readonly [inLocal: boolean, inGlobal: boolean]>();

  constructor(context: MeterContext) {
    this.context = context;
    this.emitter = new FuelCodeEmitter(context.fuelGlobal, context.refillFunction);
  }

  /** Appends the metered body of function `index` to `out`. */
  write(index: number, body: ByteRange, params: number, out: Writer): void {
    const { bytes, space } = this.context;
    const { finder } = this;
    const reader = new Reader(bytes, body.start, body.end);
    const locals = skipLocalDeclarations(reader);
    const code = reader.pos;
    space.locals = params + locals.count;
    finder.scan(reader, this.context);
    this.costs.compute(this.blocks);
    this.out = out;
    // A short function without loops touches the counter too rarely for a local to be worth it.
    const hasLocal = finder.loops > 0 || this.blocks.count > 3;
    const hasLength = finder.bulks > 0;
    out.u32(locals.groups + (hasLocal ? 1 : 0) + (hasLength ? 1 : 0));
    out.bytes(bytes, locals.start, code);
    if (hasLocal) out.u8(1).u8(I64);
    if (hasLength) out.u8(1).u8(I32);
    this.wrapped = finder.loops > 0 && finder.canWrap;
    this.emitter.begin(out, space.locals, hasLocal);
    if (this.context.entryChecks[index]) this.checkAtEntry(index, params);
    this.code(code);
  }

  private code(start: number): void {
    const { blocks, out } = this;
    let from = start;
    for (let i = 0; i < blocks.count; i++) {
      if (!blocks.dead[i]) {
        if (this.costs.charges[i] !== 0) this.emitCharge(i);
        out.bytes(this.context.bytes, from, blocks.start[i]!);
        if (blocks.terminator[i] === Terminator.bulk) this.emitter.emitBulkCharge(blocks.slot[i]!);
        this.emitter.emitSync(this.needsLocal(i), this.needsGlobal(i));
      }
      this.instruction(i);
      this.follow(i);
      from = blocks.after[i]!;
    }
  }

  /** The payment of segment i, left where its end wants it. */
  private emitCharge(i: number): void {
    const { blocks, emitter } = this;
    // After a br_if to a place that wants the global, those who go on want the local again.
    const stays = emitter.inLocal && blocks.terminator[i] === Terminator.brIf;
    emitter.emitCharge(this.costs.charges[i]!, stays || this.needsLocal(i), this.needsGlobal(i));
  }

  /** The instruction of event i. */
  private instruction(i: number): void {
    const { blocks } = this;
    const kind = blocks.terminator[i]!;
    if (this.wrapped && kind === Terminator.loop) this.openLoop(i);
    else if (
      this.wrapped &&
      (kind === Terminator.br || kind === Terminator.brIf || kind === Terminator.brTable)
    )
      this.branch(i);
    else {
      this.out.bytes(this.context.bytes, blocks.start[i]!, blocks.after[i]!);
      if (this.wrapped && kind === Terminator.loopEnd) this.closeLoop(blocks.label[i]!);
    }
  }

  /** A branch, counting the blocks put around the loops it leaves. */
  private branch(i: number): void {
    const { blocks, out } = this;
    out.u8(blocks.slot[i]!);
    if (blocks.terminator[i] !== Terminator.brTable) {
      out.u32(blocks.depthOf(i, blocks.label[i]!, AROUND_LOOP));
      return;
    }
    const targets = blocks.targets(i);
    out.u32(targets.length - 1);
    for (const label of targets) out.u32(blocks.depthOf(i, label, AROUND_LOOP));
  }

  /**
   * The call that refills stands outside the loop: inside, it would make the optimizing compiler keep every value of
   * the loop in memory, for the sake of a call that hardly ever happens. The result is
   *   block (the type of the loop)  loop  block  loop (the original)  check, br_if 1 …
   */
  private openLoop(i: number): void {
    const { blocks, out } = this;
    const { bytes } = this.context;
    out.u8(OP.block).bytes(bytes, blocks.start[i]! + 1, blocks.after[i]!);
    out.u8(OP.loop).u8(VOID).u8(OP.block).u8(VOID);
    out.bytes(bytes, blocks.start[i]!, blocks.after[i]!);
  }

  /**   … end  br 2  end  refill  br 0  end  unreachable  end. */
  private closeLoop(label: number): void {
    const { out, emitter } = this;
    const { inLocal, inGlobal } = emitter;
    out.u8(OP.br).u8(2).u8(OP.end);
    // What follows is reached from the check alone, and leads back to it.
    this.atLabel(label);
    emitter.emitRefill();
    out.u8(OP.br).u8(0).u8(OP.end).u8(OP.unreachable).u8(OP.end);
    emitter.inLocal = inLocal;
    emitter.inGlobal = inGlobal;
  }

  /** Where the counter is after event i. */
  private follow(i: number): void {
    const { blocks, emitter } = this;
    switch (blocks.terminator[i]) {
      case Terminator.call:
      case Terminator.catch:
        emitter.inLocal = false;
        emitter.inGlobal = true;
        return;
      case Terminator.loop:
        this.atLabel(blocks.label[i]!);
        this.checkAtLoop();
        return;
      case Terminator.end:
        this.atLabel(blocks.label[i]!);
        return;
      case Terminator.if:
        this.atIf.set(i, [emitter.inLocal, emitter.inGlobal]);
        return;
      case Terminator.else:
        [emitter.inLocal, emitter.inGlobal] = this.atIf.get(blocks.link[i]!)!;
        return;
    }
  }

  private atLabel(label: number): void {
    this.emitter.inGlobal = this.labelInGlobal(label);
    this.emitter.inLocal = !this.emitter.inGlobal;
  }

  /** Label 0 is the function itself: branching there returns. Exceptions arrive with the counter in the global. */
  private labelInGlobal(label: number): boolean {
    return !this.emitter.hasLocal || label === 0 || this.blocks.labelThrown[label] === 1;
  }

  private needsGlobal(i: number): boolean {
    const kind = this.blocks.terminator[i];
    if (kind === Terminator.call || kind === Terminator.exit || kind === Terminator.finish) return true;
    return this.goesTo(i, true);
  }

  private needsLocal(i: number): boolean {
    return this.goesTo(i, false);
  }

  /** Whether event i leads to a label that has the counter in the global, or else in the local. */
  private goesTo(i: number, inGlobal: boolean): boolean {
    const { blocks } = this;
    switch (blocks.terminator[i]) {
      case Terminator.br:
      case Terminator.brIf:
      case Terminator.else:
      case Terminator.catch:
      case Terminator.end:
      case Terminator.loop:
        return this.labelInGlobal(blocks.label[i]!) === inGlobal;
      case Terminator.if:
        return blocks.link[i]! < 0 && this.labelInGlobal(blocks.label[i]!) === inGlobal;
      case Terminator.brTable:
        return blocks.targets(i).some((label) => this.labelInGlobal(label) === inGlobal);
      default:
        return false;
    }
  }

  /**
   * With fuel below zero: refill, then begin again. A second call rather than going on here keeps the optimizing
   * compiler from saving all parameters on the way into every function.
   */
  private checkAtEntry(index: number, params: number): void {
    const { out, emitter } = this;
    emitter.emitIsNegative();
    out.u8(OP.if).u8(VOID).u8(OP.call).u32(this.context.refillFunction);
    for (let i = 0; i < params; i++) out.u8(OP.localGet).u32(i);
    out.u8(OP.call).u32(index).u8(OP.return).u8(OP.end);
  }

  private checkAtLoop(): void {
    const { out, emitter } = this;
    emitter.emitIsNegative();
    if (this.wrapped) out.u8(OP.brIf).u8(1);
    else {
      out.u8(OP.if).u8(VOID);
      emitter.emitRefill();
      out.u8(OP.end);
    }
  }
}
