/**
 * What a program imported and what each import cost, as its boot script tells. The word comes from the guest and may be
 * a lie; the fuel is the host's own count. One entry per module: what it takes to load more parts of it adds up.
 */

/** Fuel that went into importing a module, and whether it had been loaded before the program began. */
export interface ImportRecord {
  readonly name: string;
  readonly fuel: number;
  readonly cached: boolean;
}

/** Modules kept per run; a program that imports more has told enough. */
const MAX_RECORDS = 256;
const MAX_NAME_LENGTH = 100;

export class ImportLog {
  readonly #records = new Map<string, { fuel: number; cached: boolean }>();
  #current: { name: string; start: number } | undefined;

  /** An import begins; one of a module that is loaded already is over at once. */
  begin(name: string, fuel: number, loaded: boolean): void {
    if (name.length > MAX_NAME_LENGTH) return;
    const record = this.#records.get(name);
    if (record === undefined) {
      if (this.#records.size >= MAX_RECORDS) return;
      this.#records.set(name, { fuel: 0, cached: loaded });
    } else if (!loaded) record.cached = false;
    if (!loaded) this.#current = { name, start: fuel };
  }

  end(fuel: number): void {
    if (this.#current === undefined) return;
    const { name, start } = this.#current;
    this.#records.get(name)!.fuel += Math.max(0, fuel - start);
    this.#current = undefined;
  }

  /** All records in the order of their first mention, an import under way counted up to now; the next run starts anew. */
  close(fuel: number): ImportRecord[] {
    this.end(fuel);
    const all = [...this.#records].map(([name, { fuel: spent, cached }]) => ({ name, fuel: spent, cached }));
    this.#records.clear();
    return all;
  }
}
