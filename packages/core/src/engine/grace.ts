/** The grace period: what an interrupted guest may still use to unwind and to report its location. */
export const GRACE = { fuel: 50_000_000, milliseconds: 40 } as const;
