/** Task sessions of the published package for MCP Tasks, connected to the server over HTTP or standard input and output. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Client as SdkClient } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import type { HttpServer } from 'llm-wasm-sandbox/mcp';
import { installPinned } from '../../scripts/install-pinned-packages.mjs';
import { CLI } from '../support/mcp.ts';

const PACKAGES = ['@modelcontextprotocol/ext-tasks@0.2.2', '@modelcontextprotocol/client@2.4.0'];
const VERSION = '2026-07-28';
const CLIENT_INFO = { name: 'test', version: '1' };
const CAPABILITIES = { elicitation: { form: {} } };

type Json = Record<string, unknown>;
type Dispatch = (request: Json) => Promise<Json>;
interface Message {
  readonly id?: unknown;
  readonly result?: Json;
  readonly error?: Json;
}

interface TaskClient {
  /** Runs a program with the client of the package, which follows the task, and returns the result of the tool. */
  execute(args: Json): Promise<Json>;
  /** Sends a request as it is, and returns its result or error. */
  readonly send: Dispatch;
  close(): Promise<void>;
}

const load = (path: string) =>
  import(pathToFileURL(join(installPinned('mcp-tasks', PACKAGES), 'node_modules', path)).href);

const answerOf = ({ result, error }: Message): Json =>
  error === undefined ? { kind: 'result', result } : { kind: 'error', error };

/** The request of a client of 2026 that declares the extension. */
export function framed(
  method: string,
  params: Json,
  extensions: Json = { 'io.modelcontextprotocol/tasks': {} },
) {
  return {
    method,
    params: {
      ...params,
      _meta: {
        'io.modelcontextprotocol/protocolVersion': VERSION,
        'io.modelcontextprotocol/clientInfo': CLIENT_INFO,
        'io.modelcontextprotocol/clientCapabilities': { ...CAPABILITIES, extensions },
      },
    },
  };
}

async function taskSession(
  connect: (client: SdkClient) => Promise<void>,
  dispatch: Dispatch,
  decide: (message: string) => 'allow' | 'deny',
): Promise<TaskClient> {
  const { Client } = await load('@modelcontextprotocol/client/dist/index.mjs');
  const tasks = await load('@modelcontextprotocol/ext-tasks/dist/client/index.js');
  const client = new Client(CLIENT_INFO, {
    capabilities: CAPABILITIES,
    versionNegotiation: { mode: { pin: VERSION } },
  });
  await connect(client);
  const session = tasks.createTaskSessionFromClient(client, {
    endpointId: 'test',
    rawDispatch: dispatch,
    v2RequestFraming: { protocolVersion: VERSION, clientInfo: CLIENT_INFO, clientCapabilities: CAPABILITIES },
    onInputRequest: async ({ params }: { params: { message: string } }) => ({
      action: 'accept',
      content: { decision: decide(params.message) },
    }),
  });
  const close = async () => {
    await session.close();
    await client.close();
  };
  const execute = async (args: Json) => {
    const { outcome } = await (await session.callTool('execute_code', args)).settle();
    return tasks.resultFromTaskOutcome(outcome);
  };
  return { execute, send: dispatch, close };
}

let lastId = 0;

export async function httpTasks(
  { url }: Pick<HttpServer, 'url'>,
  token: string,
  decide: (message: string) => 'allow' | 'deny' = () => 'deny',
): Promise<TaskClient> {
  const headers = { authorization: `Bearer ${token}` };
  const { StreamableHTTPClientTransport } = await load('@modelcontextprotocol/client/dist/index.mjs');
  const dispatch: Dispatch = async (request) => {
    const { method, params } = request as { method: string; params: { name?: string; taskId?: string } };
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        ...headers,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': VERSION,
        'mcp-method': method,
        'mcp-name': params.name ?? params.taskId ?? '',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: `raw-${++lastId}`, ...request }),
    });
    const text = await response.text();
    const data = text.startsWith('{') ? text : text.match(/^data: (\{.*"jsonrpc".*)$/m)![1]!;
    return answerOf(JSON.parse(data));
  };
  return taskSession(
    (client) => client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } })),
    dispatch,
    decide,
  );
}

export async function stdioTasks(
  args: readonly string[],
  decide: (message: string) => 'allow' | 'deny',
): Promise<TaskClient> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [CLI, 'mcp', '--log-level', 'silent', '--optimization', 'demand', ...args],
    env: { LLM_WASM_SANDBOX_PACKAGES_DIR: process.env['LLM_WASM_SANDBOX_PACKAGES_DIR']! },
    stderr: 'ignore',
  });
  const waiting = new Map<unknown, (message: Message) => void>();
  const connect = async (client: SdkClient) => {
    await client.connect(transport);
    const { onmessage } = transport;
    transport.onmessage = (message) => {
      const { id } = message as Message;
      const resolve = waiting.get(id);
      waiting.delete(id);
      if (resolve === undefined) onmessage?.(message);
      else resolve(message as Message);
    };
  };
  const dispatch: Dispatch = async (request) => {
    const id = `raw-${++lastId}`;
    const answered = new Promise<Message>((resolve) => waiting.set(id, resolve));
    await transport.send({ jsonrpc: '2.0', id, ...request } as never);
    return answerOf(await answered);
  };
  return taskSession(connect, dispatch, decide);
}
