/**
 * Runs one tool call: turns errors into results that a model can read, and records every call as a log event, a span and
 * a count. Records carry a digest of the code, never the code.
 */

import { clientError, replaceLoneSurrogates, type ToolResult } from '@llm-wasm-sandbox/core/internal';
import type {
  CallToolResult,
  InputRequiredResult,
  McpServer,
  ServerContext,
} from '@modelcontextprotocol/server';
import type { ServerState } from '../server/server-state.ts';
import { type Span, shortDigest } from '../server/telemetry.ts';
import type { Tenant } from '../server/tenant.ts';
import type { ClientInput } from './client-input.ts';
import type { McpState } from './mcp-state.ts';
import { progressReporter } from './progress-notifications.ts';
import type { Tool } from './tool.ts';

const METHOD = 'tools/call';

export type RunnableTool = Pick<Tool, 'name' | 'run'>;

/** A request of a client to call a tool. */
export interface CallRequest
  extends Pick<ServerContext['mcpReq'], 'signal' | 'notify' | '_meta' | 'envelope' | 'inputResponses'> {
  /** Attributes of its span. */
  readonly attributes: Readonly<Record<string, string | undefined>>;
}

/** What a call of a tool concerns. */
export interface CallContext {
  readonly mcp: McpState;
  readonly tenant: Tenant;
  readonly request: CallRequest;
  readonly input: ClientInput;
}

/** Clients choose the ids of their requests. */
const MAX_ID_CHARS = 100;

export function callRequest({ mcpReq, sessionId, http }: ServerContext, { server }: McpServer): CallRequest {
  return {
    ...mcpReq,
    attributes: {
      'jsonrpc.request.id': String(mcpReq.id).slice(0, MAX_ID_CHARS),
      'mcp.protocol.version': server.getNegotiatedProtocolVersion(),
      'mcp.session.id': sessionId,
      'network.transport': http?.req === undefined ? 'pipe' : 'tcp',
    },
  };
}

/** Calls a tool. An error becomes a result with `isError`, which the model can read, not a protocol error. */
export function callTool(
  tool: RunnableTool,
  args: Record<string, unknown>,
  { mcp, tenant, request, input }: CallContext,
): Promise<CallToolResult | InputRequiredResult> {
  const state = mcp.server;
  const work = async (span: Span): Promise<CallToolResult | InputRequiredResult> => {
    const started = performance.now();
    setAttributes(span, request.attributes);
    const record = (outcome: Outcome) =>
      recordCall(callFields(tool, args, tenant, performance.now() - started, outcome), state, tenant, span);
    try {
      const progress = progressReporter(request);
      state.mainThread.attribute(tenant.id);
      const result = await tool.run(args, { mcp, state, tenant, signal: request.signal, progress, input });
      // The call is recorded when its last round ends.
      if ('resultType' in result) return result;
      // The result is converted and serialised in this turn.
      state.mainThread.attribute(tenant.id);
      record({ result });
      return toCallToolResult(result);
    } catch (cause) {
      const { code, message, isHostError } = clientError(cause);
      record({ error: code });
      if (isHostError)
        state.telemetry.log.error({ event: 'tool.error', tool: tool.name, err: cause }, 'tool failed');
      return { isError: true, content: [{ type: 'text', text: `${code}: ${message}` }] };
    } finally {
      const { session_id } = args;
      if (typeof session_id === 'string')
        await tenant.releaseIfPaused(session_id).catch((err) => {
          state.telemetry.log.error({ event: 'tool.error', tool: tool.name, err }, 'session not saved');
        });
    }
  };
  return state.telemetry.span(`${METHOD} ${tool.name}`, work, request._meta);
}

/** Records a call whose arguments do not match the input schema. */
export function recordRejectedCall(
  tool: Pick<Tool, 'name'>,
  state: ServerState,
  tenant: Tenant,
): Promise<void> {
  return state.telemetry.span(`${METHOD} ${tool.name}`, async (span) =>
    recordCall(callFields(tool, {}, tenant, 0, { error: 'invalid_argument' }), state, tenant, span),
  );
}

/** Clients ignore images in results with structured content. */
function toCallToolResult({ text, structured, blocks = [] }: ToolResult): CallToolResult {
  const hasImage = blocks.some(({ type }) => type === 'image');
  return {
    content: [{ type: 'text', text: replaceLoneSurrogates(text) }, ...blocks],
    ...(structured !== undefined && !hasImage && { structuredContent: replaceLoneSurrogates(structured) }),
  };
}

interface Outcome {
  readonly result?: ToolResult;
  readonly error?: string;
}

type CallFields = ReturnType<typeof callFields>;

/** The fields of a `tool.call` event. */
function callFields(
  tool: Pick<Tool, 'name'>,
  args: Record<string, unknown>,
  tenant: Tenant,
  durationMs: number,
  { result, error }: Outcome,
) {
  const structured = result?.structured;
  const code = args['code'];
  const runsProgram = tool.name === 'execute_code' || tool.name === 'resume_execution';
  const execution = runsProgram ? structured : undefined;
  // A program that fails is a successful tool call; `outcome` reports the failure.
  const failure =
    execution?.['success'] === false ? (execution['trap_reason'] ?? 'program_failed') : undefined;
  return {
    tool: tool.name,
    tenant: tenant.id,
    session_id: structured?.['session_id'] ?? args['session_id'],
    ok: error === undefined,
    outcome: error ?? (failure === undefined ? 'success' : String(failure)),
    error,
    duration_ms: Math.round(durationMs * 10) / 10,
    ...(typeof code === 'string' && { code_sha256: shortDigest(code), code_chars: code.length }),
    ...(execution !== undefined && {
      language: execution['language'],
      success: execution['success'],
      trap_reason: execution['trap_reason'],
      fuel_consumed: execution['fuel_consumed'],
    }),
  };
}

function recordCall(fields: CallFields, state: ServerState, tenant: Tenant, span: Span): void {
  tenant.stats.recordToolCall(!fields.ok);
  state.metrics.recordToolCall(fields.tool, fields.ok ? 'ok' : 'error');
  state.telemetry.log[fields.ok ? 'info' : 'warn']({ event: 'tool.call', ...fields }, `tool ${fields.tool}`);
  // The names of the OpenTelemetry conventions for MCP and generative AI.
  setAttributes(span, {
    'mcp.method.name': METHOD,
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': fields.tool,
  });
  const own = Object.entries(fields).map(([name, value]) => [`sandbox.${name}`, value]);
  setAttributes(span, Object.fromEntries(own));
  if (fields.outcome === 'success') return;
  span.set('error.type', fields.ok ? fields.outcome : 'tool_error');
  span.fail(fields.outcome);
}

function setAttributes(span: Span, attributes: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
      span.set(name, value);
  }
}
