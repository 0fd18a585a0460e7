/** Public entry point `llm-wasm-sandbox/adapters`: the tools of a sandbox, and sessions as sandboxes, for agent frameworks. */

export {
  SANDBOX_TOOL_NAMES,
  type SandboxToolName,
  type SandboxToolsOptions,
} from '@llm-wasm-sandbox/core/internal';
export {
  type AiSdkTool,
  type AiSdkToolOutput,
  aiSdkTools,
  langChainTools,
  mastraTools,
  openAiAgentsTools,
  type ToolFactory,
} from './frameworks.ts';
export {
  type SandboxTool,
  type SandboxToolImage,
  type SandboxToolResult,
  sandboxTools,
  type ToolInputSchema,
} from './sandbox-tools.ts';
export {
  type AiSdkProcess,
  type AiSdkSandbox,
  type AiSdkWritableProcess,
  aiSdkSandbox,
} from './slots/ai-sdk-sandbox.ts';
export { type AnthropicTool, anthropicBash, anthropicTextEditor } from './slots/anthropic-tools.ts';
export { type CodemodeExecutor, codemodeExecutor } from './slots/codemode-executor.ts';
export { type DeepAgentsSandbox, deepAgentsSandbox } from './slots/deep-agents-sandbox.ts';
export { type MastraSandbox, mastraSandbox } from './slots/mastra-sandbox.ts';
export {
  type OpenAiAgentsParts,
  OpenAiSandboxSession,
  type OpenAiSandboxState,
  openAiSandboxClient,
} from './slots/openai-sandbox.ts';
export { type OpenAiShell, openAiShell } from './slots/openai-shell.ts';
export { type TanStackSandbox, tanstackSandboxProvider } from './slots/tanstack-sandbox.ts';
