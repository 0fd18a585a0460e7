/**
 * Splits a function body into basic blocks and adds up the cost of each.
 * Invariant: a basic block has one entry and one exit, so unless it traps, all of it executes or none of it.
 */
import { BasicBlockList, doubleLength, Terminator } from './basic-block-list.ts';
import { invalid, type Reader } from './binary-io.ts';
import { decode, type IndexSpace, type Instruction, newInstruction } from './decode-instruction.ts';
import { COST, IS_BULK, LAST_CONTROL, opcodesNamed } from './opcodes.ts';

const OP = opcodesNamed(
  'unreachable block loop if else try catch throw rethrow throw_ref end br br_if br_table return call',
  'call_indirect return_call return_call_indirect delegate catch_all try_table',
);

/** The module-level facts that the scan needs. */
export interface ScanContext {
  readonly space: IndexSpace;
  /** Fuel of each constant-cost function, which its callers charge; -1 for all others. */
  readonly constantCosts: Int32Array;
}

/** Reused for all function bodies of a module. */
export class BasicBlockFinder {
  readonly blocks = new BasicBlockList();
  loops = 0;
  bulks = 0;
  /** Whether loops may be wrapped in blocks: the depths of all branches can be adjusted, and no loop takes operands. */
  canWrap = true;

  private frameOpcode = new Uint8Array(64);
  private frameLabel = new Int32Array(64);
  private frameIf = new Int32Array(64);
  private depth = 0;
  private openLoops = 0;
  /** Cost of the current basic block so far. */
  private cost = 0;
  private isDead = false;
  /** Structured blocks opened since the code became dead. */
  private deadDepth = 0;
  private readonly ins: Instruction = newInstruction();

  /** Reads the code from the reader's position, after the local declarations, to its end. */
  scan(reader: Reader, context: ScanContext): void {
    this.blocks.clear();
    this.loops = this.bulks = this.depth = this.openLoops = this.cost = this.deadDepth = 0;
    this.canWrap = true;
    this.isDead = false;
    const { ins } = this;
    this.openFrame(OP.block);
    this.blocks.labelZeroPotential[0] = 1;
    while (this.depth > 0) {
      const at = reader.pos;
      decode(reader, context.space, ins);
      const { opcode } = ins;
      if (this.isDead) this.skipDead(opcode, at, reader.pos);
      else {
        this.cost += COST[opcode]!;
        if (opcode <= LAST_CONTROL) this.control(opcode, at, reader.pos, context);
        else if (IS_BULK[opcode]) this.bulk(opcode, at, reader.pos);
      }
    }
    if (!reader.done) throw invalid('a function body continues after its final end instruction', reader.pos);
  }

  private bulk(opcode: number, at: number, end: number): void {
    this.bulks++;
    this.terminate(Terminator.bulk, opcode, at, end, 0);
  }

  private control(opcode: number, at: number, end: number, context: ScanContext): void {
    switch (opcode) {
      case OP.block:
      case OP.try:
        this.openFrame(opcode);
        return;
      case OP.try_table:
        this.canWrap = false;
        for (const depth of this.ins.labels) this.addHandler(depth, at);
        this.openFrame(opcode);
        return;
      case OP.loop:
        this.loops++;
        if (this.ins.index >= 0) this.canWrap = false;
        this.openFrame(opcode);
        this.blocks.labelZeroPotential[this.blocks.labelCount - 1] = 1;
        this.terminate(Terminator.loop, opcode, at, end, this.blocks.labelCount - 1);
        return;
      case OP.if:
        this.openFrame(opcode);
        this.frameIf[this.depth - 1] = this.blocks.count;
        this.terminate(Terminator.if, opcode, at, end, this.blocks.labelCount - 1);
        return;
      case OP.else:
      case OP.catch:
      case OP.catch_all:
        this.startArm(opcode, at, end, false);
        return;
      case OP.end:
      case OP.delegate:
        this.closeFrame(opcode, at, end, false);
        return;
      default:
        this.transfer(opcode, at, end, context);
        return;
    }
  }

  /** Calls, branches and exits. */
  private transfer(opcode: number, at: number, end: number, context: ScanContext): void {
    switch (opcode) {
      case OP.call: {
        const fuel = context.constantCosts[this.ins.index]!;
        if (fuel >= 0) this.cost += fuel;
        else this.terminate(Terminator.call, opcode, at, end, 0);
        return;
      }
      case OP.call_indirect:
        this.terminate(Terminator.call, opcode, at, end, 0);
        return;
      case OP.br:
        this.terminate(Terminator.br, opcode, at, end, this.target(this.ins.index, at));
        this.isDead = true;
        return;
      case OP.br_if:
        this.terminate(Terminator.brIf, opcode, at, end, this.target(this.ins.index, at));
        return;
      case OP.br_table:
        this.branchTable(opcode, at, end);
        return;
      case OP.unreachable:
        this.terminate(Terminator.trap, opcode, at, end, 0);
        this.isDead = true;
        return;
      case OP.return_call: {
        const fuel = context.constantCosts[this.ins.index]!;
        if (fuel >= 0) this.cost += fuel;
        this.exit(opcode, at, end);
        return;
      }
      case OP.return_call_indirect:
        this.exit(opcode, at, end);
        return;
      case OP.rethrow:
        this.canWrap = false;
        this.exit(opcode, at, end);
        return;
      case OP.return:
      case OP.throw:
      case OP.throw_ref:
        this.exit(opcode, at, end);
        return;
    }
  }

