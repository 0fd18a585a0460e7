/**
 * The modules that a program imported and the fuel each import cost. The runtime reports when an import starts and ends;
 * the host counts the fuel. There is one record per module, to which the cost of importing its submodules is added.
 */

export interface ImportRecord {
  readonly name: string;
  /** Fuel that importing the module cost. */
  readonly fuel: number;
  /** Whether the module was already loaded when the program started. */
  readonly cached: boolean;
}

/** Maximum number of modules recorded per run; further ones are ignored. */
export const MAX_IMPORTS = 256;
export const MAX_IMPORT_NAME = 100;

export class ImportLog {
  readonly #records = new Map<string, { fuel: number; cached: boolean }>();
  /** A limit was reached during an import: modules may be half loaded. */
  isInterrupted = false;
  #current: { name: string; start: number; id: number; isNew: boolean } | undefined;

  /** Records the start of an import. An import of a module that is already loaded has no end. `id` identifies the import. */
  begin(name: string, fuel: number, loaded: boolean, id = 0): void {
    if (name.length > MAX_IMPORT_NAME) return;
    const record = this.#records.get(name);
    if (record === undefined) {
      if (this.#records.size >= MAX_IMPORTS) return;
      this.#records.set(name, { fuel: 0, cached: loaded });
    } else if (!loaded) record.cached = false;
    if (!loaded) this.#current = { name, start: fuel, id, isNew: record === undefined };
  }

  /** Records the end of the import with this id. `isLoaded` is given if it failed: the module may still have been loaded. */
  end(fuel: number, id = 0, isLoaded: (name: string) => boolean = () => true): void {
    if (this.#current === undefined || this.#current.id !== id) return;
    const { name, start, isNew } = this.#current;
    this.#current = undefined;
    if (isNew && !isLoaded(name)) this.#records.delete(name);
    else this.#records.get(name)!.fuel += Math.max(0, fuel - start);
  }

  /**
   * Returns all records in the order of their first import and clears the log. An import that is unfinished because the
   * guest was stopped ends now. If the guest returned, the program has suppressed the end, and the fuel is unknown.
   */
  close(fuel: number, hasReturned: boolean): ImportRecord[] {
    if (!hasReturned && this.#current !== undefined) this.end(fuel, this.#current.id);
    this.#current = undefined;
    const all = [...this.#records].map(([name, { fuel: spent, cached }]) => ({ name, fuel: spent, cached }));
    this.#records.clear();
    this.isInterrupted = false;
    return all;
  }
}
