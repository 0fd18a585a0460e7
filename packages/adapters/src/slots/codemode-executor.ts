/** A sandbox as `Executor` of `@cloudflare/codemode`: runs the functions that a model writes, with the tools of its providers. */
import type { Sandbox } from '@llm-wasm-sandbox/core/internal';

type CodemodeFunction = (...args: unknown[]) => Promise<unknown>;

interface Provider {
  readonly name: string;
  readonly fns: Readonly<Record<string, CodemodeFunction>>;
  /** Code that runs in the sandbox after the namespace exists. */
  readonly prelude?: string;
}
interface Connector {
  readonly name: string;
  readonly binding: { callTool(method: string, args: unknown): Promise<unknown> };
}
interface CodemodeCall {
  readonly namespace: string;
  readonly name: string;
  readonly args: unknown[];
}

/** The executor: its method is that of `Executor`. It does not throw for a failure of the program. */
export interface CodemodeExecutor {
  execute(
    code: string,
    providersOrFns: Provider[] | Record<string, CodemodeFunction>,
    options?: { connectors?: Connector[] },
  ): Promise<{ result: unknown; error?: string; logs?: string[] }>;
}

/** The namespaces as proxies. What a prelude assigns takes precedence. The names are data in the program, never code. */
const namespaces = (names: readonly string[]) =>
  `for (const namespace of JSON.parse(${JSON.stringify(JSON.stringify(names))}))
  globalThis[namespace] = new Proxy(Object.create(null), {
    get: (own, name) => own[name] ?? ((...args) => tools.codemode_call({ namespace, name: String(name), args })),
  });`;

const linesOf = (text: string) => (text === '' ? [] : text.replace(/\n$/, '').split('\n'));

/**
 * Returns a sandbox of the runtime `javascript` as the executor of Cloudflare's code mode. The sandbox belongs to the caller. Every
 * function of a model runs in a fresh interpreter, unless the sandbox is a session.
 */
export function codemodeExecutor(sandbox: Sandbox): CodemodeExecutor {
  return {
    execute: async (code, providersOrFns, { connectors = [] } = {}) => {
      const providers = Array.isArray(providersOrFns)
        ? providersOrFns
        : [{ name: 'codemode', fns: providersOrFns }];
      let value: unknown;
      const tools = {
        codemode_call: (call: unknown) => callTool(call as CodemodeCall, providers, connectors),
        codemode_result: async (given: unknown) => {
          value = (given as { value?: unknown }).value;
        },
      };
      const names = [...providers, ...connectors].map(({ name }) => name);
      const preludes = providers.map(({ prelude = '' }) => prelude);
      const run = `await tools.codemode_result({ value: await (${code}\n)() });`;
      try {
        const result = await sandbox.execute([namespaces(names), ...preludes, run].join('\n'), { tools });
        const { stdout, stderr, metadata } = result;
        const logs = [...linesOf(stdout), ...linesOf(stderr)];
        if (result.success) return { result: value, logs };
        const error = metadata.trap_message ?? metadata.error?.message ?? linesOf(stderr).at(-1);
        return { result: undefined, error: error ?? 'The program failed.', logs };
      } catch (cause) {
        return { result: undefined, error: cause instanceof Error ? cause.message : String(cause) };
      }
    },
  };
}

async function callTool(
  { namespace, name, args }: CodemodeCall,
  providers: readonly Provider[],
  connectors: readonly Connector[],
): Promise<unknown> {
  const connector = connectors.find((one) => one.name === namespace);
  if (connector !== undefined) return connector.binding.callTool(name, args[0]);
  const fns = providers.find((one) => one.name === namespace)?.fns ?? {};
  if (!Object.hasOwn(fns, name)) throw new Error(`There is no tool ${namespace}.${name}.`);
  return fns[name]!(...args);
}
