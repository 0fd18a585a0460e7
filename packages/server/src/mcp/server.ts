/**
 * Builds MCP server objects, for every transport and both protocol eras. A server object serves one tenant and holds no
 * state of its own, so a transport may create one per request.
 */

import { LOCAL_TENANT, tryParse } from '@llm-wasm-sandbox/core/internal';
import {
  type McpRequestContext,
  McpServer,
  type McpServerOptions,
  type ServerContext,
  type StandardSchemaWithJSON,
} from '@modelcontextprotocol/server';
import { JSON_LIMITS } from '../server/request-body.ts';
import type { Tenant } from '../server/tenant.ts';

import { callRequest, recordRejectedCall } from './call-tool.ts';
import { clientInput } from './client-input.ts';
import type { McpState } from './mcp-state.ts';
import { registerPrompts } from './prompts.ts';
import { registerResources } from './resources.ts';
import { offerResultApp } from './result-app.ts';
import { callAsTask, isTask, registerTasks, TASKS_EXTENSION } from './tasks.ts';
import { hasNetwork, type Tool } from './tool.ts';
import { serverInstructions } from './tool-descriptions.ts';
import { toolTable } from './tools/index.ts';

const SERVER_NAME = 'llm-wasm-sandbox';
/** How long clients may cache the lists, which depend only on the settings. */
const LIST_TTL_MS = 3_600_000;
/** Tools and prompts depend only on the settings, and changes to workspace files are not announced. */
const STATIC_LISTS = {
  tools: { listChanged: false },
  prompts: { listChanged: false },
  resources: { listChanged: false },
};

export type ServerFactory = (context: Pick<McpRequestContext, 'authInfo'>) => McpServer;

/** Returns the factory of server objects. The tool table and all texts are built once, here. */
export function serverFactory(mcp: McpState, options: McpServerOptions = {}): ServerFactory {
  const state = mcp.server;
  const { session_header } = state.settings;
  const tools = toolTable(state.settings, state.gateway?.servers).map((tool) =>
    withCachedSchemas(tool, session_header),
  );
  const instructions = serverInstructions(state.settings, state.gateway?.servers);
  const extensions = state.coordination.isShared ? {} : { [TASKS_EXTENSION]: {} };
  const hint = { ttlMs: LIST_TTL_MS, cacheScope: 'public' as const };
  return ({ authInfo }) => {
    const tenant = state.tenant(authInfo?.clientId ?? LOCAL_TENANT);
    const server = new McpServer(
      { name: SERVER_NAME, title: 'LLM WASM Sandbox', version: state.version },
      {
        ...options,
        ...((state.gateway ?? mcp.packageConsent ?? (hasNetwork(state.settings) || undefined)) && {
          requestState: { verify: mcp.roundCodec.verify },
        }),
        instructions,
        capabilities: { ...STATIC_LISTS, extensions, ...options.capabilities },
        maxToolInputElements: JSON_LIMITS.members,
        cacheHints: { 'tools/list': hint, 'prompts/list': hint, 'resources/templates/list': hint },
      },
    );
    for (const tool of tools) registerTool(server, tool, mcp, tenant);
    const { settings, telemetry, mainThread } = state;
    registerResources(server, { tenant, settings, log: telemetry.log, mainThread });
    registerPrompts(server, settings);
    registerTasks(server, mcp, tenant);
    acceptTasks(server);
    offerResultApp(server);
    return server;
  };
}

type RegisteredTool = Omit<Tool, 'input' | 'output'> & {
  readonly input: StandardSchemaWithJSON<Record<string, unknown>>;
  readonly output: StandardSchemaWithJSON | undefined;
  /** Checks the arguments; `input` is only their JSON schema. */
  readonly schema: Tool['input'];
};

/** Stateless transports create a server object per request; the JSON schemas are generated once for all of them. */
function withCachedSchemas(tool: Tool, hasSessionHeader: boolean): RegisteredTool {
  return {
    ...tool,
    input: cacheJsonSchema(tool.input, (schema) =>
      withoutDetails(withoutUnlisted(hasSessionHeader ? withSessionHeader(schema) : schema, tool)),
    ),
    output: tool.output && cacheJsonSchema(tool.output),
    schema: tool.input,
  };
}

