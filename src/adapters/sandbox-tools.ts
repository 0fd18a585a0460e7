/**
 * The tools of one sandbox in a form that does not depend on a framework: name, description, schemas and a function. The
 * model reads the same texts as from the MCP server, produced by the same functions.
 */
import { z } from 'zod';
import { nextTurn } from '../concurrency/slices.ts';
import { SandboxError } from '../errors.ts';
import { clientError } from '../mcp/client-errors.ts';
import { imageBlocks, isListed } from '../mcp/displayed-result-blocks.ts';
import { isDocsUri, readDocsUri } from '../mcp/documentation.ts';
import { executionResult } from '../mcp/execution-result.ts';
import { RecentResults } from '../mcp/recent-results.ts';
import { EXECUTE_CODE_PURPOSE, languageLine, missingPackagesText } from '../mcp/tool-descriptions.ts';
import { replaceLoneSurrogates, type ToolResult, truncateMiddle } from '../mcp/tool-result.ts';
import {
  encodingInput,
  filePath,
  listWorkspaceFiles,
  readOffset,
  readWorkspaceFile,
  writeWorkspaceFile,
} from '../mcp/workspace-files.ts';
import { formatBytes, formatFuel } from '../quantities.ts';
import { LANGUAGES } from '../runtimes/languages.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import {
  LANGUAGE_NAMES,
  LANGUAGE_RUNTIMES,
  type LanguageName,
  parse,
  type SandboxResult,
} from '../schema.ts';
import { isSession } from '../session/create-sandbox.ts';

/** The names of the tools of a sandbox. */
export const SANDBOX_TOOL_NAMES = ['execute_code', 'read_file', 'write_file', 'list_files'] as const;
/** The name of a tool of a sandbox. */
export type SandboxToolName = (typeof SANDBOX_TOOL_NAMES)[number];

const nextSlice = () => nextTurn();
/** The default of `max_output_chars`. */
const MAX_OUTPUT_CHARS = 20_000;
const MAX_CODE_CHARS = 1_000_000;

const callback = z.custom<(result: SandboxResult) => void>(
  (value) => typeof value === 'function',
  'must be a function',
);
const options = z.strictObject({
  names: z.array(z.enum(SANDBOX_TOOL_NAMES)).optional(),
  max_output_chars: z.number().int().min(200).max(60_000).default(MAX_OUTPUT_CHARS),
  max_fuel_budget: z.number().int().min(1).optional(),
  max_timeout_seconds: z.number().positive().optional(),
  onResult: callback.optional(),
});

/** Options of `sandboxTools`. */
export interface SandboxToolsOptions {
  /** Names of the tools to return. Default: all tools. */
  readonly names?: readonly SandboxToolName[];
  /**
   * Maximum number of characters of standard output in a result. Longer output is shortened to its beginning and end.
   * Default: 20,000. Maximum: 60,000.
   */
  readonly max_output_chars?: number;
  /**
   * Maximum fuel budget that the model can request for a call. Default: the model cannot request one, and the policy
   * applies.
   */
  readonly max_fuel_budget?: number;
  /**
   * Maximum time limit in seconds that the model can request for a call. Default: the model cannot request one, and the
   * policy applies.
   */
  readonly max_timeout_seconds?: number;
  /** Receives the complete result of every program. */
  readonly onResult?: (result: SandboxResult) => void;
}

/** An image in a tool result. */
export interface SandboxToolImage {
  /** Image in base64. */
  readonly data: string;
  /** MIME type of the image. */
  readonly mimeType: string;
}

/** The result of a tool. */
export interface SandboxToolResult {
  /** Text for the model: the output, guidance and fuel use of a program, or the contents of a file. */
  readonly text: string;
  /** Images for the model. */
  readonly images: readonly SandboxToolImage[];
  /**
   * Whether the call of the tool failed. If only the program failed, the value is false, and `text` describes the failure.
   */
  readonly isError: boolean;
  /** The same information as data, for the application. */
  readonly structured?: Readonly<Record<string, unknown>>;
}

