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
    .describe('Maximum number of sessions in the store.'),
  max_total_bytes: z
    .number()
    .int()
    .min(1)
    .default(8192 * MiB)
    .describe('Total size of all sessions in bytes at which new sessions are refused.'),
  idle_hours: z
    .number()
    .positive()
    .max(24 * 3660)
    .default(24 * 30)
    .describe('Time in hours after which unused sessions are deleted.'),
});
/** Limits of a registry of sessions. */
export interface SessionLimits extends z.infer<typeof sessionLimits> {}
