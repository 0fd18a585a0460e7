/**
 * Decides what each segment of a body pays.
 *
 * Every point of a body has a potential: fuel already paid for instructions still to come. A segment pays its own
 * cost, plus the potential where it ends, minus the potential where it begins. Where a label is reached from several
 * places, what follows it is paid for by those who come there, so joining costs nothing extra.
 * Invariant: the potential is 0 wherever somebody can look at the counter (calls, throws, returns, loop heads), so
 * there the counter is exact; between them the payments of any path add up to the cost of that path.
 */
import { type BasicBlockList, Terminator } from './basic-block-list.ts';

export class CostDistribution {
  /** Fuel segment i pays; negative where more was paid in advance than turned out to be needed. */
  charges = new Float64Array(1024);
  /** What segment i would have to be paid in advance for it to pay nothing itself. */
  private need = new Float64Array(1024);
  /** Potential at each `if`, and at each label. */
  private atIf = new Float64Array(1024);
  private atLabel = new Float64Array(256);
  private blocks!: BasicBlockList;

  /** Needs are found from the last event to the first, since the end of a block comes after the branches to it. */
  compute(events: BasicBlockList): void {
    this.reserve(events);
    for (let i = events.count - 1; i >= 0; i--) {
      const kind = events.terminator[i]!;
      const label = events.label[i]!;
      if (kind === Terminator.end && !events.labelFixed[label]) this.atLabel[label] = this.need[i + 1]!;
      else if (kind === Terminator.if) this.atIf[i] = this.beforeIf(i);
      // What ends in a trap is never paid: no one is left to notice.
      this.need[i] = kind === Terminator.trap ? 0 : events.cost[i]! + this.before(i);
    }
    for (let i = 0; i < events.count; i++) {
      const free = events.dead[i] || events.terminator[i] === Terminator.trap;
      this.charges[i] = free ? 0 : this.need[i]! - (i === 0 ? 0 : this.after(i - 1));
    }
  }

  private reserve(events: BasicBlockList): void {
    this.blocks = events;
    if (this.charges.length < events.count) {
      this.charges = new Float64Array(events.terminator.length);
      this.need = new Float64Array(events.terminator.length);
      this.atIf = new Float64Array(events.terminator.length);
    }
    if (this.atLabel.length < events.labelCount) this.atLabel = new Float64Array(events.labelUsed.length);
    this.atLabel.fill(0, 0, events.labelCount);
  }

  /** With an else, the cheaper arm is paid for before the `if`, and only the other one has something to add. */
  private beforeIf(i: number): number {
    const other = this.blocks.link[i]!;
    if (other < 0) return this.atLabel[this.blocks.label[i]!]!;
    return Math.min(this.need[i + 1]!, this.need[other + 1]!);
  }

  /** Potential just before the instruction of event i takes effect. */
  private before(i: number): number {
    switch (this.blocks.terminator[i]) {
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

  /** Potential where event i goes on to the segment after it. */
  private after(i: number): number {
    switch (this.blocks.terminator[i]) {
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
