/**
 * The host of the app: JSON-RPC over messages between this frame and its parent, as in the MCP extension
 * `io.modelcontextprotocol/ui`. Messages of any other window are ignored, and a response is accepted only once, for a request
 * that is waiting.
 */

const PROTOCOL_VERSION = '2026-01-26';
/** A host that asks a person can take long; one that does not know a method may never answer. */
const TIMEOUT_MS = 300_000;

export interface HostContext {
  readonly theme?: unknown;
  readonly styles?: { readonly variables?: Readonly<Record<string, unknown>> };
}

interface HostCapabilities {
  readonly serverTools?: object;
  readonly serverResources?: object;
  readonly downloadFile?: object;
  readonly updateModelContext?: object;
}

/** The result of a tool, as the host passes it on. */
export interface ToolCallResult {
  readonly content?: readonly { readonly type: string; readonly [key: string]: unknown }[];
  readonly structuredContent?: Readonly<Record<string, unknown>>;
  readonly isError?: boolean;
}

/** What the host tells the app. */
interface HostEvents {
  onContext(context: HostContext): void;
  onInput(args: Readonly<Record<string, unknown>>): void;
  onResult(result: ToolCallResult): void;
  onCancelled(reason: string | undefined): void;
}

interface Message {
  readonly id?: unknown;
  readonly method?: unknown;
  readonly params?: Record<string, never>;
  readonly result?: never;
  readonly error?: { readonly message?: unknown };
}

interface Waiting {
  resolve(result: never): void;
  reject(cause: Error): void;
}

export class Host {
  capabilities: HostCapabilities = {};
  readonly #waiting = new Map<number, Waiting>();
  readonly #events: HostEvents;
  #lastId = 0;

  constructor(events: HostEvents) {
    this.#events = events;
    addEventListener('message', ({ source, data }) => {
      if (source === parent && source !== window && data?.jsonrpc === '2.0') this.#receive(data as Message);
    });
  }

  /** Starts the conversation. The host then sends the result of the call. */
  async connect(): Promise<void> {
    const { hostCapabilities, hostContext } = await this.request<{
      hostCapabilities?: HostCapabilities;
      hostContext?: HostContext;
    }>('ui/initialize', {
      appInfo: { name: 'llm-wasm-sandbox-result', version: '1' },
      appCapabilities: { availableDisplayModes: ['inline', 'fullscreen'] },
      protocolVersion: PROTOCOL_VERSION,
    });
    this.capabilities = hostCapabilities ?? {};
    this.#events.onContext(hostContext ?? {});
    this.notify('ui/notifications/initialized', {});
  }

  notify(method: string, params: object): void {
    this.#send({ method, params });
  }

  request<T>(method: string, params: object): Promise<T> {
    const id = ++this.#lastId;
    return new Promise<T>((resolve, reject) => {
      const end = () => {
        clearTimeout(timer);
        this.#waiting.delete(id);
      };
      const timer = setTimeout(() => {
        end();
        reject(new Error(`The host has not answered ${method}.`));
      }, TIMEOUT_MS);
      this.#waiting.set(id, {
        resolve: (result) => {
          end();
          resolve(result);
        },
        reject: (cause) => {
          end();
          reject(cause);
        },
      });
      this.#send({ id, method, params });
    });
  }

  /** Calls a tool of the server. An error of the tool or of the host is thrown with its text. */
  async callTool(name: string, args: object): Promise<Readonly<Record<string, unknown>>> {
    const result = await this.request<ToolCallResult>('tools/call', { name, arguments: args });
    if (result.isError === true) throw new Error(textOf(result) || `${name} has failed.`);
    return result.structuredContent ?? {};
  }

  /** Reads a resource of the server. */
  async readResource(uri: string): Promise<{ readonly text?: string; readonly blob?: string }> {
    type Contents = { contents?: readonly { text?: string; blob?: string }[] };
    const { contents } = await this.request<Contents>('resources/read', { uri });
    return contents?.[0] ?? {};
  }

  #receive({ id, method, params, result, error }: Message): void {
    if (typeof method === 'string') {
      if (id === undefined) this.#notified(method, params ?? {});
      // The host waits for this before it removes the app.
      else if (method === 'ui/resource-teardown' || method === 'ping') this.#send({ id, result: {} });
      else this.#send({ id, error: { code: -32601, message: 'Method not found' } });
      return;
    }
    const waiting = typeof id === 'number' ? this.#waiting.get(id) : undefined;
    if (error === undefined) waiting?.resolve((result ?? {}) as never);
    else waiting?.reject(new Error(String(error.message ?? 'The host refused the request.')));
  }

  #notified(method: string, params: Readonly<Record<string, never>>): void {
    if (method === 'ui/notifications/tool-input') this.#events.onInput(params['arguments'] ?? {});
    else if (method === 'ui/notifications/tool-result') this.#events.onResult(params);
    else if (method === 'ui/notifications/tool-cancelled') this.#events.onCancelled(params['reason']);
    else if (method === 'ui/notifications/host-context-changed') this.#events.onContext(params);
  }

  /** Nothing that is sent is secret, and the origin of the host is unknown. */
  #send(message: object): void {
    parent.postMessage({ jsonrpc: '2.0', ...message }, '*');
  }
}

/** The text of a result. */
export const textOf = ({ content = [] }: ToolCallResult): string =>
  content.flatMap(({ type, text }) => (type === 'text' ? [String(text)] : [])).join('\n');
