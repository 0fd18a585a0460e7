/**
 * The tools of a sandbox as tools of agent frameworks. A framework's factory function is passed in, not imported, so that
 * this module does not depend on any framework and uses the copy that the application has installed.
 */

import type { Sandbox, SandboxToolsOptions } from '@llm-wasm-sandbox/core/internal';
import {
  type SandboxTool,
  type SandboxToolResult,
  sandboxTools,
  type ToolInputSchema,
} from './sandbox-tools.ts';

/** A function that creates a tool of a framework. */
export type ToolFactory<T> = (...args: never[]) => T;

/** The output of a tool that the AI SDK sends to the model. */
export type AiSdkToolOutput =
  | { type: 'text' | 'error-text'; value: string }
  | {
      type: 'content';
      value: ({ type: 'text'; text: string } | { type: 'file-data'; data: string; mediaType: string })[];
    };

/** A tool of the AI SDK. */
export interface AiSdkTool {
  description: string;
  inputSchema: ToolInputSchema;
  execute(input: unknown, call: { abortSignal?: AbortSignal | undefined }): Promise<SandboxToolResult>;
  toModelOutput(call: { output: SandboxToolResult }): AiSdkToolOutput;
}

/** Returns the tools of a sandbox by name, for `generateText` and `streamText` of the AI SDK (`ai`). */
export function aiSdkTools(sandbox: Sandbox, options?: SandboxToolsOptions): Record<string, AiSdkTool> {
  return byName(sandboxTools(sandbox, options), ({ description, inputSchema, execute }) => ({
    description,
    inputSchema,
    execute: (input, { abortSignal }) => execute(input, { signal: abortSignal }),
    toModelOutput: ({ output }) => aiSdkOutput(output),
  }));
}

function aiSdkOutput({ text, images, isError }: SandboxToolResult): AiSdkToolOutput {
  if (images.length === 0) return { type: isError ? 'error-text' : 'text', value: text };
  const media = images.map(({ data, mimeType }) => ({
    type: 'file-data' as const,
    data,
    mediaType: mimeType,
  }));
  return { type: 'content', value: [{ type: 'text', text }, ...media] };
}

/** Returns the tools of a sandbox for LangChain.js. Pass the function `tool` of `@langchain/core/tools`. */
export function langChainTools<T>(
  tool: ToolFactory<T>,
  sandbox: Sandbox,
  options?: SandboxToolsOptions,
): T[] {
  return sandboxTools(sandbox, options).map(({ name, description, jsonSchema, execute }) => {
    const run = async (input: unknown, config?: { readonly signal?: AbortSignal }) =>
      langChainContent(await execute(input, { signal: config?.signal }));
    return create(tool, run, { name, description, schema: jsonSchema });
  });
}

function langChainContent({ text, images }: SandboxToolResult) {
  if (images.length === 0) return text;
  const blocks = images.map(({ data, mimeType }) => ({ type: 'image', data, mimeType }));
  return [{ type: 'text', text }, ...blocks];
}

/** Returns the tools of a sandbox for the OpenAI Agents SDK. Pass the function `tool` of `@openai/agents`. */
export function openAiAgentsTools<T>(
  tool: ToolFactory<T>,
  sandbox: Sandbox,
  options?: SandboxToolsOptions,
): T[] {
  return sandboxTools(sandbox, options).map(({ name, description, jsonSchema, execute }) =>
    create(tool, {
      name,
      description,
      parameters: jsonSchema,
      // Strict schemas cannot have optional properties. The tool checks its arguments itself.
      strict: false,
      execute: async (input: unknown, _context: unknown, details?: { readonly signal?: AbortSignal }) =>
        openAiContent(await execute(input, { signal: details?.signal })),
    }),
  );
}

function openAiContent({ text, images }: SandboxToolResult) {
  if (images.length === 0) return text;
  const blocks = images.map(({ data, mimeType }) => ({
    type: 'image' as const,
    image: { data, mediaType: mimeType },
  }));
  return [{ type: 'text' as const, text }, ...blocks];
}

/** Returns the tools of a sandbox by name, for agents of Mastra. Pass the function `createTool` of `@mastra/core/tools`. */
export function mastraTools<T>(
  createTool: ToolFactory<T>,
  sandbox: Sandbox,
  options?: SandboxToolsOptions,
): Record<string, T> {
  return byName(sandboxTools(sandbox, options), ({ name, description, inputSchema, execute }) =>
    create(createTool, {
      id: name,
      description,
      inputSchema,
      execute: (input: unknown, context?: { readonly abortSignal?: AbortSignal }) =>
        execute(input, { signal: context?.abortSignal }),
      toModelOutput: aiSdkOutput,
    }),
  );
}

const byName = <T>(tools: readonly SandboxTool[], convert: (tool: SandboxTool) => T): Record<string, T> =>
  Object.fromEntries(tools.map((one) => [one.name, convert(one)]));

/** Calls the factory of a framework. Its overloads have no common type; the tests call the real ones. */
const create = <T>(factory: ToolFactory<T>, ...args: unknown[]): T => factory(...(args as never[]));