  private exit(opcode: number, at: number, end: number): void {
    this.terminate(Terminator.exit, opcode, at, end, 0);
    this.isDead = true;
  }

  private branchTable(opcode: number, at: number, end: number): void {
    const labels = this.ins.labels.map((depth) => this.target(depth, at));
    // All targets must have the same potential, so it is zero.
    for (const label of labels) this.blocks.labelZeroPotential[label] = 1;
    this.blocks.setTargets(this.terminate(Terminator.brTable, opcode, at, end, 0), labels);
    this.isDead = true;
  }

  private addHandler(depth: number, at: number): void {
    const label = this.target(depth, at);
    this.blocks.labelIsHandler[label] = 1;
    this.blocks.labelZeroPotential[label] = 1;
  }

  private target(depth: number, at: number): number {
    if (depth >= this.depth) throw invalid(`branch depth ${depth} does not exist`, at);
    const label = this.frameLabel[this.depth - 1 - depth]!;
    this.blocks.labelUsed[label] = 1;
    return label;
  }

  private openFrame(opcode: number): void {
    if (this.depth === this.frameOpcode.length) {
      this.frameOpcode = doubleLength(this.frameOpcode);
      this.frameLabel = doubleLength(this.frameLabel);
      this.frameIf = doubleLength(this.frameIf);
    }
    if (opcode === OP.loop) this.openLoops++;
    this.frameOpcode[this.depth] = opcode;
    this.frameLabel[this.depth] = this.blocks.addLabel(this.depth, this.openLoops);
    this.frameIf[this.depth++] = -1;
  }

  /** Handles `else`, `catch` and `catch_all`. `dead` means that the arm before does not fall through. */
  private startArm(opcode: number, at: number, end: number, dead: boolean): void {
    const top = this.depth - 1;
    const label = this.frameLabel[top]!;
    const open = this.frameOpcode[top]!;
    const isAllowed = opcode === OP.else ? open === OP.if : open === OP.try || open === OP.catch;
    if (!isAllowed) throw invalid('an else or catch does not match an if or try', at);
    this.blocks.labelUsed[label] = 1;
    const kind = opcode === OP.else ? Terminator.else : Terminator.catch;
    const block = this.terminate(kind, opcode, at, end, label, dead);
    if (opcode === OP.else) {
      const opening = this.frameIf[top]!;
      this.blocks.link[opening] = block;
      this.blocks.link[block] = opening;
    }
    this.frameOpcode[top] = opcode;
  }

  private closeFrame(opcode: number, at: number, end: number, dead: boolean): void {
    const top = --this.depth;
    const open = this.frameOpcode[top]!;
    const label = this.frameLabel[top]!;
    if (open === OP.loop) this.openLoops--;
    if (opcode === OP.delegate) {
      this.canWrap = false;
      if (open !== OP.try) throw invalid('a delegate does not match a try', at);
      if (this.ins.index >= top) throw invalid(`delegate depth ${this.ins.index} does not exist`, at);
    }
    if (top === 0) this.terminate(Terminator.finish, opcode, at, end, label, dead);
    else if (open === OP.loop) this.terminate(Terminator.loopEnd, opcode, at, end, label, dead);
    else if (dead || open === OP.if || this.blocks.labelUsed[label]) {
      this.terminate(Terminator.end, opcode, at, end, label, dead);
    }
  }

  /** Skips code after an unconditional transfer until its structured block ends. It is neither charged nor copied. */
  private skipDead(opcode: number, at: number, end: number): void {
    switch (opcode) {
      case OP.block:
      case OP.loop:
      case OP.if:
      case OP.try:
      case OP.try_table:
        this.deadDepth++;
        return;
      case OP.else:
      case OP.catch:
      case OP.catch_all:
        if (this.deadDepth > 0) return;
        this.isDead = false;
        this.startArm(opcode, at, end, true);
        return;
      case OP.end:
      case OP.delegate:
        if (this.deadDepth-- > 0) return;
        this.deadDepth = 0;
        this.isDead = false;
        this.closeFrame(opcode, at, end, true);
        return;
    }
  }

  private terminate(
    kind: Terminator,
    opcode: number,
    at: number,
    end: number,
    label: number,
    dead = false,
  ): number {
    const i = this.blocks.add(kind, opcode, at, end, label, dead ? 0 : this.cost);
    if (dead) this.blocks.dead[i] = 1;
    this.blocks.setNesting(i, this.depth, this.openLoops);
    this.cost = 0;
    return i;
  }
}
