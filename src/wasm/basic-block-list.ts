/**
 * The list of events of a function body: the instructions that end a segment, a run of instructions that execute
 * together. Plain arrays, reused for all bodies of a module; they only ever grow.
 * Invariant: segment i is what stands between event i - 1 and event i, the instruction of event i included.
 */

/** What ends a segment. */
export enum Terminator {
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

export class BasicBlockList {
  count = 0;
  terminator = new Uint8Array(1024);
  /** Where the instruction begins and ends, and its slot in the opcode table. */
  start = new Int32Array(1024);
  after = new Int32Array(1024);
  slot = new Int32Array(1024);
  /** The label the event goes to or defines. */
  label = new Int32Array(1024);
  /** 1 if the segment is never executed: its bytes are left out. */
  dead = new Uint8Array(1024);
  /** For `if`: event of its else, or -1. For `else`: event of its if. For `brTable`: see `targets`. */
  link = new Int32Array(1024);
  /** Fuel of the instructions of the segment. */
  cost = new Float64Array(1024);
  /** Open blocks, and loops among them, where the event is. */
  private depth = new Int32Array(1024);
  private loops = new Int32Array(1024);

  labelCount = 0;
  /** 1 for labels somebody branches to. */
  labelUsed = new Uint8Array(256);
  /** 1 for labels where nothing may be paid in advance. */
  labelFixed = new Uint8Array(256);
  /** 1 for labels an exception arrives at: there the counter is in the global. */
  labelThrown = new Uint8Array(256);
  private labelDepth = new Int32Array(256);
  private labelLoops = new Int32Array(256);

  private readonly tables: (readonly number[])[] = [];

  clear(): void {
    this.count = 0;
    this.labelCount = 0;
    this.tables.length = 0;
  }

  add(kind: Terminator, slot: number, start: number, after: number, label: number, cost: number): number {
    const i = this.count++;
    if (i === this.terminator.length) this.growBlocks();
    this.terminator[i] = kind;
    this.slot[i] = slot;
    this.start[i] = start;
    this.after[i] = after;
    this.label[i] = label;
    this.cost[i] = cost;
    this.dead[i] = 0;
    this.link[i] = -1;
    return i;
  }

  setNesting(i: number, depth: number, loops: number): void {
    this.depth[i] = depth;
    this.loops[i] = loops;
  }

  addLabel(depth: number, loops: number): number {
    const label = this.labelCount++;
    if (label === this.labelUsed.length) this.growLabels();
    this.labelUsed[label] = this.labelFixed[label] = this.labelThrown[label] = 0;
    this.labelDepth[label] = depth;
    this.labelLoops[label] = loops;
    return label;
  }

  setTargets(i: number, labels: readonly number[]): void {
    this.link[i] = this.tables.length;
    this.tables.push(labels);
  }

  /** Labels of a brTable event, the default last. */
  targets(i: number): readonly number[] {
    return this.tables[this.link[i]!]!;
  }

  /** Depth of a label as seen from event i, if every loop stands in `perLoop` more blocks than it did. */
  depthOf(i: number, label: number, perLoop: number): number {
    const loops = this.loops[i]! - this.labelLoops[label]!;
    return this.depth[i]! - 1 - this.labelDepth[label]! + loops * perLoop;
  }

  private growBlocks(): void {
    this.terminator = doubleLength(this.terminator);
    this.start = doubleLength(this.start);
    this.after = doubleLength(this.after);
    this.slot = doubleLength(this.slot);
    this.label = doubleLength(this.label);
    this.dead = doubleLength(this.dead);
    this.link = doubleLength(this.link);
    this.cost = doubleLength(this.cost);
    this.depth = doubleLength(this.depth);
    this.loops = doubleLength(this.loops);
  }

  private growLabels(): void {
    this.labelUsed = doubleLength(this.labelUsed);
    this.labelFixed = doubleLength(this.labelFixed);
    this.labelThrown = doubleLength(this.labelThrown);
    this.labelDepth = doubleLength(this.labelDepth);
    this.labelLoops = doubleLength(this.labelLoops);
  }
}

/** A copy of twice the length. */
export function doubleLength<T extends Uint8Array | Int32Array | Float64Array>(array: T): T {
  const larger = new (array.constructor as new (length: number) => T)(array.length * 2);
  larger.set(array);
  return larger;
}
