/**
 * Questions to the person at a client, as `input_required` results. For 2025-era clients, the SDK sends them as elicitation
 * requests. Questions quote arguments of a program, which are untrusted, so they are escaped and truncated.
 */

import { type ApprovalDecision, actionText, isRequest, requestScope } from '@llm-wasm-sandbox/core/internal';
import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  createRequestStateCodec,
  type InputRequests,
  type InputRequiredResult,
  inputRequired,
  inputResponse,
  type McpServer,
  type RequestStateCodec,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { ANSWER_SECONDS, type ApprovalQuestion, type RoundState } from './runs-awaiting-approval.ts';

const DECISION = {
  type: 'object' as const,
  properties: {
    decision: {
      type: 'string' as const,
      title: 'Decision',
      enum: ['allow', 'deny'],
      description: 'Whether the program may make this call.',
    },
  },
  required: ['decision'],
};

const REQUEST_DECISION = {
  ...DECISION,
  properties: {
    decision: {
      ...DECISION.properties.decision,
      enum: ['allow', 'allow_session', 'deny', 'never'],
      description: 'Whether the program may send this request.',
    },
  },
};

/** Signs the state of a round; it is valid only for the tenant that received it. The key is read when it is first needed. */
export function createRoundCodec(readKey: () => Promise<Uint8Array>): RequestStateCodec<RoundState> {
  let opened: Promise<RequestStateCodec<RoundState>> | undefined;
  const codec = () => {
    opened ??= readKey().then((key) =>
      createRequestStateCodec<RoundState>({
        key,
        ttlSeconds: ANSWER_SECONDS,
        bind: ({ mcpReq, http }) => `${mcpReq.method}\0${http?.authInfo?.clientId ?? ''}`,
      }),
    );
    opened.catch(() => {
      opened = undefined;
    });
    return opened;
  };
  return {
    mint: async (state, context) => (await codec()).mint(state, context),
    verify: async (text, context) => {
      // Different texts can decode to the same bytes. Only the text that was signed is accepted.
      const parts = text.split('.').slice(1);
      // biome-ignore lint/plugin: a signed answer, within the limits of request bodies
      if (parts.some((part) => Buffer.from(part, 'base64url').toString('base64url') !== part))
        throw new Error('malformed');
      return (await codec()).verify(text, context);
    },
  };
}

/** Asks the person at a client, and reads the answers. */
export interface ClientInput {
  /** Whether the client can show a form to a person. */
  readonly canAsk: boolean;
  /** The round that this request answers. */
  readonly state: RoundState | undefined;
  /** The decision about a call; undefined if the response has none. */
  decision(key: string): ApprovalDecision;
  /** The result that asks the questions of a round. */
  ask(questions: readonly ApprovalQuestion[], state: RoundState): Promise<InputRequiredResult>;
}

export function clientInput(
  context: ServerContext,
  server: McpServer,
  codec: RequestStateCodec<RoundState>,
): ClientInput {
  const { mcpReq } = context;
  return {
    canAsk: canElicit(mcpReq, server),
    state: mcpReq.requestState<RoundState>(),
    decision: (key) => decisionOf(mcpReq.inputResponses, key),
    ask: async (questions, state) =>
      inputRequired({
        inputRequests: inputRequests(questions),
        requestState: await codec.mint(state, context),
      }),
  };
}

/** The forms that ask questions, by the keys of the questions. */
export function inputRequests(questions: readonly ApprovalQuestion[]): InputRequests {
  return Object.fromEntries(
    questions.map(({ key, request }) => [
      key,
      inputRequired.elicit({
        message: questionText(request),
        requestedSchema: isRequest(request) ? REQUEST_DECISION : DECISION,
      }),
    ]),
  );
}

/** The capabilities in a request of 2026; undefined if it has none. */
export function statedCapabilities({
  envelope,
}: Pick<ServerContext['mcpReq'], 'envelope'>): ClientCapabilities | undefined {
  return (envelope as Record<string, unknown> | undefined)?.[CLIENT_CAPABILITIES_META_KEY] as
    | ClientCapabilities
    | undefined;
}

/** What a client can do. Clients of 2026 state it with each request, clients of 2025 when they connect. */
export const clientCapabilities = (
  request: ServerContext['mcpReq'],
  { server }: McpServer,
): ClientCapabilities => statedCapabilities(request) ?? server.getClientCapabilities() ?? {};

/** An empty capability means forms; a client may also support only URLs. */
function canElicit(request: ServerContext['mcpReq'], server: McpServer): boolean {
  const { elicitation } = clientCapabilities(request, server);
  return elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined);
}

function decisionOf(responses: ServerContext['mcpReq']['inputResponses'], key: string): ApprovalDecision {
  const response = inputResponse(responses, key);
  if (response.kind !== 'elicit') return undefined;
  const decision = response.action === 'accept' ? response.content?.['decision'] : 'deny';
  if (decision === 'allow') return true;
  if (decision === 'allow_session') return { approved: true, for: 'session' };
  if (decision !== 'deny' && decision !== 'never') return undefined;
  return {
    approved: false,
    ...(decision === 'never' && { for: 'session' as const }),
    reason: response.action === 'cancel' ? 'the question was not answered' : 'a person denied the call',
  };
}

function questionText(request: ApprovalQuestion['request']): string {
  if (request.text !== undefined) return request.text;
  const where = request.session_id === undefined ? '' : ` in session ${request.session_id}`;
  const scope = isRequest(request)
    ? `\nallow_session and never apply to all ${requestScope(request)} while the session is open.`
    : '';
  return `A program${where} wants to ${actionText(request)}\nAllow this?${scope}`;
}
