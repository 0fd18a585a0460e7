/** The largest depth of a recorded state. Separate from the schema of a profile, which worker threads do not load. */
export const MAX_STATE_DEPTH = 5_000;
