/**
 * Cuts a function body into segments (runs of instructions that execute together) and decides what each one pays.
 *
 * Every point of a body has a potential: fuel already paid for instructions still to come. A segment pays its own
 * cost, plus the potential where it ends, minus the potential where it begins. Where a label is reached from several
 * places, what follows it is paid for by those who come there, so joining costs nothing extra.
 * Invariant: the potential is 0 wherever somebody can look at the counter (calls, throws, returns, loop heads), so
 * there the counter is exact; between them the payments of any path add up to the cost of that path.
 */
import { invalid, type Reader } from './binary.ts';
import { decode, type IndexSpace, type Instruction, newInstruction } from './decode.ts';
import { COST, IS_BULK } from './opcodes.ts';

/** What ends a segment. */
export enum Event {
  /** A call: the counter must be in the global before, and is only there after. */
  call,
  br,
  brIf,
  brTable,
  if,
  else,
  /** The end of a block somebody may branch to, or of one whose last instruction is not reached. */
  end,
  loop,
  loopEnd,
  /** `catch` or `catch_all`: the end of one arm and the begin of another. */
  catch,
  /** Leaves the function: return, throw, rethrow, throw_ref, tail calls. */
  exit,
  trap,
  /** An instruction whose cost depends on an operand. */
  bulk,
  /** The last `end` of the body. */
  finish,
}

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
  readonly prepaid: Int32Array;
}

/** Reused for all bodies of a module: the arrays only ever grow. */
export class Segments {
  /** Number of events; segment i is what comes before event i. */
  count = 0;
  kind = new Uint8Array(1024);
  /** Where the event's instruction begins and ends. */
  start = new Int32Array(1024);
  after = new Int32Array(1024);
  slot = new Int32Array(1024);
  /** The label the event goes to or defines. */
  label = new Int32Array(1024);
  /** 1 if the segment is never executed: its bytes are left out. */
  dead = new Uint8Array(1024);
  /**
   * For `if`: event of its else, or -1. For `else`: event of its if. For `brTable`: index in `tables`. */
  link = new Int32Array(1024);
  /** Fuel the segment pays; may be negative where more was paid in advance than turned out to be needed. */
  pay = new Float64Array(1024);
  labelCount = 0;
  /** 1 for labels an exception arrives at: there the counter is in the global. */
  labelThrown = new Uint8Array(256);
  loops = 0;
  bulks = 0;
  /** Whether blocks may be put around loops: only branches are adjusted to them, and loops take no operands. */
  canWrap = true;

  private readonly tables: (readonly number[])[] = [];
  private eventDepth = new Int32Array(1024);
  private eventLoops = new Int32Array(1024);
  private labelFrame = new Int32Array(256);
  private labelLoops = new Int32Array(256);
  private openLoops = 0;
  private cost = new Float64Array(1024);
  private need = new Float64Array(1024);
  private split = new Float64Array(1024);
  private labelUsed = new Uint8Array(256);
  private labelFixed = new Uint8Array(256);
  private labelPaid = new Float64Array(256);
  private frameOp = new Uint8Array(64);
  private frameLabel = new Int32Array(64);
  private frameIf = new Int32Array(64);
  private depth = 0;
  private running = 0;
  private isDead = 0;
  private deadDepth = 0;
  private readonly ins: Instruction = newInstruction();

  /** Reads the code at the reader (after the local declarations) to its end. */
  scan(reader: Reader, context: ScanContext): void {
    this.count = this.labelCount = this.loops = this.bulks = 0;
    this.canWrap = true;
    this.openLoops = this.depth = this.running = this.isDead = this.deadDepth = 0;
    this.tables.length = 0;
    const { ins } = this;
    this.enter(Op.block);
    this.labelFixed[0] = 1;
    while (this.depth > 0) {
      const at = reader.pos;
      decode(reader, context.space, ins);
      const { slot } = ins;
      if (this.isDead) this.skipDead(slot, at, reader.pos);
      else {
        this.running += COST[slot]!;
        if (slot <= LAST_CONTROL) this.control(slot, at, reader.pos, context);
        else if (IS_BULK[slot]) this.bulk(slot, at, reader.pos);
      }
    }
    if (!reader.done) throw invalid('a function body goes on after its end', reader.pos);
    this.settle();
  }

