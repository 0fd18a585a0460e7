/**
 * Decides what each segment of a body pays.
 *
 * Every point of a body has a potential: fuel already paid for instructions still to come. A segment pays its own
 * cost, plus the potential where it ends, minus the potential where it begins. Where a label is reached from several
 * places, what follows it is paid for by those who come there, so joining costs nothing extra.
 * Invariant: the potential is 0 wherever somebody can look at the counter (calls, throws, returns, loop heads), so
 * there the counter is exact; between them the payments of any path add up to the cost of that path.
 */
import { Event, type EventList } from './segment-list.ts';

export class Payments {
  /** Fuel segment i pays; negative where more was paid in advance than turned out to be needed. */
  amount = new Float64Array(1024);
  /** What segment i would have to be paid in advance for it to pay nothing itself. */
  private need = new Float64Array(1024);
  /** Potential at each `if`, and at each label. */
  private atIf = new Float64Array(1024);
  private atLabel = new Float64Array(256);
  private events!: EventList;

  /** Needs are found from the last event to the first, since the end of a block comes after the branches to it. */
  settle(events: EventList): void {
    this.reserve(events);
    for (let i = events.count - 1; i >= 0; i--) {
      const kind = events.kind[i]!;
      const label = events.label[i]!;
      if (kind === Event.end && !events.labelFixed[label]) this.atLabel[label] = this.need[i + 1]!;
      else if (kind === Event.if) this.atIf[i] = this.beforeIf(i);
      // What ends in a trap is never paid: no one is left to notice.
      this.need[i] = kind === Event.trap ? 0 : events.cost[i]! + this.before(i);
    }
    for (let i = 0; i < events.count; i++) {
      const free = events.dead[i] || events.kind[i] === Event.trap;
      this.amount[i] = free ? 0 : this.need[i]! - (i === 0 ? 0 : this.after(i - 1));
    }
  }

  private reserve(events: EventList): void {
    this.events = events;
    if (this.amount.length < events.count) {
      this.amount = new Float64Array(events.kind.length);
      this.need = new Float64Array(events.kind.length);
      this.atIf = new Float64Array(events.kind.length);
    }
    if (this.atLabel.length < events.labelCount) this.atLabel = new Float64Array(events.labelUsed.length);
    this.atLabel.fill(0, 0, events.labelCount);
  }

  /** With an else, the cheaper arm is paid for before the `if`, and only the other one has something to add. */
  private beforeIf(i: number): number {
    const other = this.events.link[i]!;
    if (other < 0) return this.atLabel[this.events.label[i]!]!;
    return Math.min(this.need[i + 1]!, this.need[other + 1]!);
  }

  /** Potential just before the instruction of event i takes effect. */
  private before(i: number): number {
    switch (this.events.kind[i]) {
      case Event.br:
      case Event.brIf:
      case Event.else:
      case Event.catch:
      case Event.end:
        return this.atLabel[this.events.label[i]!]!;
      case Event.if:
        return this.atIf[i]!;
      case Event.bulk:
      case Event.loopEnd:
        return this.need[i + 1]!;
      default:
        return 0;
    }
  }

  /** Potential where event i goes on to the segment after it. */
  private after(i: number): number {
    switch (this.events.kind[i]) {
      case Event.brIf:
      case Event.end:
        return this.atLabel[this.events.label[i]!]!;
      case Event.if:
        return this.atIf[i]!;
      case Event.else:
        return this.atIf[this.events.link[i]!]!;
      case Event.bulk:
      case Event.loopEnd:
        return this.need[i + 1]!;
      default:
        return 0;
    }
  }
}
