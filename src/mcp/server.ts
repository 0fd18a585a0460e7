/**
 * The library seen through MCP: one factory for every transport and both protocol eras. A server object belongs to one
 * tenant and holds nothing else; it can be made anew for each request.
 */
import {
  type CallToolResult,
  type McpRequestContext,
  McpServer,
  type McpServerOptions,
  type ServerContext,
  type StandardSchemaWithJSON,
} from '@modelcontextprotocol/server';
import { SandboxError } from '../errors.ts';
import { formatPercent } from '../quantities.ts';
import { registerPrompts } from './prompts.ts';
import { replaceLoneSurrogates, type ToolResult } from './reply.ts';
import { registerResources } from './resources.ts';
import { LOCAL_TENANT, type ServerState } from './server-state.ts';
import { type Span, shortDigest } from './telemetry.ts';
import type { Tenant } from './tenant.ts';
import { type Progress, type Tool, ToolError } from './tool.ts';
import { serverInstructions } from './tool-descriptions.ts';
import { toolTable } from './tools/index.ts';

export const SERVER_NAME = 'llm-wasm-sandbox';
/** Elements and members of one call's arguments; a program needs few, a flood of them is an attack. */
const MAX_INPUT_ELEMENTS = 20_000;
/** How long a client may keep the lists, which only change with the server's settings. */
const LIST_TTL_MS = 3_600_000;
const STATIC_LISTS = {
  tools: { listChanged: false },
  prompts: { listChanged: false },
  resources: { listChanged: false },
};
const INTERNAL_MESSAGE = 'the server could not do this. Its log says why.';
/** Failures whose own words name folders and processes of the host: those go to the log, and tenants get these. */
const HOST_ERROR_MESSAGES: Readonly<Record<string, string>> = {
  session_busy: 'another process is using this session. Try again later, or use another session.',
  session_damaged:
    'what was kept of this session is damaged. destroy_session removes it; resources may still show its files.',
  store_failed: INTERNAL_MESSAGE,
  module_invalid: INTERNAL_MESSAGE,
  image_invalid: INTERNAL_MESSAGE,
  not_installed: INTERNAL_MESSAGE,
  internal: INTERNAL_MESSAGE,
};
/** Failures that the library tells in words for programmers, in words for models. */
const MODEL_MESSAGES: Readonly<Record<string, string>> = {
  sandbox_closed: 'the session was ended or closed before this call was over. create_session makes another.',
};
/** Progress is told at most this often. */
const PROGRESS_MS = 200;

export type ServerFactory = (context: Pick<McpRequestContext, 'authInfo'>) => McpServer;

/** The factory for a state. Tables and texts are made once, servers as often as a transport wants. */
export function serverFactory(state: ServerState, more: McpServerOptions = {}): ServerFactory {
  const tools = toolTable(state.settings).map(withCachedSchemas);
  const about = serverInstructions(state.settings);
  const hint = { ttlMs: LIST_TTL_MS, cacheScope: 'public' as const };
  return ({ authInfo }) => {
    const tenant = state.tenant(authInfo?.clientId ?? LOCAL_TENANT);
    const server = new McpServer(
      { name: SERVER_NAME, title: 'LLM WASM Sandbox', version: state.version },
      {
        ...more,
        instructions: about,
        // Tools and prompts only change with the settings, and files of a workspace come and go unannounced.
        capabilities: { ...STATIC_LISTS, ...more.capabilities },
        maxToolInputElements: MAX_INPUT_ELEMENTS,
        cacheHints: { 'tools/list': hint, 'prompts/list': hint, 'resources/templates/list': hint },
      },
    );
    for (const tool of tools) registerTool(server, tool, state, tenant);
    registerResources(server, tenant);
    registerPrompts(server);
    return server;
  };
}

/** In the stateless era a server lives for one request: JSON forms of schemas are made once for all of them. */
function withCachedSchemas(tool: Tool): RegisteredTool {
  return { ...tool, input: cacheJsonSchema(tool.input), output: tool.output && cacheJsonSchema(tool.output) };
}

type RegisteredTool = Omit<Tool, 'input' | 'output'> & {
  readonly input: StandardSchemaWithJSON<Record<string, unknown>>;
  readonly output: StandardSchemaWithJSON | undefined;
};

function cacheJsonSchema(schema: Tool['input']): StandardSchemaWithJSON<Record<string, unknown>> {
  const standard = schema['~standard'] as StandardSchemaWithJSON<Record<string, unknown>>['~standard'];
  const made = new Map<string, Record<string, unknown>>();
  const remember =
    (side: 'input' | 'output') => (options: Parameters<typeof standard.jsonSchema.input>[0]) => {
      const key = `${side} ${options.target}`;
      const json = made.get(key) ?? standard.jsonSchema[side](options);
      made.set(key, json);
      return json;
    };
  return {
    '~standard': { ...standard, jsonSchema: { input: remember('input'), output: remember('output') } },
  };
}

function registerTool(server: McpServer, tool: RegisteredTool, state: ServerState, tenant: Tenant): void {
  const { title, description, input, output, annotations } = tool;
  const refused = () =>
    state.telemetry.span(`tool ${tool.name}`, async (span) =>
      recordCall(tool, {}, state, tenant, span, 0, 'invalid_argument'),
    );
  const config = {
    title,
    description,
    inputSchema: notifyOnRefusal(input, refused),
    annotations,
    ...(output && { outputSchema: output }),
  };
  server.registerTool(tool.name, config, (args: Record<string, unknown>, context: ServerContext) =>
    state.telemetry.span(`tool ${tool.name}`, (span) => callTool(tool, args, context, state, tenant, span)),
  );
}

