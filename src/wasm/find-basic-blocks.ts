/**
 * Cuts a function body into segments: finds the instructions that end one, and sums up what the others cost.
 * Invariant: a segment has one entry and one exit, so all of it is executed or none (unless it traps).
 */

import { BasicBlockList, doubleLength, Terminator } from './basic-block-list.ts';
import { invalid, type Reader } from './binary-io.ts';
import { decode, type IndexSpace, type Instruction, newInstruction } from './decode-instruction.ts';
import { COST, IS_BULK } from './opcodes.ts';

enum Op {
  unreachable = 0x00,
  block = 0x02,
  loop = 0x03,
  if = 0x04,
  else = 0x05,
  try = 0x06,
  catch = 0x07,
  throw = 0x08,
  rethrow = 0x09,
  throwRef = 0x0a,
  end = 0x0b,
  br = 0x0c,
  brIf = 0x0d,
  brTable = 0x0e,
  return = 0x0f,
  call = 0x10,
  callIndirect = 0x11,
  returnCall = 0x12,
  returnCallIndirect = 0x13,
  delegate = 0x18,
  catchAll = 0x19,
  tryTable = 0x1f,
}

/** Opcodes up to this one are the only ones with an influence on control. */
const LAST_CONTROL = Op.tryTable;

/** What the scan has to know about the module. */
export interface ScanContext {
  readonly space: IndexSpace;
  /** Fuel of functions that are paid for by their callers, -1 for all others. */
  readonly constantCosts: Int32Array;
}

/** Reused for all bodies of a module. */
export class BasicBlockFinder {
  readonly blocks = new BasicBlockList();
  loops = 0;
  bulks = 0;
  /** Whether blocks may be put around loops: only branches are adjusted to them, and loops take no operands. */
  canWrap = true;

  private frameOp = new Uint8Array(64);
  private frameLabel = new Int32Array(64);
  private frameIf = new Int32Array(64);
  private depth = 0;
  private openLoops = 0;
  /** Cost of the segment so far. */
  private running = 0;
  private isDead = false;
  /** Blocks opened since the code became dead. */
  private deadDepth = 0;
  private readonly ins: Instruction = newInstruction();

  /** Reads the code at the reader (after the local declarations) to its end. */
  scan(reader: Reader, context: ScanContext): void {
    this.blocks.clear();
    this.loops = this.bulks = this.depth = this.openLoops = this.running = this.deadDepth = 0;
    this.canWrap = true;
    this.isDead = false;
    const { ins } = this;
    this.enter(Op.block);
    this.blocks.labelFixed[0] = 1;
    while (this.depth > 0) {
      const at = reader.pos;
      decode(reader, context.space, ins);
      const { opcode } = ins;
      if (this.isDead) this.skipDead(opcode, at, reader.pos);
      else {
        this.running += COST[opcode]!;
        if (opcode <= LAST_CONTROL) this.control(opcode, at, reader.pos, context);
        else if (IS_BULK[opcode]) this.bulk(opcode, at, reader.pos);
      }
    }
    if (!reader.done) throw invalid('a function body goes on after its end', reader.pos);
  }

  private bulk(slot: number, at: number, after: number): void {
    this.bulks++;
    this.endBlock(Terminator.bulk, slot, at, after, 0);
  }

  private control(slot: number, at: number, after: number, context: ScanContext): void {
    switch (slot) {
      case Op.block:
      case Op.try:
        this.enter(slot);
        return;
      case Op.tryTable:
        this.canWrap = false;
        for (const depth of this.ins.labels) this.thrown(depth, at);
        this.enter(slot);
        return;
      case Op.loop:
        this.loops++;
        if (this.ins.index >= 0) this.canWrap = false;
        this.enter(slot);
        this.blocks.labelFixed[this.blocks.labelCount - 1] = 1;
        this.endBlock(Terminator.loop, slot, at, after, this.blocks.labelCount - 1);
        return;
      case Op.if:
        this.enter(slot);
        this.frameIf[this.depth - 1] = this.blocks.count;
        this.endBlock(Terminator.if, slot, at, after, this.blocks.labelCount - 1);
        return;
      case Op.else:
      case Op.catch:
      case Op.catchAll:
        this.nextArm(slot, at, after, false);
        return;
      case Op.end:
      case Op.delegate:
        this.leave(slot, at, after, false);
        return;
      default:
        this.transfer(slot, at, after, context);
        return;
    }
  }

  /** Calls, branches and exits. */
  private transfer(slot: number, at: number, after: number, context: ScanContext): void {
    switch (slot) {
      case Op.call: {
        const fuel = context.constantCosts[this.ins.index]!;
        if (fuel >= 0) this.running += fuel;
        else this.call(slot, at, after);
        return;
      }
      case Op.callIndirect:
        this.call(slot, at, after);
        return;
      case Op.br:
        this.endBlock(Terminator.br, slot, at, after, this.target(this.ins.index, at));
        this.isDead = true;
        return;
      case Op.brIf:
        this.endBlock(Terminator.brIf, slot, at, after, this.target(this.ins.index, at));
        return;
      case Op.brTable:
        this.branchTable(slot, at, after);
        return;
      case Op.unreachable:
        this.endBlock(Terminator.trap, slot, at, after, 0);
        this.isDead = true;
        return;
      case Op.returnCall: {
        const fuel = context.constantCosts[this.ins.index]!;
        if (fuel >= 0) this.running += fuel;
        this.exit(slot, at, after);
        return;
      }
      case Op.returnCallIndirect:
        this.exit(slot, at, after);
        return;
      case Op.rethrow:
        this.canWrap = false;
        this.exit(slot, at, after);
        return;
      case Op.return:
      case Op.throw:
      case Op.throwRef:
        this.exit(slot, at, after);
        return;
    }
  }

