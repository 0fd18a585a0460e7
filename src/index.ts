/** The public surface of llm-wasm-sandbox. */

export { ERROR_CODES, type ErrorCode, SandboxError } from './errors.ts';
export { type ListedPackage, listPackages } from './runtimes/available-packages.ts';
export type { Variable } from './runtimes/language.ts';
export { EVENTS, type EventName } from './sandbox/events.ts';
export { createSandbox, type Sandbox, type SandboxOptions } from './sandbox/sandbox.ts';
export type { WorkspaceFile } from './sandbox/workspace.ts';
export {
  type ErrorGuidance,
  type EventLogger,
  type ExecuteOptions,
  FUEL_STATUSES,
  type FuelAnalysis,
  type GuestError,
  type ImportFacts,
  type PackageFacts,
  type Policy,
  type PolicyInput,
  RUNTIME_NAMES,
  type RuntimeName,
  type SandboxResult,
  type SessionPolicy,
  TRAPS,
  type TrapReason,
} from './schema.ts';
export type { CheckpointInfo } from './session/checkpoint.ts';
export {
  type ImportOptions,
  openSessions,
  type PruneReport,
  type SessionInfo,
  type SessionLimits,
  type Sessions,
} from './session/registry.ts';
export { type DiskStoreOptions, diskStore } from './stores/disk/disk-store.ts';
export { memoryStore } from './stores/memory/memory-store.ts';
export type { RecoveredWorkspace, SessionRecord, SessionStore, StoredSession } from './stores/store.ts';
