/** Limits on what a guest reports. Separate from the schemas, which worker threads do not load. */

/** Lengths are in code units. Boot scripts count code points, which can be two code units each. */
export const REPORT_MAX = { exitCode: 255, text: 40_100, shortText: 420, typeName: 200, items: 20 } as const;
/** Limits of `stopped_at`: names, characters per name and value, and characters of all names and values. */
export const STOPPED_AT_MAX = { names: 20, text: 200, total: 2_000 } as const;

/** Characters of the complete stacks of a profile as JSON text. */
export const MAX_STACKS_CHARS = 2_000_000;
