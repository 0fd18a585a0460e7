/** The public surface of llm-wasm-sandbox. */
export { ERROR_CODES, type ErrorCode, SandboxError } from './errors.ts';
export type { Entry, TreeEdit } from './fs/flat-entries.ts';
export type { Variable } from './results/variable.ts';
export { type ListedPackage, listPackages } from './runtimes/packages/available-packages.ts';
export type { ExecuteOptions } from './sandbox/call-options.ts';
export type { SandboxOptions } from './sandbox/create-parts.ts';
export type { Execution } from './sandbox/execution-handle.ts';
export { EVENTS, type EventName } from './sandbox/log-events.ts';
export type { Sandbox } from './sandbox/sandbox.ts';
export type { WorkspaceFile } from './sandbox/workspace-files.ts';
export {
  type BatchOptions,
  type BatchProgram,
  type Commit,
  type CreateMode,
  type DisplayResult,
  type ErrorGuidance,
  type EventLogger,
  type FailedResult,
  FUEL_STATUSES,
  type FuelAnalysis,
  type FuelProfile,
  type GuestError,
  type ImportFacts,
  type Isolation,
  type JobEvent,
  type JobQueueOptions,
  type JobStoreOptions,
  type JobWorkerOptions,
  LANGUAGE_NAMES,
  type LanguageName,
  type Mount,
  type Optimization,
  type PackageFacts,
  type PausedExecution,
  type PendingCall,
  type Policy,
  type PolicyInput,
  type PoolOptions,
  type PruneOptions,
  RUNTIME_NAMES,
  type RuntimeName,
  SANDBOX_TOOL_NAMES,
  type SandboxResult,
  type SandboxToolName,
  type SandboxToolsOptions,
  type SessionLimits,
  type SessionPolicy,
  type StoppedAt,
  type SubmitOptions,
  type SuccessfulResult,
  type ToolCallRecord,
  TRAPS,
  type TrapReason,
} from './schema.ts';
export { createSandbox, isSession, type SessionOptions } from './session/create-sandbox.ts';
export type { CheckpointInfo, ForkOptions } from './session/make-checkpoint.ts';
export type {
  CreateOptions,
  ImportOptions,
  OpenOptions,
  PruneReport,
  SessionInfo,
  SessionsOptions,
} from './session/registry-options.ts';
export type { ResumeOptions } from './session/resume-options.ts';
export {
  type BatchError,
  type BatchResult,
  runBatch,
} from './session/run-batch.ts';
export type { Session } from './session/session.ts';
export { openSessions, type SessionRegistry } from './session/session-registry.ts';
export { type DiskStoreOptions, diskStore } from './stores/disk/disk-store.ts';
export { type MemoryStoreOptions, memoryStore } from './stores/memory/memory-store.ts';
export type { PostgresClient, PostgresPool, PostgresResult } from './stores/postgres/database.ts';
export {
  type PostgresStore,
  type PostgresStoreOptions,
  postgresStore,
} from './stores/postgres/postgres-store.ts';
export type {
  Checkpoint,
  LeaseWait,
  RecoveredWorkspace,
  SessionRecord,
  SessionState,
  SessionStore,
  StoredSession,
} from './stores/store.ts';
export {
  type FromMcpOptions,
  fromMcp,
  type McpClient,
  type McpTool,
  type McpToolHints,
} from './tools/from-mcp.ts';
export { TOOL_ERROR_CODES, ToolError, type ToolErrorCode } from './tools/tool-error.ts';
export type { ApprovalDecision, ApprovalRequest, OnApproval, Resolution } from './tools/tool-protocol.ts';
export type {
  AiSdkSchema,
  StandardIssue,
  StandardResult,
  StandardSchema,
  ToolSchema,
} from './tools/tool-schema.ts';
export {
  type ToolContext,
  type ToolDefinition,
  type ToolDescription,
  type ToolFunction,
  type ToolRecord,
  Toolset,
  type ToolsOption,
} from './tools/toolset.ts';
export type { JsonSchema } from './tools/validate-value.ts';
export { createPool, type Pool } from './worker/pool/pool.ts';
