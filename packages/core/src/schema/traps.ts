/** Why runs are stopped. Separate from the schemas, which worker threads do not load. */

/** The reasons why a run is stopped, each with its message and exit code. */
export const TRAPS = {
  out_of_fuel: { message: 'Execution trapped: OutOfFuel', exit_code: 152 },
  timeout: { message: 'Execution trapped: Timeout', exit_code: 124 },
  cancelled: { message: 'Execution trapped: Cancelled', exit_code: 130 },
  memory_limit: { message: 'Execution trapped: MemoryLimit', exit_code: 137 },
  process_limit: { message: 'Execution trapped: ProcessLimit', exit_code: 153 },
  stack_overflow: { message: 'Execution trapped: StackOverflow', exit_code: 139 },
  unreachable: { message: 'Execution trapped: Unreachable', exit_code: 134 },
  denied_call: { message: 'Execution trapped: DeniedCall', exit_code: 159 },
  worker_lost: { message: 'Execution trapped: WorkerLost', exit_code: 143 },
} as const;
/** The reason why a run was stopped. */
export type TrapReason = keyof typeof TRAPS;
