/** What the other packages of this repository use of the library. It can change with every version. */

export { escapeBlock, escapeControls, quotePath } from './analysis/escape-controls.ts';
export { forReader, type GuidanceReader, type RaisableLimit } from './analysis/reader.ts';
export { linkSignals, undefinedIfAborted } from './concurrency/cancellation.ts';
export { MinuteAllowance } from './concurrency/minute-allowance.ts';
export { pollUntil } from './concurrency/poll-until.ts';
export { KeyedQueues, SerialQueue } from './concurrency/serial-queue.ts';
export {
  finishInSlices,
  type NextSlice,
  nextTurn,
  SLICE_BYTES,
  SliceQueue,
  Slices,
} from './concurrency/slices.ts';
export { GRACE } from './engine/run-context.ts';
export { ERROR_CODES, type ErrorCode, SandboxError } from './errors.ts';
export { DIGEST_BYTES, sha256, sha256Hex } from './framing/digest.ts';
export { JsonLimitScanner, type JsonLimits, parseLimitedJson } from './framing/json-limit-scanner.ts';
export type { Entry } from './fs/flat-entries.ts';
export type { FileTree } from './fs/immutable-file-tree.ts';
export { allocateShared } from './fs/shared-array-buffers.ts';
export { COMPANION, verifyCompanion } from './host/companion-package.ts';
export { ensurePrivateFolder } from './host/ensure-writable-folder.ts';
export { useInstallFolder } from './host/install-folder.ts';
export { packageFolder } from './host/own-packages.ts';
export { PART_NAMES, partProblem, verifyPart } from './host/parts.ts';
export { ProgramStarter, type StartedProgram } from './host/program-starter.ts';
export { readJsonFile } from './host/read-json-file.ts';
export { PRIVATE_FILE, replaceFileSync, SHARED_FILE } from './host/replace-file.ts';
export { programEnvironment, startProgram } from './host/start-program.ts';
export { cacheFolder, sessionFolder, stateFolder } from './host/user-folders.ts';
export { optimizeLate } from './host/v8-flags.ts';
export { CancelledError, type ClientError, clientError } from './model-text/client-errors.ts';
export { IMAGE_LIMITS, showResult } from './model-text/displayed-result-blocks.ts';
export { listDocs, readDocsUri } from './model-text/documentation.ts';
export {
  executeDescription,
  executeInput,
  limitInputs,
  suggestedFuelBudget,
} from './model-text/execute-tool.ts';
export { executionOutput, executionResult } from './model-text/execution-result.ts';
export {
  type FileToolTarget,
  LIST_FILES,
  READ_FILE,
  type ReadableFiles,
  WRITE_FILE,
} from './model-text/file-tools.ts';
export { notablePackages, type PackageSettings, packagesOf } from './model-text/language-text.ts';
export { adapterReader, limitsText, MCP_READER, policyLimits, sandboxLimits } from './model-text/readers.ts';
export { type CachedResult, OUTPUT_STREAMS, RecentResults } from './model-text/recent-results.ts';
export { decodeChunks, decodeText, encodeContent, SlicedText, toBase64 } from './model-text/sliced-text.ts';
export { firstRows, pathChars, replaceLoneSurrogates, type ToolResult } from './model-text/tool-result.ts';
export { mimeType, workspaceUri } from './model-text/workspace-uri.ts';
export {
  type AddedPackage,
  findAdded,
  isDamaged,
  isOfCompanion,
  MAX_LOCK_BYTES,
  parseAddedPackages,
  readAddedPackages,
  requestedPackages,
  withRequirements,
  writeAddedPackages,
} from './packages/added-packages.ts';
export {
  type ApprovedWheel,
  approveWheels,
  readApprovedWheels,
  withdrawApproval,
} from './packages/approved-wheels.ts';
export { parseWheelName } from './packages/check-wheel-contents.ts';
export { installPackages } from './packages/install-packages.ts';
export { withPackagesLock } from './packages/lock-packages.ts';
export { AUTO, checkSources, readPackageSet } from './packages/package-set.ts';
export { readPyodideLock } from './packages/pyodide-lock.ts';
export { NATIVE_TAGS, PYTHON_TAG } from './packages/python-abi.ts';
export {
  type PackageRequest,
  PRESETS,
  type ResolutionSources,
  resolvePackages,
} from './packages/resolve-packages.ts';
export { pipDownload } from './packages/run-pip.ts';
export { usualImport } from './packages/usual-imports.ts';
export { describeMissing } from './packages/vendored-package-table.ts';
export { normalisedName, parseRequirement } from './packages/wheel-metadata.ts';
export { pyodideUrl, wheelsAt } from './packages/wheel-sources.ts';
export {
  formatAge,
  formatBytes,
  formatCount,
  formatDuration,
  formatFuel,
  formatItems,
  formatLiteral,
  formatPercent,
  parseBytes,
  parseCount,
  parseFuel,
  typicalSeconds,
} from './quantities.ts';
export { type EncodedResult, encodeResult } from './results/encoded-result.ts';
export { readImageHeader } from './results/image-header.ts';
export { RESULT_LIMITS } from './results/result-limits.ts';
export type { Variable } from './results/variable.ts';
export {
  findAssets,
  type GuestAssets,
  installedRuntimes,
  optionalRuntimes,
} from './runtimes/artifacts/guest-artifacts.ts';
export { verifyAssets } from './runtimes/artifacts/verify-artifacts.ts';
export { quote } from './runtimes/bash/quote.ts';
export type { Language } from './runtimes/language.ts';
export { listPackages, matchesQuery } from './runtimes/packages/available-packages.ts';
export { shellCommand } from './runtimes/programs/process-launcher.ts';
export { LANGUAGES, languageTitles } from './runtimes/registry/languages.ts';
export {
  DEFAULT_RUNTIME,
  languageOfFile,
  PACKAGE_RUNTIME,
  runtimeOf,
  SHELL_RUNTIME,
} from './runtimes/registry/program-files.ts';
export type { ExecuteOptions } from './sandbox/call-options.ts';
export type { SandboxOptions } from './sandbox/create-parts.ts';
export type { Execution } from './sandbox/execution-handle.ts';
export { measureImport } from './sandbox/measure-import.ts';
export type { StreamName } from './sandbox/output-delivery.ts';
export { additionText } from './sandbox/packages-on-demand.ts';
export type { Sandbox } from './sandbox/sandbox.ts';
export {
  describeFiles,
  type WorkspaceFile,
  WorkspaceFiles,
  workspacePath,
} from './sandbox/workspace-files.ts';
export { type Capabilities, withPolicy } from './schema/capabilities.ts';
export { DEFAULT_LIMITS } from './schema/default-limits.ts';
export { isoTime } from './schema/iso-time.ts';
export { matchPath } from './schema/match-path.ts';
export { tryParse } from './schema/parse.ts';
export { executionId } from './schema/paused-execution.ts';
export { policy } from './schema/policy.ts';
export { LANGUAGE_NAMES, type RuntimeName } from './schema/runtime-names.ts';
export { isNarrower, parseUrlPattern, type UrlPattern } from './schema/url-pattern.ts';
export {
  type BatchProgram,
  batchProgram,
  checkpointName,
  commitMode,
  DEFAULT_MAXIMUMS,
  type DisplayResult,
  defaultPolicy,
  type EventLogger,
  executeOptions,
  type FuelProfile,
  HELPED_BY_HIGHER_LIMITS,
  type Isolation,
  isolationMode,
  type JobEvent,
  type JobQueueOptions,
  type JobWorkerOptions,
  jobQueueOptions,
  jobWorkerOptions,
  LANGUAGE_RUNTIMES,
  type LanguageName,
  languageName,
  networkOnly,
  networkPolicy,
  type Optimization,
  optimizationMode,
  type PausedExecution,
  type PendingCall,
  type Policy,
  type PolicyInput,
  parse,
  programName,
  RUNTIME_NAMES,
  runtimeName,
  SANDBOX_TOOL_NAMES,
  type SandboxResult,
  type SandboxToolName,
  type SandboxToolsOptions,
  type SubmitOptions,
  sandboxOptions,
  sandboxToolsOptions,
  sessionId,
  submitOptions,
  TRAPS,
  type TrapReason,
  uncertainCalls,
} from './schema.ts';
export { createSandbox, isSession, openSession } from './session/create-sandbox.ts';
export { type CheckpointInfo, describeCheckpoint } from './session/make-checkpoint.ts';
export { type OpenedStore, openStore } from './session/open-store.ts';
export { ProcessInput } from './session/process-input.ts';
export type { CreateOptions, OpenOptions, SessionInfo } from './session/registry-options.ts';
export { checkExecution, type ResumeOptions } from './session/resume-options.ts';
export {
  type BatchError,
  type BatchResult,
  checkBatchProgram,
  runBatch,
  runBatchProgram,
} from './session/run-batch.ts';
export type { Session } from './session/session.ts';
export { imageParts } from './session/session-image.ts';
export { SessionPersistence } from './session/session-persistence.ts';
export { prepareProcess, processEnd } from './session/session-process.ts';
export { openSessions, type SessionRegistry } from './session/session-registry.ts';
export {
  checkFolder,
  entriesBelow,
  entryAt,
  existingEntry,
  followLinks,
  missingFolders,
  moveEdit,
  pathInside,
  removalEdit,
} from './session/workspace-edits.ts';
export type {
  ApprovalRounds,
  Cancellations,
  Coordination,
  ExpiringValues,
  MinuteLimiter,
  RoundKey,
  SessionBlobs,
} from './stores/coordination.ts';
export { diskStore } from './stores/disk/disk-store.ts';
export { parentOf } from './stores/format/parent-path.ts';
export { isDatabaseAddress } from './stores/is-database-address.ts';
export { createMemoryStore, memoryStore } from './stores/memory/memory-store.ts';
export { memoryBlobs, memoryCoordination } from './stores/memory-coordination.ts';
export { toStoreError } from './stores/postgres/database.ts';
export type { SessionRecord, SessionStore, StoredSession } from './stores/store.ts';
export { LOCAL_TENANT, tenantFolder, tenantFolders } from './stores/tenant-folders.ts';
export { fromMcp, isNotReadOnly, type McpClient, type McpTool } from './tools/from-mcp.ts';
export { actionText, callText, fitsForm, isRequest, requestScope, shownCall } from './tools/question-text.ts';
export { hostMessage, ToolError } from './tools/tool-error.ts';
export { identifierFor, mentionsTools, suggestTools } from './tools/tool-names.ts';
export type { ApprovalDecision, ApprovalRequest, OnApproval, Resolution } from './tools/tool-protocol.ts';
export type { StandardSchema } from './tools/tool-schema.ts';
export { describeTool, searchTools } from './tools/tool-search.ts';
export {
  MAX_TOOLS,
  type ToolContext,
  type ToolDefinition,
  type ToolRecord,
  Toolset,
} from './tools/toolset.ts';
export {
  EXTERNAL_KIND,
  FUNCTION_TYPE,
  HEADER,
  SECTION,
  TYPE_LETTERS,
  VALUE_TYPE,
} from './wasm/binary-format.ts';
export { Writer } from './wasm/binary-io.ts';
export { type DrawPicture, requestPicture } from './worker/pool/auxiliary-jobs.ts';
export { createPool, type Pool, sharedPool, WORKERS_PER_CORE, WorkerPool } from './worker/pool/pool.ts';
export { type FirstJob, prepareFirstJob } from './worker/pool/prepare-first-job.ts';
export type { TenantFuel } from './worker/pool/tenant-fuel.ts';
export { unpackInThread } from './worker/pool/unpack-in-thread.ts';
