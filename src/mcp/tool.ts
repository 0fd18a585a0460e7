/** What a tool is: a row of words, schemas and one function. The table of all of them is in tools.ts. */
import type { ToolAnnotations } from '@modelcontextprotocol/server';
import type { z } from 'zod';
import { sessionId } from '../schema.ts';
import { QueueFullError } from './fair-scheduler.ts';
import type { ToolResult } from './reply.ts';
import type { ServerState } from './server-state.ts';
import type { Tenant } from './tenant.ts';

/** A refusal that is no fault of the sandbox: the model is told and can do something about it. */
export class ToolError extends Error {
  constructor(
    readonly code: 'busy' | 'cancelled' | 'limit',
    message: string,
  ) {
    super(message);
  }
}

export interface Progress {
  readonly fuel_consumed: number;
  readonly fuel_budget: number;
  /** Output since the last report. */
  readonly output: string;
}

/** One call of a tool. */
export interface ToolCall {
  readonly state: ServerState;
  readonly tenant: Tenant;
  readonly signal: AbortSignal;
  /** Present when the client asked for progress. */
  readonly progress?: ((progress: Progress) => void) | undefined;
}

export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: z.ZodObject;
  /** Absent where the answer may be an image, which structured content would hide. */
  readonly output?: z.ZodObject;
  readonly annotations: ToolAnnotations;
  run(args: Record<string, unknown>, call: ToolCall): Promise<ToolResult>;
}

type Row<I extends z.ZodObject> = Omit<Tool, 'input' | 'run'> & {
  readonly input: I;
  run(args: z.output<I>, call: ToolCall): Promise<ToolResult>;
};

/** A row of the table, with the type of its arguments. */
export function defineTool<I extends z.ZodObject>(row: Row<I>): Tool {
  return row as unknown as Tool;
}

/** Runs work that makes a guest compute when the tenant's turn comes; work of one key never runs twice at a time. */
export async function runScheduled<T>(
  { state, tenant }: ToolCall,
  key: string,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await state.scheduler.run(tenant.id, key, signal, work);
  } catch (cause) {
    if (cause instanceof QueueFullError) {
      throw new ToolError(
        'busy',
        `The server is busy: ${cause.message}. Wait for some to end, then try again.`,
      );
    }
    if (signal.aborted && cause === signal.reason) {
      throw new ToolError('cancelled', 'The call was cancelled before its turn came. Nothing was run.');
    }
    throw cause;
  }
}

const annotations = (
  readOnlyHint: boolean,
  destructiveHint: boolean,
  idempotentHint: boolean,
): ToolAnnotations => ({ readOnlyHint, destructiveHint, idempotentHint, openWorldHint: false });

/** Looks and changes nothing. */
export const READ_ONLY = annotations(true, false, true);
/** Adds something; what was there stays. */
export const ADDITIVE = annotations(false, false, false);
/** Replaces or removes something for good; a second time changes nothing more. */
export const DESTRUCTIVE_IDEMPOTENT = annotations(false, true, true);
/** Replaces the present by something else, each time anew. */
export const DESTRUCTIVE = annotations(false, true, false);

export const optionalSession = sessionId
  .optional()
  .describe('Session to use; omitted: the default workspace.');
