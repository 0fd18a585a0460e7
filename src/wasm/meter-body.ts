/**
 * Writes a function body again with fuel code in it: payments where segments begin, the counter moved to where the
 * instruction that ends a segment needs it, checks at loop heads and at the entry of chosen functions.
 * Invariant: calls, throws and returns find the exact counter in the global; at a label it is where all who branch
 * there have put it.
 */
import { Reader, type Writer } from './binary-io.ts';
import { Payments } from './cost-distribution.ts';
import { type ScanContext, Segments } from './find-segments.ts';
import { Counter, OP, VOID } from './fuel-counter.ts';
import { skipLocals } from './locals.ts';
import type { Range } from './parse-module.ts';
import { Event, type EventList } from './segment-list.ts';

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
export class Meter {
  private readonly context: MeterContext;
  private readonly counter: Counter;
  private readonly segments = new Segments();
  private readonly events: EventList = this.segments.events;
  private readonly payments = new Payments();
  private out!: Writer;
  /** Whether loops of this function have blocks around them. */
  private wrapped = false;
  /** Place of the counter at each open `if`, for its else. */
  private readonly atIf = new Map<number, readonly [inLocal: boolean, inGlobal: boolean]>();

  constructor(context: MeterContext) {
    this.context = context;
    this.counter = new Counter(context.fuelGlobal, context.refillFunction);
  }

  /** Appends the metered body of function `index` to `out`. */
  write(index: number, body: Range, params: number, out: Writer): void {
    const { bytes, space } = this.context;
    const { segments } = this;
    const reader = new Reader(bytes, body.start, body.end);
    const locals = skipLocals(reader);
    const code = reader.pos;
    space.locals = params + locals.count;
    segments.scan(reader, this.context);
    this.payments.settle(this.events);
    this.out = out;
    // A short function without loops touches the counter too rarely for a local to be worth it.
    const hasLocal = segments.loops > 0 || this.events.count > 3;
    const hasLength = segments.bulks > 0;
    out.u32(locals.groups + (hasLocal ? 1 : 0) + (hasLength ? 1 : 0));
    out.bytes(bytes, locals.start, code);
    if (hasLocal) out.u8(1).u8(I64);
    if (hasLength) out.u8(1).u8(I32);
    this.wrapped = segments.loops > 0 && segments.canWrap;
    this.counter.begin(out, space.locals, hasLocal);
    if (this.context.entryChecks[index]) this.checkAtEntry(index, params);
    this.code(code);
  }

  private code(start: number): void {
    const { events, out } = this;
    let from = start;
    for (let i = 0; i < events.count; i++) {
      if (!events.dead[i]) {
        if (this.payments.amount[i] !== 0) this.pay(i);
        out.bytes(this.context.bytes, from, events.start[i]!);
        if (events.kind[i] === Event.bulk) this.counter.payBulk(events.slot[i]!);
        this.counter.settle(this.needsLocal(i), this.needsGlobal(i));
      }
      this.instruction(i);
      this.follow(i);
      from = events.after[i]!;
    }
  }

  /** The payment of segment i, left where its end wants it. */
  private pay(i: number): void {
    const { events, counter } = this;
    // After a br_if to a place that wants the global, those who go on want the local again.
    const stays = counter.inLocal && events.kind[i] === Event.brIf;
    counter.pay(this.payments.amount[i]!, stays || this.needsLocal(i), this.needsGlobal(i));
  }

  /** The instruction of event i. */
  private instruction(i: number): void {
    const { events } = this;
    const kind = events.kind[i]!;
    if (this.wrapped && kind === Event.loop) this.openLoop(i);
    else if (this.wrapped && (kind === Event.br || kind === Event.brIf || kind === Event.brTable))
      this.branch(i);
    else {
      this.out.bytes(this.context.bytes, events.start[i]!, events.after[i]!);
      if (this.wrapped && kind === Event.loopEnd) this.closeLoop(events.label[i]!);
    }
  }

  /** A branch, counting the blocks put around the loops it leaves. */
  private branch(i: number): void {
    const { events, out } = this;
    out.u8(events.slot[i]!);
    if (events.kind[i] !== Event.brTable) {
      out.u32(events.depthOf(i, events.label[i]!, AROUND_LOOP));
      return;
    }
    const targets = events.targets(i);
    out.u32(targets.length - 1);
    for (const label of targets) out.u32(events.depthOf(i, label, AROUND_LOOP));
  }