/** Declares that 2026-era clients repeat the session in the header `Mcp-Param-Session`. */
function withSessionHeader(schema: Record<string, unknown>): Record<string, unknown> {
  const { session_id, ...others } = (schema['properties'] ?? {}) as Record<string, Record<string, unknown>>;
  if (session_id === undefined) return schema;
  return { ...schema, properties: { session_id: { ...session_id, 'x-mcp-header': 'Session' }, ...others } };
}

function withoutUnlisted(schema: Record<string, unknown>, { unlisted = [] }: Tool): Record<string, unknown> {
  if (unlisted.length === 0) return schema;
  const listed = Object.entries(schema['properties'] as object).filter(([name]) => !unlisted.includes(name));
  return { ...schema, properties: Object.fromEntries(listed) };
}

/** Keywords that the server checks and a model does not need. Clients send the schemas to the model on every turn. */
const DETAILS = new Set([
  '$schema',
  'pattern',
  'propertyNames',
  'minLength',
  'maxLength',
  'minItems',
  'minimum',
  'exclusiveMinimum',
]);

/** A schema without the details. Names of properties are never left out. */
function withoutDetails(schema: Record<string, unknown>): Record<string, unknown> {
  const entries = Object.entries(schema).flatMap(([name, value]) => {
    if (DETAILS.has(name)) return [];
    if (name !== 'properties') return [[name, isObject(value) ? withoutDetails(value) : value]];
    const properties = Object.entries(value as Record<string, Record<string, unknown>>);
    return [[name, Object.fromEntries(properties.map(([key, one]) => [key, withoutDetails(one)]))]];
  });
  return Object.fromEntries(entries);
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function cacheJsonSchema(
  schema: Tool['input'],
  change: (json: Record<string, unknown>) => Record<string, unknown> = (json) => json,
): StandardSchemaWithJSON<Record<string, unknown>> {
  const standard = schema['~standard'] as StandardSchemaWithJSON<Record<string, unknown>>['~standard'];
  const cache = new Map<string, Record<string, unknown>>();
  const cached = (side: 'input' | 'output') => (options: Parameters<typeof standard.jsonSchema.input>[0]) => {
    const key = `${side} ${options.target}`;
    const json = cache.get(key) ?? change(standard.jsonSchema[side](options));
    cache.set(key, json);
    return json;
  };
  return {
    '~standard': { ...standard, jsonSchema: { input: cached('input'), output: cached('output') } },
  };
}

function registerTool(server: McpServer, tool: RegisteredTool, mcp: McpState, tenant: Tenant): void {
  const { title, description, output, annotations } = tool;
  const config = {
    title,
    description,
    inputSchema: acceptArguments(tool, () => recordRejectedCall(tool, mcp.server, tenant)),
    annotations,
    ...(output && { outputSchema: output }),
  };
  server.registerTool(tool.name, config, (args: Record<string, unknown>, context: ServerContext) =>
    callAsTask(tool, args, {
      mcp,
      tenant,
      request: callRequest(context, server),
      input: clientInput(context, server, mcp.roundCodec),
    }),
  );
}

/** The SDK compares all results with the output schema of the tool, but a task is not a result of the tool. */
function acceptTasks(server: McpServer): void {
  const validate = server['validateToolOutput'];
  server['validateToolOutput'] = async (tool: unknown, result: unknown, name: string) =>
    isTask(result) ? undefined : validate.call(server, tool, result, name);
}

/**
 * The schema of the arguments, which also accepts the aliases. Arguments that it rejects never reach the tool; the call is
 * recorded from here.
 */
function acceptArguments(
  { input, schema, aliases = {} }: RegisteredTool,
  onRejection: () => Promise<void>,
): StandardSchemaWithJSON<Record<string, unknown>> {
  const standard = input['~standard'];
  const validate: typeof standard.validate = async (value) => {
    const parsed = tryParse(schema, renameArguments(value, aliases), 'arguments');
    if ('value' in parsed) return parsed;
    await onRejection();
    return { issues: [{ message: parsed.problems }] };
  };
  return { '~standard': { ...standard, validate } };
}

function renameArguments(value: unknown, aliases: Readonly<Record<string, string>>): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const given = Object.entries(aliases).filter(
    ([alias, name]) => Object.hasOwn(value, alias) && !Object.hasOwn(value, name),
  );
  if (given.length === 0) return value;
  const renamed: Record<string, unknown> = { ...value };
  for (const [alias, name] of given) {
    renamed[name] = renamed[alias];
    delete renamed[alias];
  }
  return renamed;
}
