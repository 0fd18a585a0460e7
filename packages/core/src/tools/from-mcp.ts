/**
 * Makes the tools of an MCP server available to programs. Everything from the server is untrusted: lists are bounded, tools
 * whose schemas cannot be checked are skipped, and results are data.
 */
import { Slices } from '../concurrency/slices.ts';
import { invalidArgument, SandboxError } from '../errors.ts';
import { ToolError } from './tool-error.ts';
import { readSchema } from './tool-schema.ts';
import { MAX_DESCRIPTION_CHARS, MAX_TOOLS, type ToolContext, type ToolDefinition } from './toolset.ts';
import { isObject } from './validate-value.ts';

const MAX_PAGES = 50;
/** After this time, no further page is requested and no further tool is checked. */
const LIST_TIMEOUT_MS = 10_000;
const MAX_SCHEMA_CHARS = 64 * 1024;
const MAX_NAME_CHARS = 128;

/** A tool in the list of an MCP server. */
export interface McpTool {
  /** Name of the tool. */
  readonly name: string;
  /** What the tool does and returns. */
  readonly description?: string | undefined;
  /** JSON Schema of the arguments. */
  readonly inputSchema?: unknown;
  /** JSON Schema of the structured content. */
  readonly outputSchema?: unknown;
  /** Hints from the server. */
  readonly annotations?: McpToolHints | undefined;
}

/** Hints from an MCP server about a tool. */
export interface McpToolHints {
  /** Whether the tool only reads. */
  readonly readOnlyHint?: boolean | undefined;
}

/** The methods of an MCP client that `fromMcp` uses. The class `Client` of the official SDK, v1 or v2, has them. */
export interface McpClient {
  /** Returns one page of the list of tools. */
  // biome-ignore lint/suspicious/noExplicitAny: v1 and v2 of the SDK have different types
  listTools(params?: any, options?: any): Promise<any>;
  /** Calls a tool. */
  // biome-ignore lint/suspicious/noExplicitAny: v1 and v2 of the SDK have different types
  callTool(params: any, ...rest: any[]): Promise<any>;
}

/** Options of `fromMcp`. */
export interface FromMcpOptions {
  /** Names of the tools to offer. Default: all tools. */
  readonly tools?: readonly string[];
  /** Whether a person has to approve calls. Default: true for tools without `readOnlyHint`, otherwise false. */
  readonly needsApproval?: boolean | ((tool: McpTool) => boolean);
  /** Maximum time of one call in milliseconds. Default: 60,000. */
  readonly timeoutMs?: number;
  /** Maximum number of calls to each tool per run. Default: no limit. */
  readonly maxCalls?: number;
  /** Called with the name of each tool that cannot be offered, and the reason. */
  readonly onSkip?: (name: string, reason: string) => void;
}

/**
 * Returns the tools of an MCP server, for use as a namespace: `tools: { github: await fromMcp(client) }`. The list of tools
 * is read once. A call returns the structured content if the server sends it. Otherwise the call returns the text if there
 * is only text, or else the list of content blocks. Throws `invalid_argument` if the server does not return a list of tools.
 */
