/**
 * The modules that a program imported and the fuel each import cost. The guest reports when an import
 * starts and ends, and may report anything; the host counts the fuel. There is one record per module, to which the cost
 * of importing its submodules is added.
 */

export interface ImportRecord {
  readonly name: string;
  /** Fuel that importing the module cost. */
  readonly fuel: number;
  /** Whether the module was already loaded when the program started. */
  readonly cached: boolean;
}

/** Maximum number of modules recorded per run; further ones are ignored. */
const MAX_RECORDS = 256;
const MAX_NAME_LENGTH = 100;

export class ImportLog {
  readonly #records = new Map<string, { fuel: number; cached: boolean }>();
  #current: { name: string; start: number } | undefined;

  /** Records the start of an import. An import of a module that is already loaded has no end. */
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

  /** Returns all records in the order of their first import and clears the log. An unfinished import ends now. */
  close(fuel: number): ImportRecord[] {
    this.end(fuel);
    const all = [...this.#records].map(([name, { fuel: spent, cached }]) => ({ name, fuel: spent, cached }));
    this.#records.clear();
    return all;
  }
}