  private bulk(slot: number, at: number, after: number): void {
    this.bulks++;
    this.event(Event.bulk, slot, at, after, 0);
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
        this.frameIf[this.depth - 1] = this.count;
        this.labelFixed[this.labelCount - 1] = 1;
        this.event(Event.loop, slot, at, after, this.labelCount - 1);
        return;
      case Op.if:
        this.enter(slot);
        this.frameIf[this.depth - 1] = this.count;
        this.event(Event.if, slot, at, after, this.labelCount - 1);
        return;
      case Op.else:
      case Op.catch:
      case Op.catchAll:
        this.nextArm(slot, at, after, 0);
        return;
      case Op.end:
      case Op.delegate:
        this.leave(slot, at, after, 0);
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
        const fuel = context.prepaid[this.ins.index]!;
        if (fuel >= 0) this.running += fuel;
        else this.call(slot, at, after);
        return;
      }
      case Op.callIndirect:
        this.call(slot, at, after);
        return;
      case Op.br:
        this.event(Event.br, slot, at, after, this.target(this.ins.index, at));
        this.isDead = 1;
        return;
      case Op.brIf:
        this.event(Event.brIf, slot, at, after, this.target(this.ins.index, at));
        return;
      case Op.brTable:
        this.branchTable(slot, at, after);
        return;
      case Op.unreachable:
        this.event(Event.trap, slot, at, after, 0);
        this.isDead = 1;
        return;
      case Op.returnCall: {
        const fuel = context.prepaid[this.ins.index]!;
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
    this.event(Event.call, slot, at, after, 0);
  }

  private exit(slot: number, at: number, after: number): void {
    this.event(Event.exit, slot, at, after, 0);
    this.isDead = 1;
  }

  private branchTable(slot: number, at: number, after: number): void {
    const labels = this.ins.labels.map((depth) => this.target(depth, at));
    // One potential must serve all targets.
    for (const label of labels) this.labelFixed[label] = 1;
    this.link[this.event(Event.brTable, slot, at, after, 0)] = this.tables.length;
    this.tables.push(labels);
    this.isDead = 1;
  }

  /** Labels of a brTable event, the default last. */
  targets(i: number): readonly number[] {
    return this.tables[this.link[i]!]!;
  }

  private thrown(depth: number, at: number): void {
    const label = this.target(depth, at);
    this.labelThrown[label] = 1;
    this.labelFixed[label] = 1;
  }

  /** Depth of a label as seen from event i, if every loop stands in `perLoop` more blocks than it did. */
  depthOf(i: number, label: number, perLoop: number): number {
    const loops = this.eventLoops[i]! - this.labelLoops[label]!;
    return this.eventDepth[i]! - 1 - this.labelFrame[label]! + loops * perLoop;
  }

  private target(depth: number, at: number): number {
    if (depth >= this.depth) throw invalid(`branch depth ${depth} does not exist`, at);
    const label = this.frameLabel[this.depth - 1 - depth]!;
    this.labelUsed[label] = 1;
    return label;
  }

  private enter(op: number): void {
    if (this.depth === this.frameOp.length) {
      this.frameOp = grow(this.frameOp);
      this.frameLabel = grow(this.frameLabel);
      this.frameIf = grow(this.frameIf);
    }
    if (this.labelCount === this.labelUsed.length) {
      this.labelUsed = grow(this.labelUsed);
      this.labelFixed = grow(this.labelFixed);
      this.labelThrown = grow(this.labelThrown);
      this.labelPaid = grow(this.labelPaid);
      this.labelFrame = grow(this.labelFrame);
      this.labelLoops = grow(this.labelLoops);
    }
    const label = this.labelCount++;
    this.labelUsed[label] = this.labelFixed[label] = this.labelThrown[label] = 0;
    this.frameOp[this.depth] = op;
    if (op === Op.loop) this.openLoops++;
    this.labelLoops[label] = this.openLoops;
    this.labelFrame[label] = this.depth;
    this.frameLabel[this.depth] = label;
    this.frameIf[this.depth++] = -1;
  }

  /** `else`, `catch`, `catch_all`; `dead` tells whether the arm before runs into it. */
  private nextArm(slot: number, at: number, after: number, dead: number): void {
    const top = this.depth - 1;
    const label = this.frameLabel[top]!;
    const op = this.frameOp[top]!;
    const fits = slot === Op.else ? op === Op.if : op === Op.try || op === Op.catch;
    if (!fits) throw invalid('else or catch stands where none can be', at);
    this.labelUsed[label] = 1;
    const event = this.event(slot === Op.else ? Event.else : Event.catch, slot, at, after, label, dead);
    if (slot === Op.else) {
      const opening = this.frameIf[top]!;
      this.link[opening] = event;
      this.link[event] = opening;
      this.frameOp[top] = Op.else;
    } else {
      this.frameOp[top] = slot === Op.catch ? Op.catch : Op.catchAll;
    }
  }