export async function fromMcp(
  client: McpClient,
  options: FromMcpOptions = {},
): Promise<Record<string, ToolDefinition>> {
  const { needsApproval = isNotReadOnly, onSkip } = options;
  const tools = Object.create(null) as Record<string, ToolDefinition>;
  const deadlineMs = performance.now() + LIST_TIMEOUT_MS;
  const slices = new Slices();
  for (const listed of await listTools(client, deadlineMs)) {
    await slices.pause();
    const tool = (isObject(listed) ? listed : {}) as Partial<McpTool> as McpTool;
    if (options.tools !== undefined && !options.tools.includes(tool.name)) continue;
    const reason = Object.hasOwn(tools, tool.name)
      ? 'another tool has the same name'
      : performance.now() > deadlineMs
        ? 'the list took too long'
        : whyUnusable(tool);
    if (reason !== undefined) {
      onSkip?.(String(tool.name).slice(0, MAX_NAME_CHARS), reason);
      continue;
    }
    const { description, inputSchema, outputSchema } = tool;
    tools[tool.name] = {
      ...(typeof description === 'string' && { description: description.slice(0, MAX_DESCRIPTION_CHARS) }),
      ...(inputSchema !== undefined && { inputSchema: inputSchema as Record<string, unknown> }),
      ...(outputSchema !== undefined && { outputSchema: outputSchema as Record<string, unknown> }),
      needsApproval: typeof needsApproval === 'function' ? needsApproval(tool) : needsApproval,
      ...(options.timeoutMs !== undefined && { timeoutMs: options.timeoutMs }),
      ...(options.maxCalls !== undefined && { maxCalls: options.maxCalls }),
      execute: (args: unknown, context: ToolContext) =>
        callTool(client, tool.name, args, outputSchema !== undefined, context.signal),
    };
  }
  return tools;
}

/** Only an explicit hint counts. It is trusted because the user has configured the server. */
export const isNotReadOnly = ({ annotations }: McpTool): boolean => annotations?.readOnlyHint !== true;

/** Reads all pages of the list, up to the limits. */
async function listTools(client: McpClient, deadlineMs: number): Promise<unknown[]> {
  const tools: unknown[] = [];
  const seen = new Set<string>();
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES && performance.now() < deadlineMs; page++) {
    const result: unknown = await client.listTools(cursor === undefined ? {} : { cursor });
    const { tools: found, nextCursor } = result as { tools?: unknown; nextCursor?: unknown };
    if (!Array.isArray(found)) throw invalidArgument('The MCP server did not return a list of tools.');
    tools.push(...found.slice(0, MAX_TOOLS - tools.length));
    if (typeof nextCursor !== 'string' || tools.length >= MAX_TOOLS || seen.has(nextCursor)) return tools;
    seen.add(nextCursor);
    cursor = nextCursor;
  }
  return tools;
}

function whyUnusable({ name, inputSchema, outputSchema }: McpTool): string | undefined {
  if (typeof name !== 'string' || !/^[\x20-\x7e]{1,128}$/.test(name)) return 'its name is invalid';
  // A record with these names would be a tool, not a namespace.
  if (name === 'execute' || name === 'inputSchema') return 'its name is reserved';
  try {
    for (const [field, schema] of Object.entries({ inputSchema, outputSchema })) {
      if (schema === undefined) continue;
      if (JSON.stringify(schema).length > MAX_SCHEMA_CHARS) return `${field} is too large`;
      readSchema(schema, field);
    }
    return undefined;
  } catch (cause) {
    return cause instanceof SandboxError ? cause.message : 'its schema is not JSON data';
  }
}

interface McpResult {
  readonly isError?: unknown;
  readonly structuredContent?: unknown;
  readonly content?: unknown;
}

async function callTool(
  client: McpClient,
  name: string,
  args: unknown,
  hasOutputSchema: boolean,
  signal: AbortSignal,
): Promise<unknown> {
  const params = { name, arguments: args };
  // The time limit of the call applies, not the default of the SDK. In v1, a schema precedes the options.
  const options = { signal, timeout: 2 ** 31 - 1 };
  const result = (await (client.callTool.length >= 2
    ? client.callTool(params, options)
    : client.callTool(params, undefined, options))) as McpResult;
  const blocks = Array.isArray(result.content) ? (result.content as Record<string, unknown>[]) : [];
  const isText = blocks.every((block) => block?.['type'] === 'text' && typeof block['text'] === 'string');
  const text = blocks.map((block) => String(block?.['text'] ?? '')).join('\n');
  if (result.isError === true) throw new ToolError(text || 'The tool reported an error without a message.');
  if (result.structuredContent !== undefined) return result.structuredContent;
  if (hasOutputSchema)
    throw new ToolError('The server returned no structured content, although the tool has an output schema.');
  return isText ? text : blocks;
}