/** A tool of a sandbox. */
export interface SandboxTool {
  /** Name of the tool. */
  readonly name: SandboxToolName;
  /** What the tool does, for the model. */
  readonly description: string;
  /** Zod schema of the arguments. */
  readonly inputSchema: z.ZodObject;
  /** JSON Schema of the arguments. */
  readonly jsonSchema: Readonly<Record<string, unknown>>;
  /**
   * Calls the tool. After a mistake of the model, such as invalid arguments or a missing file, the result has
   * `isError: true`. Throws a `SandboxError` if the host fails.
   */
  execute(args: unknown, call?: { readonly signal?: AbortSignal | undefined }): Promise<SandboxToolResult>;
}

interface ToolsContext {
  readonly sandbox: Sandbox;
  readonly session_id: string;
  readonly options: z.output<typeof options>;
  readonly recent: RecentResults;
}

/**
 * Returns the tools of a sandbox: run code, and read, write and list files. In a session, variables persist between calls of
 * `execute_code`. Throws `invalid_argument` if the options are invalid.
 */
export function sandboxTools(sandbox: Sandbox, given: SandboxToolsOptions = {}): SandboxTool[] {
  const checked = parse(options, given, 'options');
  const context = {
    sandbox,
    session_id: sandbox.session_id ?? 'default',
    options: checked,
    recent: new RecentResults(),
  };
  const tools = [executeCode(context), readFile(context), writeFile(context), listFiles(context)];
  const { names } = checked;
  return names === undefined ? tools : tools.filter(({ name }) => names.includes(name));
}

function defineTool<I extends z.ZodObject>(
  name: SandboxToolName,
  description: string,
  inputSchema: I,
  run: (args: z.output<I>, signal: AbortSignal | undefined) => Promise<ToolResult>,
): SandboxTool {
  const { $schema: _, ...jsonSchema } = z.toJSONSchema(inputSchema, { io: 'input' });
  return {
    name,
    description,
    inputSchema,
    jsonSchema,
    execute: async (args, { signal } = {}) => {
      try {
        return toolResult(await run(parse(inputSchema, args, 'arguments'), signal));
      } catch (cause) {
        const { code, message, isHostError } = clientError(cause);
        if (isHostError) throw cause;
        return { text: `${code}: ${message}`, images: [], isError: true };
      }
    },
  };
}

function toolResult({ text, structured, blocks = [] }: ToolResult): SandboxToolResult {
  const images = blocks.flatMap((block) =>
    block.type === 'image' ? [{ data: block.data, mimeType: block.mimeType }] : [],
  );
  return {
    text: replaceLoneSurrogates(text),
    images,
    isError: false,
    ...(structured !== undefined && { structured: replaceLoneSurrogates(structured) }),
  };
}

function executeCode(context: ToolsContext): SandboxTool {
  const { sandbox } = context;
  const { policy, runtime } = sandbox;
  const { max_fuel_budget = 0, max_timeout_seconds = 0 } = context.options;
  const languages = LANGUAGE_NAMES.filter((name) => LANGUAGE_RUNTIMES[name] === runtime);
  const input = z.strictObject({
    code: z.string().max(MAX_CODE_CHARS).describe('Source code. Show results with print() or display().'),
    ...(languages.length > 1 && {
      language: z.enum(languages).optional().describe(`Language of the code. Default ${languages[0]}.`),
    }),
    stdin: z.string().optional().describe('Standard input of the program.'),
    files: z
      .record(z.string(), z.string())
      .optional()
      .describe('Text files to write first, e.g. {"data.csv": "a,b\\n1,2"}.'),
    ...(max_fuel_budget > policy.fuel_budget && {
      fuel_budget: z
        .number()
        .int()
        .min(1)
        .max(max_fuel_budget)
        .optional()
        .describe(`Maximum number of instructions for this call. Default ${policy.fuel_budget}.`),
    }),
    ...(max_timeout_seconds > policy.timeout_seconds && {
      timeout_seconds: z
        .number()
        .positive()
        .max(max_timeout_seconds)
        .optional()
        .describe(`Time limit in seconds. Default ${policy.timeout_seconds}.`),
    }),
  });
  return defineTool('execute_code', executeDescription(sandbox), input, async ({ code, ...call }, signal) => {
    const { session_id, options, recent } = context;
    const given = Object.fromEntries(Object.entries(call).filter(([, value]) => value !== undefined));
    const result = await sandbox.execute(code, { ...given, ...(signal && { signal }) });
    options.onResult?.(result);
    const listed = result.results.filter(isListed).map((one) => recent.addResult(session_id, one));
    const shown = executionResult(result, {
      language: (call as { readonly language?: LanguageName }).language ?? languages[0]!,
      session_id,
      files: Object.keys(call.files ?? {}),
      maxChars: options.max_output_chars,
      profile: false,
      results: listed,
      viewAdvice: '',
      cacheOutput: (stream, text) => recent.addOutput(session_id, stream, text),
    });
    const images = await imageBlocks(listed, options.max_output_chars, sandbox, signal);
    return { ...shown, blocks: images };
  });
}

