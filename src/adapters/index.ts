/** Public entry point `llm-wasm-sandbox/adapters`: the tools of a sandbox for agent frameworks. */

export { SANDBOX_TOOL_NAMES, type SandboxToolName, type SandboxToolsOptions } from '../schema.ts';
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
} from './sandbox-tools.ts';
