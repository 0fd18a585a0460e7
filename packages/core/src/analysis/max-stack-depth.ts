/** The largest depth of a recorded state. Separate from the schema of a profile, which worker threads do not load. */
export const MAX_STACK_DEPTH = 5_000;