function executeDescription(sandbox: Sandbox): string {
  const { runtime, policy } = sandbox;
  const { title, pitfalls } = LANGUAGES[runtime];
  const vendored = { packages: [] };
  const persists = isSession(sandbox) && sandbox.session.auto_persist_globals;
  const state = persists
    ? 'Variables, functions, imports and files in /app persist between calls.'
    : 'Every call starts a fresh interpreter; files in /app are kept for later calls.';
  return `Execute ${title} code (a program, script, function or snippet) in an isolated sandbox; returns output, exit code, changed files and, on failure, steps to fix it.

${EXECUTE_CODE_PURPOSE}${missingPackagesText(vendored, runtime)}

${languageLine(vendored, runtime)}
${state}

Pitfalls
${pitfalls.map((line) => `- ${line}`).join('\n')}

Limits: ${formatFuel(policy.fuel_budget)} fuel, ${policy.timeout_seconds} s, ${formatBytes(policy.memory_bytes)} memory, ${formatBytes(policy.workspace_max_bytes)} of files.`;
}

function readFile(context: ToolsContext): SandboxTool {
  const description =
    'Read a file in the sandbox, as text or, for PNG, JPEG, GIF and WebP, as an image. Use it to see results that programs saved. For other formats (xlsx, pdf, zip) use execute_code. Also reads the links in results of execute_code.';
  const input = z.strictObject({ path: filePath, offset: readOffset });
  return defineTool('read_file', description, input, async ({ path, offset = 0 }) => {
    const { sandbox, options } = context;
    const maxChars = options.max_output_chars;
    const linked = await linkedText(path, context);
    if (linked !== undefined)
      return { text: truncateMiddle(linked.slice(offset), maxChars, () => path).text };
    const binaryAdvice = 'Process it with execute_code';
    return readWorkspaceFile(sandbox, { path, offset }, { maxChars, uri: path, binaryAdvice, nextSlice });
  });
}

/** The text of a link in a result: documentation, or the full text of something that was shortened. */
async function linkedText(uri: string, { session_id, recent }: ToolsContext): Promise<string | undefined> {
  if (!uri.includes('://')) return undefined;
  const [id = ''] = uri.split('/').slice(-1);
  const cached = await recent.result(session_id, id);
  const displayed = cached?.uri === uri ? (cached.result.markdown ?? cached.result.text) : undefined;
  const text = isDocsUri(uri) ? readDocsUri(uri) : ((await recent.output(uri)) ?? displayed);
  if (text !== undefined) return text;
  throw new SandboxError(
    'file_not_found',
    `There is no ${uri}, or it is no longer cached. Use a link from recent results, or a path in the workspace.`,
  );
}

function writeFile({ sandbox, session_id }: ToolsContext): SandboxTool {
  const description =
    'Put (upload) a file into the sandbox; an existing file is replaced. Programs find it under /app. Use it for data that programs will read; small text files can also be passed to execute_code(files=…).';
  const input = z.strictObject({
    path: filePath,
    content: z.string().describe('Text, or base64 data.'),
    encoding: encodingInput,
  });
  return defineTool('write_file', description, input, (args) =>
    writeWorkspaceFile(sandbox, session_id, args, nextSlice),
  );
}

function listFiles({ sandbox, session_id }: ToolsContext): SandboxTool {
  const description =
    'List the files in the sandbox with size and modification time. Use it to see which files programs wrote. Paths are relative to /app.';
  const input = z.strictObject({
    folder: z.string().max(4096).optional().describe('Only files in this folder, e.g. "out".'),
  });
  return defineTool('list_files', description, input, ({ folder }) =>
    listWorkspaceFiles(sandbox, session_id, folder),
  );
}
