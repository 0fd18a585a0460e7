/**
 * Rewrites a function body with fuel code: a charge at the start of basic blocks, moves of the counter to where the
 * terminator needs it, and checks at loop heads and on entry to selected functions.
 * Invariant: at calls, throws and returns the exact counter is in the global. At a label, all branches to it leave the
 * counter in the same place.
 */

import { type BasicBlockList, Terminator } from './basic-block-list.ts';
import { EMPTY_BLOCK, VALUE_TYPE } from './binary-format.ts';
import { Reader, type Writer } from './binary-io.ts';
import { CostDistribution } from './cost-distribution.ts';
import { BasicBlockFinder, type ScanContext } from './find-basic-blocks.ts';
import { FuelCodeEmitter } from './fuel-code-emitter.ts';
import { skipLocalDeclarations } from './local-declarations.ts';
import { opcodesNamed } from './opcodes.ts';
import type { ByteRange, FunctionType } from './parse-module.ts';
import { FRAME_BYTES, type StackBound } from './shadow-stack-frames.ts';

const OP = opcodesNamed(
  'unreachable block loop if end br br_if return call call_indirect return_call return_call_indirect',
  'local.get global.get global.set i32.const i32.add i32.sub i32.ge_s',
);
/** Terminators that leave the function without an exception. */
const RETURNS: ReadonlySet<number> = new Set([OP.return, OP.return_call, OP.return_call_indirect]);
/** Number of blocks that `openLoop` puts around a loop. */
const BLOCKS_PER_LOOP = 3;

/** A function that calls an entry of the host table with its parameters. See `observed` in prepare-module.ts. */
export interface FunctionObserver {
  readonly function: number;
  /** Index of its type. */
  readonly type: number;
  readonly entry: number;
  readonly table: number;
  /** Index of the global with the number of calls to observe. */
  readonly counter: number;
}

export interface MeterContext extends ScanContext {
  readonly bytes: Uint8Array;
  readonly fuelGlobal: number;
  /** Index of the function that asks the host for fuel. */
  readonly refillFunction: number;
  readonly admitFunction: number;
  /** 1 for functions that check the counter, and the stack pointer if there is one, on entry. */
  readonly entryChecks: Uint8Array;
  /** See LoopProbe in prepare-module.ts. The global of the probe follows that of the fuel. */
  readonly probe: { readonly function: number; readonly loop: number; readonly local: number } | undefined;
  readonly observer: FunctionObserver | undefined;
  /** The stack in linear memory; undefined if the module has none. */
  readonly stack: StackBound | undefined;
  /** 1 for functions that get a frame on that stack. */
  readonly addedFrames: Uint8Array;
}

/** Meters the function bodies of one module, one after the other. */
export class FunctionMeter {
  private readonly context: MeterContext;
  private readonly emitter: FuelCodeEmitter;
  private readonly finder = new BasicBlockFinder();
  private readonly blocks: BasicBlockList = this.finder.blocks;
  private readonly costs = new CostDistribution();
  private out!: Writer;
  /** Whether the loops of this function are wrapped in blocks. */
  private wrapped = false;
  /** Number of loops before the one to probe; negative once it is found, or if there is none. */
  private loopsToProbe = -1;
  /** Label of the loop to probe, or -1. */
  private probedLabel = -1;
  /** Whether the function gets a frame. Its body is then in a block, so that all branches out of it remove the frame. */
  private hasFrame = false;
  /** Where the counter is at each open `if`; its else starts in the same state. */
  private readonly atIf = new Map<number, readonly [inLocal: boolean, inGlobal: boolean]>();

  constructor(context: MeterContext) {
    this.context = context;
    this.emitter = new FuelCodeEmitter(context);
  }

  /** Appends the metered body of function `index` to `out`. */
  write(index: number, body: ByteRange, type: FunctionType, out: Writer): void {
    const { params } = type;
    const { bytes, space } = this.context;
    const { finder } = this;
    const reader = new Reader(bytes, body.start, body.end);
    const locals = skipLocalDeclarations(reader);
    const code = reader.pos;
    space.locals = params + locals.count;
    finder.scan(reader, this.context);
    this.costs.compute(this.blocks);
    this.out = out;
    // A short function without loops accesses the counter too rarely to benefit from a local.
    const hasLocal = finder.loops > 0 || this.blocks.count > 3;
    const hasLength = finder.bulks > 0;
    out.u32(locals.groups + (hasLocal ? 1 : 0) + (hasLength ? 1 : 0));
    out.bytes(bytes, locals.start, code);
    if (hasLocal) out.u8(1).u8(VALUE_TYPE.i64);
    if (hasLength) out.u8(1).u8(VALUE_TYPE.i32);
    this.wrapped = finder.loops > 0 && finder.canWrap;
    this.loopsToProbe = this.context.probe?.function === index ? this.context.probe.loop : -1;
    this.probedLabel = -1;
    this.emitter.begin(out, space.locals, hasLocal);
    if (this.context.entryChecks[index]) this.checkAtEntry(index, params);
    if (this.context.observer?.function === index) this.callObserver(this.context.observer, params);
    this.hasFrame = this.context.addedFrames[index] === 1;
    if (this.hasFrame) {
      this.moveStackPointer(OP['i32.sub']);
      out.u8(OP.block).u8(type.lastResult ?? EMPTY_BLOCK);
    }
    this.writeBlocks(code);
    if (this.hasFrame) {
      this.moveStackPointer(OP['i32.add']);
      out.u8(OP.end);
    }
  }

