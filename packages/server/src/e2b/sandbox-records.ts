/** What E2B knows of a sandbox beyond its session: metadata, timeout, state and contexts. One small JSON text per sandbox. */
import * as z from 'zod';
import { Records } from '../server/records.ts';

const MAX_BYTES = 256 * 1024;

const context = z.strictObject({
  id: z.string(),
  language: z.string(),
  /** Whether programs that name only a language run in it. */
  is_default: z.boolean(),
  /** The folder in which it starts, relative to the workspace. Absent for the workspace itself. */
  cwd: z.string().optional(),
});

const sandboxRecord = z.strictObject({
  sandbox_id: z.string(),
  template: z.string(),
  metadata: z.record(z.string(), z.string()),
  state: z.enum(['running', 'paused', 'snapshot']),
  started_at: z.string(),
  /** Unix time in milliseconds. */
  end_at: z.number(),
  on_timeout: z.enum(['kill', 'pause']),
  keeps_memory: z.boolean(),
  auto_resume: z.boolean(),
  contexts: z.array(context),
  /** The sandbox of which a snapshot was taken, and the name of the snapshot. */
  origin: z.string().optional(),
  name: z.string().optional(),
});

export type ContextRecord = z.infer<typeof context>;
export type SandboxRecord = z.infer<typeof sandboxRecord>;

export const SANDBOX_RECORDS = new Records(sandboxRecord, MAX_BYTES);
