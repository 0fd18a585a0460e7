/**
 * The basic blocks of a function body. A basic block is a sequence of instructions that execute together; the last one
 * is its terminator. Calls and bulk instructions also terminate a basic block, because they need the fuel counter.
 * Invariant: basic block i consists of the instructions after terminator i - 1 up to and including terminator i.
 */

export enum Terminator {
  /** A call. The counter must be in the global before it, and is only in the global after it. */
  call,
  br,
  brIf,
  brTable,
  if,
  else,
  /** The end of a structured block that is a branch target or whose end cannot be reached by falling through. */
  end,
  loop,
  loopEnd,
  /** `catch` or `catch_all`: the end of one arm and the start of the next. */
  catch,
  /** An instruction that leaves the function: return, throw, rethrow, throw_ref or a tail call. */
  exit,
  trap,
  /** An instruction whose cost depends on an operand. */
  bulk,
  /** The last `end` of the body. */
  finish,
}

/** A structure of arrays that is reused for all function bodies of a module. The arrays only grow. */
export class BasicBlockList {
  count = 0;
  kind = new Uint8Array(1024);
  /** Byte offsets where the terminator starts and ends. */
  start = new Int32Array(1024);
  end = new Int32Array(1024);
  opcode = new Int32Array(1024);
  /** The label that the terminator branches to or defines. */
  label = new Int32Array(1024);
  /** 1 if the basic block is unreachable. Its bytes are not copied. */
  dead = new Uint8Array(1024);
  /** For `if`: the index of its else, or -1. For `else`: the index of its if. For `brTable`: see `targets`. */
  link = new Int32Array(1024);
  /** Fuel of the instructions in the basic block. */
  cost = new Float64Array(1024);
  /** Number of open structured blocks, and of loops among them, at the terminator. */
  private depth = new Int32Array(1024);
  private loops = new Int32Array(1024);

  labelCount = 0;
  /** 1 for labels that are branch targets. */
  labelUsed = new Uint8Array(256);
  /** 1 for labels whose potential must be zero (see cost-distribution.ts). */
  labelZeroPotential = new Uint8Array(256);
  /** 1 for labels that exceptions are delivered to. There the counter is in the global. */
  labelIsHandler = new Uint8Array(256);
  private labelDepth = new Int32Array(256);
  private labelLoops = new Int32Array(256);

  private readonly tables: (readonly number[])[] = [];

  clear(): void {
    this.count = 0;
    this.labelCount = 0;
    this.tables.length = 0;
  }

  add(kind: Terminator, opcode: number, start: number, end: number, label: number, cost: number): number {
    const i = this.count++;
    if (i === this.kind.length) this.growBlocks();
    this.kind[i] = kind;
    this.opcode[i] = opcode;
    this.start[i] = start;
    this.end[i] = end;
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
    this.labelUsed[label] = this.labelZeroPotential[label] = this.labelIsHandler[label] = 0;
    this.labelDepth[label] = depth;
    this.labelLoops[label] = loops;
    return label;
  }

  setTargets(i: number, labels: readonly number[]): void {
    this.link[i] = this.tables.length;
    this.tables.push(labels);
  }

  /** Labels of a `brTable` terminator; the default label is the last. */
  targets(i: number): readonly number[] {
    return this.tables[this.link[i]!]!;
  }

  /** Branch depth of a label at terminator i, if every loop is wrapped in `perLoop` additional blocks. */
  depthOf(i: number, label: number, perLoop: number): number {
    const loops = this.loops[i]! - this.labelLoops[label]!;
    return this.depth[i]! - 1 - this.labelDepth[label]! + loops * perLoop;
  }

  private growBlocks(): void {
    this.kind = doubleLength(this.kind);
    this.start = doubleLength(this.start);
    this.end = doubleLength(this.end);
    this.opcode = doubleLength(this.opcode);
    this.label = doubleLength(this.label);
    this.dead = doubleLength(this.dead);
    this.link = doubleLength(this.link);
    this.cost = doubleLength(this.cost);
    this.depth = doubleLength(this.depth);
    this.loops = doubleLength(this.loops);
  }

  private growLabels(): void {
    this.labelUsed = doubleLength(this.labelUsed);
    this.labelZeroPotential = doubleLength(this.labelZeroPotential);
    this.labelIsHandler = doubleLength(this.labelIsHandler);
    this.labelDepth = doubleLength(this.labelDepth);
    this.labelLoops = doubleLength(this.labelLoops);
  }
}

/** A copy of the array with twice the length. */
export function doubleLength<T extends Uint8Array | Int32Array | Float64Array>(array: T): T {
  const larger = new (array.constructor as new (length: number) => T)(array.length * 2);
  larger.set(array);
  return larger;
}
