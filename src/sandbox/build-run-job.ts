/** Combines the policy of a sandbox with the options of a call into the job that a worker runs. */
import type { FileTree } from '../fs/immutable-file-tree.ts';
import { deterministicMode, type LanguageName, type Policy } from '../schema.ts';
import type { MountSet, SessionInput, StreamedOutput, UnsentRunJob } from '../worker/protocol.ts';
import type { CallLimits } from './call-options.ts';
import type { CallTools } from './call-tools.ts';
import type { Stdin } from './stdin.ts';

/** The parts of a job that come from the sandbox. */
interface JobContext {
  readonly policy: Policy;
  readonly mountSet: MountSet;
  /** The files that the program starts from, and the id under which workers know them. */
  readonly workspace: { readonly id: string; readonly tree: FileTree };
}

/** The parts of a job that come from the call. */
interface RunRequest {
  readonly code: string;
  readonly language: LanguageName;
  readonly limits: CallLimits;
  readonly fileName: string | undefined;
  readonly injectSetup: boolean;
  readonly stdin: Stdin;
  readonly args: readonly string[];
  /** Whether the worker records a detailed profile. */
  readonly profile: boolean;
  readonly tools: CallTools | undefined;
}

/** `image` is the id of the assets that the job uses, and `session` the interpreter that it continues. */
export function buildRunJob(
  image: string,
  { policy, mountSet, workspace }: JobContext,
  request: RunRequest,
  streamOutput: StreamedOutput,
  session: SessionInput | undefined,
): UnsentRunJob {
  return {
    type: 'run',
    image,
    code: request.code,
    language: request.language,
    fileName: request.fileName,
    env: policy.env,
    injectSetup: request.injectSetup,
    args: request.args,
    stdin: request.stdin.bytes,
    hasMoreStdin: request.stdin.isStream,
    limits: {
      fuelBudget: request.limits.fuel_budget,
      timeoutMs: request.limits.timeout_seconds * 1000,
      memoryBytes: policy.memory_bytes,
      stdoutMaxBytes: policy.stdout_max_bytes,
      stderrMaxBytes: policy.stderr_max_bytes,
      workspaceMaxBytes: policy.workspace_max_bytes,
      workspaceMaxFiles: policy.workspace_max_files,
      deterministic: deterministicMode(policy),
    },
    workspace,
    mountSet,
    streamOutput,
    profile: request.profile,
    session,
    ...(request.tools && { tools: request.tools.job }),
  };
}
