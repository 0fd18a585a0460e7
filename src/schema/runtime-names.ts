/** The names of runtimes and languages. Separate from the schemas, which worker threads do not load. */

/** The runtimes: one interpreter each. */
export const RUNTIME_NAMES = ['python', 'javascript'] as const;
/** The name of a runtime. */
export type RuntimeName = (typeof RUNTIME_NAMES)[number];

/** The languages of programs and the runtime of each. A runtime can run several languages; the first has its name. */
export const LANGUAGE_RUNTIMES = {
  python: 'python',
  javascript: 'javascript',
  typescript: 'javascript',
} as const satisfies Record<string, RuntimeName>;
/** The name of a language that programs can be written in. */
export type LanguageName = keyof typeof LANGUAGE_RUNTIMES;
export const LANGUAGE_NAMES = Object.keys(LANGUAGE_RUNTIMES) as [LanguageName, ...LanguageName[]];
