/** The import order of the modules of all packages. CONTRIBUTING.md and docs/architecture.md show it, and test/docs compares them with it. */

/** Modules from the top down. A file may import from its own module, from its own row and from lower rows. */
export const IMPORT_ORDER: readonly (readonly string[])[] = [
  ['facade'],
  ['cli'],
  ['adapters'],
  ['serve'],
  ['mcp', 'playground', 'e2b', 'jupyter'],
  ['server'],
  ['gateway'],
  ['redteam'],
  ['index'],
  ['jobs'],
  ['model-text'],
  ['session'],
  ['sandbox'],
  ['worker'],
  ['charts'],
  ['runtimes'],
  ['packages'],
  ['engine'],
  ['kernel'],
  ['stores', 'analysis', 'host', 'tools', 'results', 'network'],
  ['wasm', 'fs', 'concurrency'],
  ['schema'],
  ['errors', 'quantities', 'framing'],
];
