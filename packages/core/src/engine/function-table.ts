/**
 * The function table of a guest beyond the entries of its main module: a part for each side module, and single slots for
 * functions whose address is taken but which have no entry.
 * Invariant: entries from `end` on are null. The table itself cannot shrink.
 */
import { LinkFailure } from './link-failure.ts';
import { MAX_SLOTS, MAX_TABLE_ENTRIES } from './link-state.ts';
import type { LinkedModule } from './linked-module.ts';

/** A slot that holds a function; without a module it is one of the main module. */
export interface Slot {
  readonly slot: number;
  readonly module: LinkedModule | undefined;
  readonly name: string;
}

export class FunctionTable {
  /** Number of entries of the main module. */
  readonly start: number;
  /** Number of entries in use. */
  end: number;
  #slots: Slot[] = [];
  /** The slots by module and name. */
  readonly #slotOf = new Map<LinkedModule | undefined, Map<string, number>>();

  constructor(readonly table: WebAssembly.Table) {
    this.start = table.length;
    this.end = table.length;
  }

  get slots(): readonly Slot[] {
    return this.#slots;
  }

  /** Reserves entries for a module and returns the first. */
  reserve(size: number, align: number): number {
    const base = Math.ceil(this.end / align) * align;
    this.#growTo(base + size);
    this.end = base + size;
    return base;
  }

  #growTo(entries: number): void {
    if (entries > MAX_TABLE_ENTRIES) throw new LinkFailure('the function table is full');
    if (entries > this.table.length) this.table.grow(entries - this.table.length);
  }

  /** The slot of a function that has no entry of its own, assigned on first use. */
  slotFor(module: LinkedModule | undefined, name: string, target: () => unknown): number {
    const known = this.#slotOf.get(module)?.get(name);
    if (known !== undefined) return known;
    if (this.#slots.length >= MAX_SLOTS) throw new LinkFailure('too many function pointers');
    const slot = this.reserve(1, 1);
    this.table.set(slot, target());
    this.#add({ slot, module, name });
    return slot;
  }

  #add(slot: Slot): void {
    this.#slots.push(slot);
    const named = this.#slotOf.get(slot.module) ?? new Map<string, number>();
    this.#slotOf.set(slot.module, named.set(slot.name, slot.slot));
  }

  /** Clears the entries from `end` on, with their slots. */
  truncate(end: number): void {
    for (let index = end; index < this.end; index++) this.table.set(index, null);
    this.end = Math.min(this.end, end);
    this.#replaceSlots(this.#slots.filter(({ slot }) => slot < end));
  }

  /** Clears all slots and everything from `from` on, and makes room for a state that ends at `end`. */
  clear(from: number, end: number): void {
    for (const { slot } of this.#slots) this.table.set(slot, null);
    for (let index = from; index < this.end; index++) this.table.set(index, null);
    this.#growTo(end);
    this.end = end;
    this.#replaceSlots([]);
  }

  /** Sets the slots of a saved state. */
  setSlots(slots: readonly Slot[], target: (slot: Slot) => unknown): void {
    for (const slot of slots) this.table.set(slot.slot, target(slot));
    this.#replaceSlots(slots);
  }

  #replaceSlots(slots: readonly Slot[]): void {
    this.#slots = [];
    this.#slotOf.clear();
    for (const slot of slots) this.#add(slot);
  }
}
