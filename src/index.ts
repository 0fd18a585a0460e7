/** The public surface of llm-wasm-sandbox. */
export type { CheckpointInfo } from './checkpoint.ts';
export { ERROR_CODES, type ErrorCode, SandboxError } from './errors.ts';
export { EVENTS, type EventName } from './events.ts';
export { type ListedPackage, listPackages } from './runtimes/listing.ts';
export type { Variable } from './runtimes/variables.ts';
export { createSandbox, type Sandbox, type SandboxOptions } from './sandbox.ts';
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
export {
  type ImportOptions,
  openSessions,
  type PruneReport,
  type SessionInfo,
  type SessionLimits,
  type Sessions,
} from './sessions.ts';
export { type DiskStoreOptions, diskStore } from './stores/disk.ts';
export { memoryStore } from './stores/memory.ts';
export type { SalvagedWorkspace, SessionRecord, SessionStore, StoredSession } from './stores/store.ts';
export type { WorkspaceFile } from './workspace.ts';
