/** The public surface of llm-wasm-sandbox. */
export { ERROR_CODES, type ErrorCode, SandboxError } from './errors.ts';
export { type ListedPackage, listPackages } from './runtimes/listing.ts';
export { createSandbox, type Sandbox, type SandboxOptions } from './sandbox.ts';
export {
  type ExecuteOptions,
  type GuestError,
  type ImportFacts,
  type PackageFacts,
  type Policy,
  type PolicyInput,
  RUNTIME_NAMES,
  type RuntimeName,
  type SandboxResult,
  TRAPS,
  type TrapReason,
} from './schema.ts';
export type { WorkspaceFile } from './workspace.ts';
