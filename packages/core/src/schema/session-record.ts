/** The schema of the record of a session, which is untrusted when a store reads it. */
import * as z from 'zod';
import { described, optionalField, wholeNumber } from './fields.ts';
import { runtimeName, sessionId } from './names.ts';
import { pausedExecution } from './paused-execution.ts';
import { sessionPolicy } from './policy.ts';

const count = wholeNumber(0, Number.MAX_SAFE_INTEGER);
/** These names become part of a program that lists variables, so they must be valid identifiers. */
const identifier = z
  .string()
  .max(200)
  .regex(/^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u);
const recordedModule = z.string().min(1).max(300);

/** Facts about a session that a store lists without loading the session. */
export const sessionRecord = z.strictObject({
  session_id: sessionId.describe('Name of the session.'),
  runtime: runtimeName,
  auto_persist_globals: z.boolean().describe('Whether the interpreter persists between calls.'),
  created_at: z.iso.datetime().describe('Time of creation in ISO 8601.'),
  last_used_at: z.iso.datetime().describe('Time of the last call in ISO 8601.'),
  calls: count.describe('Number of calls so far.'),
  fuel_consumed: count.describe('Fuel that all calls have used.'),
  imports: z.array(recordedModule).max(10_000).describe('Top-level modules that calls have imported.'),
  declared: described(
    z.array(identifier).max(10_000),
    'Top-level names that programs may have declared. Empty for languages whose interpreter can list these names.',
  ),
  preload: z.array(recordedModule).max(10_000).describe('Modules preloaded into the image of the session.'),
  policy: sessionPolicy.describe('Limits that apply unless a caller passes others.'),
  paused: optionalField(
    pausedExecution.pick({ execution_id: true, paused_at: true }),
    'Execution that is waiting for answers to tool calls, if there is one.',
  ),
});
type ReadonlyFields<T> = {
  readonly [K in keyof T]: T[K] extends readonly (infer Item)[] ? readonly Item[] : T[K];
};
/** The stored facts about a session. */
export interface SessionRecord extends ReadonlyFields<z.infer<typeof sessionRecord>> {}
