/**
 * The tools of one sandbox in a form that does not depend on a framework: name, description, schemas and a function. The
 * model reads the same texts as from the MCP server, produced by the same functions.
 */

import type { Sandbox, StandardSchema } from '@llm-wasm-sandbox/core/internal';
import {
  adapterReader,
  clientError,
  executeDescription,
  executeInput,
  executionResult,
  type FileToolTarget,
  formatBytes,
  formatFuel,
  isSession,
  LANGUAGE_NAMES,
  LANGUAGE_RUNTIMES,
  LANGUAGES,
  type LanguageName,
  LIST_FILES,
  nextTurn,
  parse,
  READ_FILE,
  RecentResults,
  replaceLoneSurrogates,
  type SandboxToolName,
  type SandboxToolsOptions,
  sandboxToolsOptions,
  type ToolResult,
  WRITE_FILE,
} from '@llm-wasm-sandbox/core/internal';
import * as z from 'zod';

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

/** The schema of the input of a tool: a Zod schema. */
export interface ToolInputSchema extends StandardSchema {
  safeParse(value: unknown): { readonly success: boolean };
}

/** A tool of a sandbox. */
export interface SandboxTool {
  /** Name of the tool. */
  readonly name: SandboxToolName;
  /** What the tool does, for the model. */
  readonly description: string;
  /** Zod schema of the arguments. */
  readonly inputSchema: ToolInputSchema;
  /** JSON Schema of the arguments. */
  readonly jsonSchema: Readonly<Record<string, unknown>>;
  /**
   * Calls the tool. After a mistake of the model, such as invalid arguments or a missing file, the result has
   * `isError: true`. Throws a `SandboxError` if the host fails.
   */
  execute(args: unknown, call?: { readonly signal?: AbortSignal | undefined }): Promise<SandboxToolResult>;
}

type CheckedOptions = z.output<typeof sandboxToolsOptions>;

/**
 * Returns the tools of a sandbox: run code, and read, write and list files. In a session, variables persist between calls of
 * `execute_code`. Throws `invalid_argument` if the options are invalid.
 */
export function sandboxTools(sandbox: Sandbox, given: SandboxToolsOptions = {}): SandboxTool[] {
  const checked = parse(sandboxToolsOptions, given, 'options');
  const target: FileToolTarget = {
    session_id: sandbox.session_id ?? 'default',
    recent: new RecentResults(),
    maxChars: checked.max_output_chars,
    nextSlice: () => nextTurn(),
    alternative: () => '',
    open: async () => sandbox,
    files: async () => sandbox,
  };
  const tools = [
    executeCodeTool(sandbox, target, checked),
    sandboxTool(READ_FILE, (args) => READ_FILE.run(args, target)),
    sandboxTool(WRITE_FILE, (args) => WRITE_FILE.run(args, target)),
    sandboxTool(LIST_FILES, (args) => LIST_FILES.run(args, target)),
  ];
  const { names } = checked;
  return names === undefined ? tools : tools.filter(({ name }) => names.includes(name));
}

interface Definition<I extends z.ZodObject> {
  readonly name: string;
  readonly description: string;
  readonly input: I;
}

function sandboxTool<I extends z.ZodObject>(
  { name, description, input }: Definition<I>,
  run: (args: z.output<I>, signal: AbortSignal | undefined) => Promise<ToolResult>,
): SandboxTool {
  const { $schema: _, ...jsonSchema } = z.toJSONSchema(input, { io: 'input' });
  return {
    name: name as SandboxToolName,
    description,
    inputSchema: input,
    jsonSchema,
    execute: async (args, { signal } = {}) => {
      try {
        return toolResult(await run(parse(input, args, 'arguments'), signal));
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

function executeCodeTool(sandbox: Sandbox, target: FileToolTarget, options: CheckedOptions): SandboxTool {
  const languages = languagesOf(sandbox);
  const definition = {
    name: 'execute_code',
    description: describeExecution(sandbox),
    input: inputFor(sandbox, languages, options),
  };
  const { policy } = sandbox;
  const { max_fuel_budget = 0, max_timeout_seconds = 0 } = options;
  const reader = adapterReader({
    ...(max_fuel_budget > policy.fuel_budget && { fuel_budget: max_fuel_budget }),
    ...(max_timeout_seconds > policy.timeout_seconds && { timeout_seconds: max_timeout_seconds }),
  });
  return sandboxTool(definition, async (args, signal) => {
    const { code, ...call } = args as { code: string; language?: LanguageName; files?: object };
    const given = Object.fromEntries(Object.entries(call).filter(([, value]) => value !== undefined));
    const result = await sandbox.execute(code, { ...given, ...(signal && { signal }) });
    options.onResult?.(result);
    const { session_id, maxChars, recent } = target;
    return executionResult(result, {
      reader,
      language: call.language ?? languages[0]!,
      session_id,
      files: Object.keys(call.files ?? {}),
      maxChars,
      profile: false,
      recent,
      images: sandbox,
      signal,
    });
  });
}

const languagesOf = ({ runtime }: Sandbox) =>
  LANGUAGE_NAMES.filter((name) => LANGUAGE_RUNTIMES[name] === runtime);

/** The arguments, without those that the model cannot choose. */
function inputFor(
  { policy }: Sandbox,
  languages: readonly LanguageName[],
  { max_fuel_budget = 0, max_timeout_seconds = 0 }: CheckedOptions,
): z.ZodObject {
  const language = z.enum(languages).optional().describe(`Language of the code. Default ${languages[0]}.`);
  return executeInput(language, { max_fuel_budget, max_timeout_seconds }).omit({
    ...(languages.length < 2 && { language: true }),
    ...(max_fuel_budget <= policy.fuel_budget && { fuel_budget: true }),
    ...(max_timeout_seconds <= policy.timeout_seconds && { timeout_seconds: true }),
  });
}

function describeExecution(sandbox: Sandbox): string {
  const { runtime, capabilities } = sandbox;
  const { limits } = capabilities;
  const persists = isSession(sandbox) && sandbox.session.auto_persist_globals;
  return executeDescription({
    titles: LANGUAGES[runtime].title,
    runtimes: [runtime],
    settings: { packages: sandbox.packageSources },
    capabilities,
    usage: persists
      ? 'Variables, functions, imports and files in /app persist between calls.'
      : 'Every call starts a fresh interpreter; files in /app are kept for later calls.',
    limits: `${formatFuel(limits.fuel_budget)} fuel, ${limits.timeout_seconds} s, ${formatBytes(limits.memory_bytes)} memory, ${formatBytes(limits.workspace_max_bytes)} of files`,
  });
}
