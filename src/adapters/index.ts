/** Public entry point `llm-wasm-sandbox/adapters`: the tools of a sandbox for agent frameworks. */

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
  SANDBOX_TOOL_NAMES,
  type SandboxTool,
  type SandboxToolImage,
  type SandboxToolName,
  type SandboxToolResult,
  type SandboxToolsOptions,
  sandboxTools,
} from './sandbox-tools.ts';