  private writeBlocks(start: number): void {
    const { blocks, out, emitter } = this;
    let from = start;
    for (let i = 0; i < blocks.count; i++) {
      if (!blocks.dead[i]) {
        if (this.costs.charges[i] !== 0) this.writeCharge(i);
        out.bytes(this.context.bytes, from, blocks.start[i]!);
        if (blocks.kind[i] === Terminator.bulk) emitter.emitBulkCharge(blocks.opcode[i]!);
        emitter.emitSync(this.needsLocal(i), this.needsGlobal(i));
      }
      this.writeTerminator(i);
      this.trackCounter(i);
      from = blocks.end[i]!;
    }
  }

  private writeCharge(i: number): void {
    const { blocks, emitter } = this;
    // If a br_if needs the counter in the global, the code that follows it still uses the local.
    const keepLocal = emitter.inLocal && blocks.kind[i] === Terminator.brIf;
    emitter.emitCharge(this.costs.charges[i]!, keepLocal || this.needsLocal(i), this.needsGlobal(i));
  }

  private writeTerminator(i: number): void {
    const { blocks } = this;
    const kind = blocks.kind[i]!;
    // After a throw, the function that catches it restores the stack pointer, as the compiler requires.
    if (this.hasFrame && kind === Terminator.exit && RETURNS.has(blocks.opcode[i]!))
      this.moveStackPointer(OP['i32.add']);
    if (this.wrapped && kind === Terminator.loop) this.openLoop(i);
    else if (
      this.wrapped &&
      (kind === Terminator.br || kind === Terminator.brIf || kind === Terminator.brTable)
    )
      this.writeBranch(i);
    else {
      this.out.bytes(this.context.bytes, blocks.start[i]!, blocks.end[i]!);
      if (this.wrapped && kind === Terminator.loopEnd) this.closeLoop(blocks.label[i]!);
    }
  }

  /** Writes a branch with its depth adjusted to the blocks around the loops that it leaves. */
  private writeBranch(i: number): void {
    const { blocks, out } = this;
    out.u8(blocks.opcode[i]!);
    if (blocks.kind[i] !== Terminator.brTable) {
      out.u32(blocks.depthOf(i, blocks.label[i]!, BLOCKS_PER_LOOP));
      return;
    }
    const targets = blocks.targets(i);
    out.u32(targets.length - 1);
    for (const label of targets) out.u32(blocks.depthOf(i, label, BLOCKS_PER_LOOP));
  }

  /**
   * Opens a loop so that the call that refills the counter is outside of it. Inside, the call would make the optimising
   * compiler spill every value of the loop to memory, although it rarely happens. The code is
   *   block (type of the loop)  loop  block  loop (the original)  check  br_if 1  …
   */
  private openLoop(i: number): void {
    const { blocks, out } = this;
    const { bytes } = this.context;
    out.u8(OP.block).bytes(bytes, blocks.start[i]! + 1, blocks.end[i]!);
    out.u8(OP.loop).u8(EMPTY_BLOCK).u8(OP.block).u8(EMPTY_BLOCK);
    out.bytes(bytes, blocks.start[i]!, blocks.end[i]!);
  }

  /** Closes what `openLoop` opened:  … end  br 2  end  refill  br 0  end  unreachable  end. */
  private closeLoop(label: number): void {
    const { out, emitter } = this;
    const { inLocal, inGlobal } = emitter;
    out.u8(OP.br).u8(2).u8(OP.end);
    // The refill code is reached only from the check at the loop head and continues there.
    this.setCounterAtLabel(label);
    this.writeProbe(label);
    emitter.emitRefill();
    out.u8(OP.br).u8(0).u8(OP.end).u8(OP.unreachable).u8(OP.end);
    emitter.inLocal = inLocal;
    emitter.inGlobal = inGlobal;
  }

