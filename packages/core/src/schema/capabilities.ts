/**
 * What programs can do, made from the configuration of their sandbox. Texts state an ability, its absence, a mount or a limit
 * only from this object.
 */
import type { Policy } from './policy.ts';

export interface Abilities {
  /** Whether an import in Python, or `pip install`, adds a known package. */
  readonly addsPackages: boolean;
  /** Whether programs may send HTTP requests to permitted URLs. */
  readonly network: boolean;
  /** Whether programs can call tools. */
  readonly tools: boolean;
}

export type StatedLimits = Pick<
  Policy,
  | 'fuel_budget'
  | 'timeout_seconds'
  | 'memory_bytes'
  | 'stdout_max_bytes'
  | 'stderr_max_bytes'
  | 'workspace_max_bytes'
  | 'workspace_max_files'
  | 'max_tool_calls'
>;

export interface Capabilities extends Abilities {
  readonly limits: StatedLimits;
  /** Paths of the read-only mounts in the guest. */
  readonly mounts: readonly string[];
}

export const NO_ABILITIES: Abilities = { addsPackages: false, network: false, tools: false };

/** `policy` has the limits of the call, if it is about one. */
export const withPolicy = (
  abilities: Abilities,
  policy: StatedLimits & Pick<Policy, 'mounts'>,
): Capabilities => ({
  ...abilities,
  limits: policy,
  mounts: policy.mounts.map(({ guest_path }) => guest_path),
});
