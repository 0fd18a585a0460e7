/** The shape of a tool: texts, schemas, annotations and a function. `tools/index.ts` lists all of them. */
import type { InputRequiredResult, ToolAnnotations } from '@modelcontextprotocol/server';
import type { z } from 'zod';
import { sessionId } from '../schema.ts';
import type { ClientInput } from './client-input.ts';
import type { ReportProgress } from './progress-notifications.ts';
import type { ServerState } from './server-state.ts';
import type { Tenant } from './tenant.ts';
import type { ToolResult } from './tool-result.ts';

/** The context of one tool call. */
export interface ToolCall {
  readonly state: ServerState;
  readonly tenant: Tenant;
  readonly signal: AbortSignal;
  /** Present if the client asked for progress. */
  readonly progress?: ReportProgress | undefined;
  /** Asks the person at the client. */
  readonly input: ClientInput;
}

export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: z.ZodObject;
  /** Other names under which arguments are accepted. */
  readonly aliases?: Readonly<Record<string, string>>;
  /** Absent if the result may be an image, which structured content would hide. */
  readonly output?: z.ZodObject;
  readonly annotations: ToolAnnotations;
  run(args: Record<string, unknown>, call: ToolCall): Promise<ToolResult | InputRequiredResult>;
}

type TypedTool<I extends z.ZodObject> = Omit<Tool, 'input' | 'run'> & {
  readonly input: I;
  run(args: z.output<I>, call: ToolCall): Promise<ToolResult | InputRequiredResult>;
};

/** Infers the type of the arguments from the input schema. */
export function defineTool<I extends z.ZodObject>(definition: TypedTool<I>): Tool {
  return definition as unknown as Tool;
}

const annotations = (
  readOnlyHint: boolean,
  destructiveHint: boolean,
  idempotentHint: boolean,
): ToolAnnotations => ({ readOnlyHint, destructiveHint, idempotentHint, openWorldHint: false });

export const READ_ONLY = annotations(true, false, true);
export const ADDITIVE = annotations(false, false, false);
export const DESTRUCTIVE = annotations(false, true, false);
/** Destructive, but a repeated call changes nothing more. */
export const DESTRUCTIVE_IDEMPOTENT = annotations(false, true, true);

export const optionalSession = sessionId
  .optional()
  .describe('Session to use; without it, the default workspace.');