  /** Updates where the counter is after terminator i. */
  private trackCounter(i: number): void {
    const { blocks, emitter } = this;
    switch (blocks.kind[i]) {
      case Terminator.call:
      case Terminator.catch:
        emitter.inLocal = false;
        emitter.inGlobal = true;
        return;
      case Terminator.loop:
        this.setCounterAtLabel(blocks.label[i]!);
        if (this.loopsToProbe-- === 0) this.probedLabel = blocks.label[i]!;
        this.checkAtLoop(blocks.label[i]!);
        return;
      case Terminator.end:
        this.setCounterAtLabel(blocks.label[i]!);
        return;
      case Terminator.if:
        this.atIf.set(i, [emitter.inLocal, emitter.inGlobal]);
        return;
      case Terminator.else:
        [emitter.inLocal, emitter.inGlobal] = this.atIf.get(blocks.link[i]!)!;
        return;
    }
  }

  private setCounterAtLabel(label: number): void {
    this.emitter.inGlobal = this.isLabelInGlobal(label);
    this.emitter.inLocal = !this.emitter.inGlobal;
  }

  /** Label 0 is the function itself: a branch to it returns. Exceptions arrive with the counter in the global. */
  private isLabelInGlobal(label: number): boolean {
    return !this.emitter.hasLocal || label === 0 || this.blocks.labelIsHandler[label] === 1;
  }

  private needsGlobal(i: number): boolean {
    const kind = this.blocks.kind[i];
    if (kind === Terminator.call || kind === Terminator.exit || kind === Terminator.finish) return true;
    return this.hasTarget(i, true);
  }

  private needsLocal(i: number): boolean {
    return this.hasTarget(i, false);
  }

  /** Whether terminator i leads to a label that expects the counter in the global (or in the local, if false). */
  private hasTarget(i: number, inGlobal: boolean): boolean {
    const { blocks } = this;
    switch (blocks.kind[i]) {
      case Terminator.br:
      case Terminator.brIf:
      case Terminator.else:
      case Terminator.catch:
      case Terminator.end:
      case Terminator.loop:
        return this.isLabelInGlobal(blocks.label[i]!) === inGlobal;
      case Terminator.if:
        return blocks.link[i]! < 0 && this.isLabelInGlobal(blocks.label[i]!) === inGlobal;
      case Terminator.brTable:
        return blocks.targets(i).some((label) => this.isLabelInGlobal(label) === inGlobal);
      default:
        return false;
    }
  }

  /**
   * If the counter is below zero, refills it and calls the function again with the same parameters. Without the second
   * call the optimising compiler would save all parameters on every entry. The function that refills the counter traps if
   * the stack has overflowed.
   */
  private checkAtEntry(index: number, params: number): void {
    const { out, emitter } = this;
    emitter.emitIsNegative(this.context.stack);
    out.u8(OP.if).u8(EMPTY_BLOCK).u8(OP.call).u32(this.context.refillFunction);
    for (let i = 0; i < params; i++) out.u8(OP['local.get']).u32(i);
    out.u8(OP.call).u32(index).u8(OP.return).u8(OP.end);
  }

  /** On entry the counter is in the global, where the host can read it. */
  private callObserver({ type, entry, table, counter }: FunctionObserver, params: number): void {
    const { out } = this;
    out.u8(OP['global.get']).u32(counter).u8(OP['i32.const']).signed(1).u8(OP['i32.sub']);
    out.u8(OP['global.set']).u32(counter).u8(OP['global.get']).u32(counter);
    out.u8(OP['i32.const']).signed(0).u8(OP['i32.ge_s']).u8(OP.if).u8(EMPTY_BLOCK);
    for (let i = 0; i < params; i++) out.u8(OP['local.get']).u32(i);
    out.u8(OP['i32.const']).signed(entry).u8(OP.call_indirect).u32(type).u32(table);
    out.u8(OP.end);
  }

  /** Adds or removes a frame. */
  private moveStackPointer(operation: number): void {
    const { pointer } = this.context.stack!;
    const { out } = this;
    out.u8(OP['global.get']).u32(pointer).u8(OP['i32.const']).signed(FRAME_BYTES);
    out.u8(operation).u8(OP['global.set']).u32(pointer);
  }

  private writeProbe(label: number): void {
    const { probe, fuelGlobal } = this.context;
    if (probe === undefined || label !== this.probedLabel) return;
    this.out
      .u8(OP['local.get'])
      .u32(probe.local)
      .u8(OP['global.set'])
      .u32(fuelGlobal + 1);
  }

  private checkAtLoop(label: number): void {
    const { out, emitter } = this;
    emitter.emitIsNegative();
    if (this.wrapped) out.u8(OP.br_if).u8(1);
    else {
      out.u8(OP.if).u8(EMPTY_BLOCK);
      this.writeProbe(label);
      emitter.emitRefill();
      out.u8(OP.end);
    }
  }
}