  private leave(slot: number, at: number, after: number, dead: number): void {
    const top = --this.depth;
    const op = this.frameOp[top]!;
    const label = this.frameLabel[top]!;
    if (op === Op.loop) this.openLoops--;
    if (slot === Op.delegate) {
      this.canWrap = false;
      if (op !== Op.try) throw invalid('delegate stands where none can be', at);
      if (this.ins.index >= top) throw invalid(`delegate depth ${this.ins.index} does not exist`, at);
    }
    if (top === 0) this.event(Event.finish, slot, at, after, label, dead);
    else if (op === Op.loop) {
      this.link[this.event(Event.loopEnd, slot, at, after, label, dead)] = this.frameIf[top]!;
    } else if (dead || op === Op.if || this.labelUsed[label]) {
      this.event(Event.end, slot, at, after, label, dead);
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
        this.isDead = 0;
        this.nextArm(slot, at, after, 1);
        return;
      case Op.end:
      case Op.delegate:
        if (this.deadDepth-- > 0) return;
        this.deadDepth = 0;
        this.isDead = 0;
        this.leave(slot, at, after, 1);
        return;
    }
  }

  private event(kind: Event, slot: number, at: number, after: number, label: number, dead = 0): number {
    const i = this.count++;
    if (i === this.kind.length) this.growEvents();
    this.kind[i] = kind;
    this.slot[i] = slot;
    this.start[i] = at;
    this.after[i] = after;
    this.label[i] = label;
    this.dead[i] = dead;
    this.link[i] = -1;
    this.eventDepth[i] = this.depth;
    this.eventLoops[i] = this.openLoops;
    this.cost[i] = dead ? 0 : this.running;
    this.running = 0;
    return i;
  }

  private growEvents(): void {
    this.kind = grow(this.kind);
    this.slot = grow(this.slot);
    this.start = grow(this.start);
    this.after = grow(this.after);
    this.label = grow(this.label);
    this.dead = grow(this.dead);
    this.link = grow(this.link);
    this.pay = grow(this.pay);
    this.eventDepth = grow(this.eventDepth);
    this.eventLoops = grow(this.eventLoops);
    this.cost = grow(this.cost);
    this.need = grow(this.need);
    this.split = grow(this.split);
  }

  /** Works out the payments: needs from the last event to the first, since a label's end comes after its uses. */
  private settle(): void {
    for (let i = this.count - 1; i >= 0; i--) {
      const kind = this.kind[i]!;
      if (kind === Event.end) {
        const label = this.label[i]!;
        this.labelPaid[label] = this.labelFixed[label] ? 0 : this.need[i + 1]!;
      } else if (kind === Event.if) this.split[i] = this.potentialAtIf(i);
      this.need[i] = kind === Event.trap ? 0 : this.cost[i]! + this.potentialBefore(i);
    }
    for (let i = 0; i < this.count; i++) {
      const free = this.dead[i] || this.kind[i] === Event.trap;
      this.pay[i] = free ? 0 : this.need[i]! - (i === 0 ? 0 : this.potentialAfter(i - 1));
    }
  }

  /** With an else, the cheaper arm is paid for before the `if`, and only the other one has something to add. */
  private potentialAtIf(i: number): number {
    const other = this.link[i]!;
    if (other < 0) return this.paidAt(this.label[i]!);
    return Math.min(this.need[i + 1]!, this.need[other + 1]!);
  }

  private paidAt(label: number): number {
    return this.labelFixed[label] ? 0 : this.labelPaid[label]!;
  }

  private potentialBefore(i: number): number {
    switch (this.kind[i]) {
      case Event.br:
      case Event.brIf:
      case Event.else:
      case Event.catch:
      case Event.end:
        return this.paidAt(this.label[i]!);
      case Event.if:
        return this.split[i]!;
      case Event.bulk:
      case Event.loopEnd:
        return this.need[i + 1]!;
      default:
        return 0;
    }
  }

  private potentialAfter(i: number): number {
    switch (this.kind[i]) {
      case Event.brIf:
      case Event.end:
        return this.paidAt(this.label[i]!);
      case Event.if:
        return this.split[i]!;
      case Event.else:
        return this.split[this.link[i]!]!;
      case Event.bulk:
      case Event.loopEnd:
        return this.need[i + 1]!;
      default:
        return 0;
    }
  }
}

function grow<T extends Uint8Array | Int32Array | Float64Array>(array: T): T {
  const larger = new (array.constructor as new (length: number) => T)(array.length * 2);
  larger.set(array);
  return larger;
}