  private call(slot: number, at: number, after: number): void {
    this.endBlock(Terminator.call, slot, at, after, 0);
  }

  private exit(slot: number, at: number, after: number): void {
    this.endBlock(Terminator.exit, slot, at, after, 0);
    this.isDead = true;
  }

  private branchTable(slot: number, at: number, after: number): void {
    const labels = this.ins.labels.map((depth) => this.target(depth, at));
    // One potential must serve all targets.
    for (const label of labels) this.blocks.labelFixed[label] = 1;
    this.blocks.setTargets(this.endBlock(Terminator.brTable, slot, at, after, 0), labels);
    this.isDead = true;
  }

  private thrown(depth: number, at: number): void {
    const label = this.target(depth, at);
    this.blocks.labelThrown[label] = 1;
    this.blocks.labelFixed[label] = 1;
  }

  private target(depth: number, at: number): number {
    if (depth >= this.depth) throw invalid(`branch depth ${depth} does not exist`, at);
    const label = this.frameLabel[this.depth - 1 - depth]!;
    this.blocks.labelUsed[label] = 1;
    return label;
  }

  private enter(op: number): void {
    if (this.depth === this.frameOp.length) {
      this.frameOp = doubleLength(this.frameOp);
      this.frameLabel = doubleLength(this.frameLabel);
      this.frameIf = doubleLength(this.frameIf);
    }
    if (op === Op.loop) this.openLoops++;
    this.frameOp[this.depth] = op;
    this.frameLabel[this.depth] = this.blocks.addLabel(this.depth, this.openLoops);
    this.frameIf[this.depth++] = -1;
  }

  /** `else`, `catch`, `catch_all`; `dead` tells whether the arm before runs into it. */
  private nextArm(slot: number, at: number, after: number, dead: boolean): void {
    const top = this.depth - 1;
    const label = this.frameLabel[top]!;
    const op = this.frameOp[top]!;
    const fits = slot === Op.else ? op === Op.if : op === Op.try || op === Op.catch;
    if (!fits) throw invalid('else or catch stands where none can be', at);
    this.blocks.labelUsed[label] = 1;
    const event = this.endBlock(
      slot === Op.else ? Terminator.else : Terminator.catch,
      slot,
      at,
      after,
      label,
      dead,
    );
    if (slot === Op.else) {
      const opening = this.frameIf[top]!;
      this.blocks.link[opening] = event;
      this.blocks.link[event] = opening;
      this.frameOp[top] = Op.else;
    } else {
      this.frameOp[top] = slot === Op.catch ? Op.catch : Op.catchAll;
    }
  }

  private leave(slot: number, at: number, after: number, dead: boolean): void {
    const top = --this.depth;
    const op = this.frameOp[top]!;
    const label = this.frameLabel[top]!;
    if (op === Op.loop) this.openLoops--;
    if (slot === Op.delegate) {
      this.canWrap = false;
      if (op !== Op.try) throw invalid('delegate stands where none can be', at);
      if (this.ins.index >= top) throw invalid(`delegate depth ${this.ins.index} does not exist`, at);
    }
    if (top === 0) this.endBlock(Terminator.finish, slot, at, after, label, dead);
    else if (op === Op.loop) {
      this.endBlock(Terminator.loopEnd, slot, at, after, label, dead);
    } else if (dead || op === Op.if || this.blocks.labelUsed[label]) {
      this.endBlock(Terminator.end, slot, at, after, label, dead);
    }
  }

  /** Code after an unconditional transfer: nothing to pay and nothing to copy until its block ends. */
  private skipDead(slot: number, at: number, after: number): void {
    switch (slot) {
      case Op.block:
      case Op.loop:
      case Op.if:
      case Op.try:
      case Op.tryTable:
        this.deadDepth++;
        return;
      case Op.else:
      case Op.catch:
      case Op.catchAll:
        if (this.deadDepth > 0) return;
        this.isDead = false;
        this.nextArm(slot, at, after, true);
        return;
      case Op.end:
      case Op.delegate:
        if (this.deadDepth-- > 0) return;
        this.deadDepth = 0;
        this.isDead = false;
        this.leave(slot, at, after, true);
        return;
    }
  }

  private endBlock(
    kind: Terminator,
    slot: number,
    at: number,
    after: number,
    label: number,
    dead = false,
  ): number {
    const i = this.blocks.add(kind, slot, at, after, label, dead ? 0 : this.running);
    if (dead) this.blocks.dead[i] = 1;
    this.blocks.setNesting(i, this.depth, this.openLoops);
    this.running = 0;
    return i;
  }
}
