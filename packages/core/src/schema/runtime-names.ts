/** The names of runtimes and languages. Separate from the schemas, which worker threads do not load. */

/** The names of the runtimes. Each runtime is an interpreter. */
export const RUNTIME_NAMES = ['python', 'javascript', 'bash'] as const;
/** The name of a runtime. */
export type RuntimeName = (typeof RUNTIME_NAMES)[number];

/** The name of a language that programs can be written in. */
export type LanguageName = RuntimeName | 'typescript';
/** The runtime of each language. A runtime can run several languages; the first has its name. */
export const LANGUAGE_RUNTIMES: Readonly<Record<LanguageName, RuntimeName>> = {
  ...(Object.fromEntries(RUNTIME_NAMES.map((name) => [name, name])) as Record<RuntimeName, RuntimeName>),
  typescript: 'javascript',
};
/** The names of the languages that programs can be written in. */
export const LANGUAGE_NAMES = Object.keys(LANGUAGE_RUNTIMES) as [LanguageName, ...LanguageName[]];
