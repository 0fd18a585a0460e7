/**
 * Decides how much fuel each basic block of a function body charges.
 *
 * Every point of a body has a potential: fuel already charged for instructions that are still to come. A basic block
 * charges its own cost, plus the potential at its end, minus the potential at its start. The code after a label is
 * charged by the blocks that branch to the label, so a join point needs no charge of its own.
 * Invariant: the potential is zero wherever the counter can be observed (calls, throws, returns, loop heads), so the
 * counter is exact there. Between two such points the charges on any path add up to the cost of that path.
 */
import { type BasicBlockList, Terminator } from './basic-block-list.ts';

export class CostDistribution {
  /** Fuel that basic block i charges. It is negative if a predecessor charged for a more expensive path. */
  charges = new Float64Array(1024);
  /** The potential at the start of basic block i at which the block itself charges nothing. */
  private need = new Float64Array(1024);
  /** Potential at each `if` and at each label. */
  private atIf = new Float64Array(1024);
  private atLabel = new Float64Array(256);
  private blocks!: BasicBlockList;

  /** Works from the last block to the first, since the end of a structured block follows the branches to it. */
  compute(blocks: BasicBlockList): void {
    this.reserve(blocks);
    for (let i = blocks.count - 1; i >= 0; i--) {
      const kind = blocks.kind[i]!;
      const label = blocks.label[i]!;
      if (kind === Terminator.end && !blocks.labelZeroPotential[label])
        this.atLabel[label] = this.need[i + 1]!;
      else if (kind === Terminator.if) this.atIf[i] = this.potentialAtIf(i);
      // A trap ends the program, so a block that ends in one charges nothing.
      this.need[i] = kind === Terminator.trap ? 0 : blocks.cost[i]! + this.potentialBefore(i);
    }
    for (let i = 0; i < blocks.count; i++) {
      const isFree = blocks.dead[i] || blocks.kind[i] === Terminator.trap;
      this.charges[i] = isFree ? 0 : this.need[i]! - (i === 0 ? 0 : this.potentialAfter(i - 1));
    }
  }

  private reserve(blocks: BasicBlockList): void {
    this.blocks = blocks;
    if (this.charges.length < blocks.count) {
      this.charges = new Float64Array(blocks.kind.length);
      this.need = new Float64Array(blocks.kind.length);
      this.atIf = new Float64Array(blocks.kind.length);
    }
    if (this.atLabel.length < blocks.labelCount) this.atLabel = new Float64Array(blocks.labelUsed.length);
    this.atLabel.fill(0, 0, blocks.labelCount);
  }

  /** With an else, the cost of the cheaper arm is charged before the `if`; the other arm charges the difference. */
  private potentialAtIf(i: number): number {
    const other = this.blocks.link[i]!;
    if (other < 0) return this.atLabel[this.blocks.label[i]!]!;
    return Math.min(this.need[i + 1]!, this.need[other + 1]!);
  }

  /** Potential just before terminator i takes effect. */
  private potentialBefore(i: number): number {
    switch (this.blocks.kind[i]) {
      case Terminator.br:
      case Terminator.brIf:
      case Terminator.else:
      case Terminator.catch:
      case Terminator.end:
        return this.atLabel[this.blocks.label[i]!]!;
      case Terminator.if:
        return this.atIf[i]!;
      case Terminator.bulk:
      case Terminator.loopEnd:
        return this.need[i + 1]!;
      default:
        return 0;
    }
  }

  /** Potential after terminator i, where the next basic block starts. */
  private potentialAfter(i: number): number {
    switch (this.blocks.kind[i]) {
      case Terminator.brIf:
      case Terminator.end:
        return this.atLabel[this.blocks.label[i]!]!;
      case Terminator.if:
        return this.atIf[i]!;
      case Terminator.else:
        return this.atIf[this.blocks.link[i]!]!;
      case Terminator.bulk:
      case Terminator.loopEnd:
        return this.need[i + 1]!;
      default:
        return 0;
    }
  }
}