  /**
   * The call that refills stands outside the loop: inside, it would make the optimizing compiler keep every value of
   * the loop in memory, for the sake of a call that hardly ever happens. The result is
   *   block (the type of the loop)  loop  block  loop (the original)  check, br_if 1 …
   */
  private openLoop(i: number): void {
    const { events, out } = this;
    const { bytes } = this.context;
    out.u8(OP.block).bytes(bytes, events.start[i]! + 1, events.after[i]!);
    out.u8(OP.loop).u8(VOID).u8(OP.block).u8(VOID);
    out.bytes(bytes, events.start[i]!, events.after[i]!);
  }

  /**   … end  br 2  end  refill  br 0  end  unreachable  end. */
  private closeLoop(label: number): void {
    const { out, counter } = this;
    const { inLocal, inGlobal } = counter;
    out.u8(OP.br).u8(2).u8(OP.end);
    // What follows is reached from the check alone, and leads back to it.
    this.atLabel(label);
    counter.refill();
    out.u8(OP.br).u8(0).u8(OP.end).u8(OP.unreachable).u8(OP.end);
    counter.inLocal = inLocal;
    counter.inGlobal = inGlobal;
  }

  /** Where the counter is after event i. */
  private follow(i: number): void {
    const { events, counter } = this;
    switch (events.kind[i]) {
      case Event.call:
      case Event.catch:
        counter.inLocal = false;
        counter.inGlobal = true;
        return;
      case Event.loop:
        this.atLabel(events.label[i]!);
        this.checkAtLoop();
        return;
      case Event.end:
        this.atLabel(events.label[i]!);
        return;
      case Event.if:
        this.atIf.set(i, [counter.inLocal, counter.inGlobal]);
        return;
      case Event.else:
        [counter.inLocal, counter.inGlobal] = this.atIf.get(events.link[i]!)!;
        return;
    }
  }

  private atLabel(label: number): void {
    this.counter.inGlobal = this.labelInGlobal(label);
    this.counter.inLocal = !this.counter.inGlobal;
  }

  /** Label 0 is the function itself: branching there returns. Exceptions arrive with the counter in the global. */
  private labelInGlobal(label: number): boolean {
    return !this.counter.hasLocal || label === 0 || this.events.labelThrown[label] === 1;
  }

  private needsGlobal(i: number): boolean {
    const kind = this.events.kind[i];
    if (kind === Event.call || kind === Event.exit || kind === Event.finish) return true;
    return this.goesTo(i, true);
  }

  private needsLocal(i: number): boolean {
    return this.goesTo(i, false);
  }

  /** Whether event i leads to a label that has the counter in the global, or else in the local. */
  private goesTo(i: number, inGlobal: boolean): boolean {
    const { events } = this;
    switch (events.kind[i]) {
      case Event.br:
      case Event.brIf:
      case Event.else:
      case Event.catch:
      case Event.end:
      case Event.loop:
        return this.labelInGlobal(events.label[i]!) === inGlobal;
      case Event.if:
        return events.link[i]! < 0 && this.labelInGlobal(events.label[i]!) === inGlobal;
      case Event.brTable:
        return events.targets(i).some((label) => this.labelInGlobal(label) === inGlobal);
      default:
        return false;
    }
  }

  /**
   * With fuel below zero: refill, then begin again. A second call rather than going on here keeps the optimizing
   * compiler from saving all parameters on the way into every function.
   */
  private checkAtEntry(index: number, params: number): void {
    const { out, counter } = this;
    counter.test();
    out.u8(OP.if).u8(VOID).u8(OP.call).u32(this.context.refillFunction);
    for (let i = 0; i < params; i++) out.u8(OP.localGet).u32(i);
    out.u8(OP.call).u32(index).u8(OP.return).u8(OP.end);
  }

  private checkAtLoop(): void {
    const { out, counter } = this;
    counter.test();
    if (this.wrapped) out.u8(OP.brIf).u8(1);
    else {
      out.u8(OP.if).u8(VOID);
      counter.refill();
      out.u8(OP.end);
    }
  }
}
