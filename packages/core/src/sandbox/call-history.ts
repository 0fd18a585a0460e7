/** What a sandbox remembers of its calls for the analysis of later ones. Bounded in number and size. */
import type { EarlierCalls } from '../analysis/input.ts';
import type { ImportFacts, PackageFacts } from '../schema.ts';

const SOURCES_MAX = 16;
const SOURCE_MAX = 32_768;

export class CallHistory {
  readonly #sources: string[] = [];
  readonly #heavyImports = new Map<string, number>();

  /** Earlier calls. `record` is the stored record of the session, which also covers calls before this object was created. */
  earlierCalls(
    record: { auto_persist_globals: boolean; imports: readonly string[] } | undefined,
  ): EarlierCalls {
    const recorded = (record?.imports ?? []).map((name) => [name, 1] as const);
    return {
      persistent: record?.auto_persist_globals ?? false,
      sources: [...this.#sources],
      heavyImports: new Map([...recorded, ...this.#heavyImports]),
    };
  }

  /** Adds a call, after it was analysed. */
  add(code: string, imports: readonly ImportFacts[], packages: readonly PackageFacts[]): void {
    this.#sources.push(code.slice(0, SOURCE_MAX));
    if (this.#sources.length > SOURCES_MAX) this.#sources.shift();
    for (const { name, cached } of imports) {
      const found = packages.find(({ heavy, import_names }) => heavy && import_names.includes(name));
      if (found === undefined || cached) continue;
      this.#heavyImports.set(found.name, (this.#heavyImports.get(found.name) ?? 0) + 1);
    }
  }
}
