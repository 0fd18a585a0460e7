/** One run as a job for the pool: the policy of its sandbox and the options of its call put together. */
import { deterministicMode, type Policy } from '../schema.ts';
import type { MountSet, RunJob, SessionInput } from '../worker/protocol.ts';
import type { Workspace } from './workspace.ts';

/** What looking at a session may cost. */
export const PEEK = { fuel_budget: 2_000_000_000, timeout_seconds: 10, inject_setup: true } as const;

/** What a run takes from its sandbox. */
export interface JobSource {
  readonly policy: Policy;
  readonly mountSet: MountSet;
  readonly workspace: Workspace;
}

/** What it takes from its call. */
export interface JobCall {
  readonly code: string;
  readonly fuel_budget: number;
  readonly timeout_seconds: number;
  readonly inject_setup: boolean;
  readonly stdin?: string | Uint8Array | undefined;
  /** Whether output is wanted as it comes. */
  readonly live?: boolean;
  readonly session: SessionInput | undefined;
}

/** `image` is that of the assets the job runs in. */
export function runJob(image: string, { policy, mountSet, workspace }: JobSource, call: JobCall): RunJob {
  const { stdin = '' } = call;
  return {
    type: 'run',
    image,
    code: call.code,
    env: policy.env,
    injectSetup: call.inject_setup,
    stdin: typeof stdin === 'string' ? new TextEncoder().encode(stdin) : stdin,
    limits: {
      fuelBudget: call.fuel_budget,
      timeoutMs: call.timeout_seconds * 1000,
      memoryBytes: policy.memory_bytes,
      stdoutMaxBytes: policy.stdout_max_bytes,
      stderrMaxBytes: policy.stderr_max_bytes,
      workspaceMaxBytes: policy.workspace_max_bytes,
      workspaceMaxFiles: policy.workspace_max_files,
      deterministic: deterministicMode(policy),
    },
    workspace: workspace.entries(),
    mountSet,
    streamOutput: call.live ?? false,
    session: call.session,
  };
}