/** A schema that tells when it refuses arguments: such a call never reaches the tool, and is a call all the same. */
function notifyOnRefusal(
  schema: RegisteredTool['input'],
  onRefused: () => Promise<void>,
): StandardSchemaWithJSON<Record<string, unknown>> {
  const standard = schema['~standard'];
  const validate: typeof standard.validate = async (value, options) => {
    const found = await standard.validate(value, options);
    if (found.issues !== undefined) await onRefused();
    return found;
  };
  return { '~standard': { ...standard, validate } };
}

/** Calls a tool; what goes wrong in a way the model can mend is an answer, not a protocol error. */
async function callTool(
  tool: Pick<Tool, 'name' | 'run'>,
  args: Record<string, unknown>,
  { mcpReq }: ServerContext,
  state: ServerState,
  tenant: Tenant,
  span: Span,
): Promise<CallToolResult> {
  const started = performance.now();
  const token = mcpReq._meta?.progressToken;
  const progress =
    token === undefined
      ? undefined
      : progressReporter(token, (params) => mcpReq.notify({ method: 'notifications/progress', params }));
  const end = (error: string | undefined, reply?: ToolResult) =>
    recordCall(tool, args, state, tenant, span, performance.now() - started, error, reply);
  try {
    const reply = await tool.run(args, { state, tenant, signal: mcpReq.signal, progress });
    end(undefined, reply);
    return toCallToolResult(reply);
  } catch (cause) {
    const code = cause instanceof SandboxError || cause instanceof ToolError ? cause.code : 'internal';
    end(code);
    const words = HOST_ERROR_MESSAGES[code] ?? MODEL_MESSAGES[code];
    if (HOST_ERROR_MESSAGES[code] !== undefined)
      state.telemetry.log.error({ event: 'tool.fault', tool: tool.name, err: cause }, 'a tool broke');
    const text = `${code}: ${words ?? (cause as Error).message}`;
    return { isError: true, content: [{ type: 'text', text: replaceLoneSurrogates(text) }] };
  }
}

function toCallToolResult({ text, structured, blocks = [] }: ToolResult): CallToolResult {
  return {
    content: [{ type: 'text', text: replaceLoneSurrogates(text) }, ...blocks],
    ...(structured !== undefined && { structuredContent: replaceLoneSurrogates(structured) }),
  };
}

/** Tells the client how far a program is: percent of its fuel, and what it printed. Always more than the time before. */
function progressReporter(
  progressToken: string | number,
  notify: (params: {
    progressToken: string | number;
    progress: number;
    total: number;
    message: string;
  }) => Promise<void>,
): (progress: Progress) => void {
  let last = 0;
  let sentAt = 0;
  let pending = '';
  return ({ fuel_consumed, fuel_budget, output }) => {
    pending = (pending + output).slice(-2000);
    const now = performance.now();
    const percent = Math.min(99, (100 * fuel_consumed) / fuel_budget);
    // A program that waits uses no fuel; its output still counts as progress.
    const value = percent > last ? percent : last + 0.0001;
    if (now - sentAt < PROGRESS_MS || (percent <= last && pending === '')) return;
    sentAt = now;
    last = value;
    const message = `${formatPercent(percent, 1)} of the fuel budget${pending === '' ? '' : `\n${pending.trimEnd()}`}`;
    pending = '';
    notify({ progressToken, progress: value, total: 100, message: replaceLoneSurrogates(message) }).catch(
      () => {},
    );
  };
}

/** One event per call: who, what, how it ended, what it cost. Never the code, only its digest. */
function recordCall(
  tool: Pick<Tool, 'name'>,
  args: Record<string, unknown>,
  state: ServerState,
  tenant: Tenant,
  span: Span,
  durationMs: number,
  error: string | undefined,
  reply?: ToolResult,
): void {
  const { structured } = reply ?? {};
  const code = args['code'];
  const isRun = tool.name === 'execute_code' && structured !== undefined;
  // A program that failed is an answer, and a failure nevertheless.
  const failure =
    error ??
    (isRun && structured['success'] === false
      ? String(structured['trap_reason'] ?? 'program_failed')
      : undefined);
  const fields = {
    tool: tool.name,
    tenant: tenant.id,
    session_id: structured?.['session_id'] ?? args['session_id'],
    ok: error === undefined,
    outcome: failure ?? 'success',
    error,
    duration_ms: Math.round(durationMs * 10) / 10,
    ...(typeof code === 'string' && { code_sha256: shortDigest(code), code_chars: code.length }),
    ...(isRun && {
      language: structured['language'],
      success: structured['success'],
      trap_reason: structured['trap_reason'],
      fuel_consumed: structured['fuel_consumed'],
    }),
  };
  tenant.stats.recordToolCall(error !== undefined);
  state.metrics.recordToolCall(tool.name, error === undefined ? 'ok' : 'error');
  state.telemetry.log[error === undefined ? 'info' : 'warn'](
    { event: 'tool.call', ...fields },
    `tool ${tool.name}`,
  );
  for (const [name, value] of Object.entries(fields)) {
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
      span.set(`sandbox.${name}`, value);
  }
  if (failure !== undefined) span.fail(failure);
}
