/** The limits that a registry of sessions enforces. */
import { z } from 'zod';

const MiB = 1024 * 1024;

export const sessionLimits = z.strictObject({
  max_sessions: z
    .number()
    .int()
    .min(1)
    .max(100_000)
    .default(1000)
    .describe('Sessions that the store may hold.'),
  max_total_bytes: z
    .number()
    .int()
    .min(1)
    .default(8192 * MiB)
    .describe('Bytes that all sessions may take in the store before new ones are refused.'),
  idle_hours: z
    .number()
    .positive()
    .max(24 * 3660)
    .default(24 * 30)
    .describe('Sessions that have not been used for this long are deleted.'),
});
/** Limits of the sessions in a store. */
export interface SessionLimits extends z.infer<typeof sessionLimits> {}
