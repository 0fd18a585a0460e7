/** Public entry point `llm-wasm-sandbox/adapters/e2b`: replaces the import of `@e2b/code-interpreter`. */

export {
  E2bExecution as Execution,
  E2bResult as Result,
  ExecutionError,
  type Logs,
  OutputMessage,
  type RawData,
} from '../../e2b/e2b-execution.ts';
export { SandboxError } from '../../errors.ts';
export type { Context } from './contexts.ts';
export {
  E2bSandbox as default,
  E2bSandbox as Sandbox,
  type RunCodeOpts,
  type SandboxOpts,
} from './e2b-sandbox.ts';
export {
  type EntryInfo,
  type FileData,
  type Filesystem,
  FileType,
  type WriteEntry,
  type WriteInfo,
} from './filesystem.ts';
