/**
 * The file of `--tools-config`: MCP servers whose tools programs may call. It contains the object `mcpServers` that other
 * MCP clients use, with an access policy per server. Unknown keys are rejected, so that a misspelt restriction is not ignored.
 */
import { isAbsolute } from 'node:path';
import { parse, readJsonFile, SandboxError } from '@llm-wasm-sandbox/core/internal';
import * as z from 'zod';

const MAX_SERVERS = 32;

/** What happens when a program calls a tool. */
const APPROVAL_MODES = ['allow', 'ask', 'deny'] as const;

const policy = {
  disabled: z.boolean().default(false).describe('Ignore this server.'),
  tools: z.array(z.string()).optional().describe('Names of the tools that programs may call. Default: all.'),
  deny: z.array(z.string()).default([]).describe('Names of tools that programs may not call.'),
  approval: z
    .enum(APPROVAL_MODES)
    .optional()
    .describe(
      'allow: every call is allowed. ask: a person must approve every call. deny: only tools with readOnlyHint can be called. Default: tools with readOnlyHint are allowed, and a person must approve calls to other tools.',
    ),
  timeout_seconds: z.number().positive().max(3600).default(60).describe('Time limit of one call.'),
  max_calls: z
    .number()
    .int()
    .min(0)
    .max(10_000)
    .optional()
    .describe('Maximum number of calls to each tool per run. Default: only the limit of the run applies.'),
};

const TYPE = 'stdio or http; streamable-http means http. Default: stdio with `command`, http with `url`.';
const texts = z.record(z.string(), z.string());
const stdioServer = z.strictObject({
  type: z.literal('stdio').optional().describe(TYPE),
  command: z.string().min(1).describe('Program that serves MCP over standard input and output.'),
  args: z.array(z.string()).default([]).describe('Arguments of the program.'),
  env: texts
    .default({})
    .describe(
      'Environment variables of the program. The program gets no other variables except a PATH with the standard system folders.',
    ),
  cwd: z
    .string()
    .min(1)
    .optional()
    .describe(
      'Working directory of the program. Default: a new, empty folder, because programs may have written the files of the current one. Relative paths in `args` need it.',
    ),
  ...policy,
});
const startableServer = stdioServer.refine(
  ({ command, cwd }) => cwd !== undefined || isAbsolute(command) || !/[\\/]/.test(command),
  {
    path: ['command'],
    message: 'is a relative path. Write an absolute path or the name of a program in PATH, or set cwd.',
  },
);
const httpServer = z.strictObject({
  type: z.enum(['http', 'streamable-http']).optional().describe(TYPE),
  url: z
    .string()
    .regex(/^https?:\/\//, 'must start with http:// or https://')
    .describe('URL of the server.'),
  headers: texts.default({}).describe('Headers of every request, for example Authorization.'),
  ...policy,
});

/** Schema of one server, after variables have been replaced. */
const server = z.unknown().transform((value, context) => {
  const isHttp = typeof value === 'object' && value !== null && 'url' in value;
  const parsed = (isHttp ? httpServer : startableServer).safeParse(value);
  if (parsed.success) return parsed.data;
  for (const issue of parsed.error.issues) context.addIssue({ ...issue, code: 'custom' });
  return z.NEVER;
});
const toolsConfig = z.strictObject({
  mcpServers: z
    .record(z.string(), server)
    .refine(
      (servers) => Object.keys(servers).length <= MAX_SERVERS,
      `At most ${MAX_SERVERS} servers are allowed.`,
    )
    .refine(
      (servers) => Object.keys(servers).every((name) => /^[\w.-]{1,64}$/.test(name)),
      'Names must consist of 1 to 64 letters, digits, ".", "_" and "-".',
    ),
});

type StdioServerConfig = z.output<typeof stdioServer>;
type HttpServerConfig = z.output<typeof httpServer>;
export type GatewayServer = StdioServerConfig | HttpServerConfig;
/** The servers that are not disabled, by name. */
export type ToolsConfig = ReadonlyMap<string, GatewayServer>;

/** The documented keys of a server, for the table in the documentation. */
export const SERVER_FIELDS = { ...stdioServer.shape, ...httpServer.shape };

/** Reads the file. Errors quote neither its contents nor the values of variables. */
export function readToolsConfig(path: string): ToolsConfig {
  return parseToolsConfig(readJsonFile(path, 'tools configuration'), process.env);
}

/** Checks a configuration. */
export function parseToolsConfig(json: unknown, env: NodeJS.ProcessEnv): ToolsConfig {
  const { mcpServers } = parse(toolsConfig, replaceVariables(json, env, 0), 'tools_config');
  return new Map(Object.entries(mcpServers).filter(([, { disabled }]) => !disabled));
}

const VARIABLE = /\$\{([A-Za-z_]\w*)(:-([^}$]*))?\}/g;

/** Replaces `${VAR}` and `${VAR:-default}` in all texts. */
function replaceVariables(value: unknown, env: NodeJS.ProcessEnv, depth: number): unknown {
  if (typeof value === 'string')
    return value.replace(VARIABLE, (_, name: string, hasDefault: string | undefined, fallback = '') => {
      const found = env[name];
      if (found !== undefined && (found !== '' || hasDefault === undefined)) return found;
      if (hasDefault !== undefined) return fallback;
      throw new SandboxError(
        'invalid_argument',
        `tools_config: the environment variable ${name} is not set. Set it, or write \${${name}:-default}.`,
      );
    });
  if (typeof value !== 'object' || value === null || depth > 8) return value;
  if (Array.isArray(value)) return value.map((item) => replaceVariables(item, env, depth + 1));
  // A disabled server needs no variables.
  if ((value as { disabled?: unknown }).disabled === true) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, replaceVariables(item, env, depth + 1)]),
  );
}
