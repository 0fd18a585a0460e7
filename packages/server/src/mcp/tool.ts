/** The shape of a tool: texts, schemas, annotations and a function. `tools/index.ts` lists all of them. */

import type { Capabilities, ToolResult } from '@llm-wasm-sandbox/core/internal';
import {
  AUTO,
  networkOnly,
  policy,
  SHELL_RUNTIME,
  sessionId,
  withPolicy,
} from '@llm-wasm-sandbox/core/internal';
import type { InputRequiredResult, ToolAnnotations } from '@modelcontextprotocol/server';
import type { z } from 'zod';
import { basePolicy } from '../server/base-policy.ts';
import type { ServerState } from '../server/server-state.ts';
import type { ServerSettings } from '../server/settings.ts';
import type { Tenant } from '../server/tenant.ts';
import type { ClientInput } from './client-input.ts';
import type { McpState } from './mcp-state.ts';
import type { ReportProgress } from './progress-notifications.ts';

const MINIMAL: readonly string[] = ['execute_code', 'read_file', 'write_file', SHELL_RUNTIME];

/** Whether the server offers a tool. The texts of a server mention only tools that it offers. */
export function offersTool({ tools }: Pick<ServerSettings, 'tools'>, name: string): boolean {
  return tools !== 'minimal' || MINIMAL.includes(name);
}

/** The context of one tool call. */
export interface ToolCall {
  readonly mcp: McpState;
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
  /** Arguments that are accepted, but that clients are not told about. */
  readonly unlisted?: readonly string[];
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

// Hints that have their default value are left out: readOnlyHint and idempotentHint are false by default.
export const READ_ONLY = { readOnlyHint: true, openWorldHint: false };
export const ADDITIVE = { destructiveHint: false, openWorldHint: false };
export const DESTRUCTIVE = { destructiveHint: true, openWorldHint: false };
/** Destructive, but a repeated call changes nothing more. */
export const DESTRUCTIVE_IDEMPOTENT = { ...DESTRUCTIVE, idempotentHint: true };

/** Whether the programs of a tenant may send requests. */
export const hasNetwork = ({ allow_net, network_config }: ServerSettings) =>
  allow_net.length > 0 || network_config !== undefined;

/** What the programs of the server can do. */
export function capabilitiesOf(settings: ServerSettings, servers: readonly string[] = []): Capabilities {
  const abilities = {
    addsPackages: settings.packages?.includes(AUTO) === true,
    network: hasNetwork(settings),
    tools: servers.length > 0,
  };
  return withPolicy(abilities, policy.parse(basePolicy(settings)));
}

/** A client that nevertheless asks for requests is told what its operator can do. */
export const unlistedWithoutNetwork = (settings: ServerSettings) =>
  hasNetwork(settings) ? [] : ['network_only'];

export const networkOnlyInput = networkOnly
  .optional()
  .describe('URL patterns that it may request. Default: all that the server permits.');
export const optionalSession = sessionId.optional().describe('Default: the default workspace.');
