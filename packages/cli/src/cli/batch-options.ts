/** Options that the commands for batches and workers share. */
import { availableParallelism } from 'node:os';
import type { PolicyInput } from '@llm-wasm-sandbox/core/internal';
import { UsageError } from './exit-codes.ts';

/** Limits of each program. */
export interface LimitFlags {
  readonly fuel?: number;
  readonly timeout?: number;
  readonly memory?: number;
}

export const PROGRAMS_ARGUMENT =
  'File with one program per line, {"code": "...", "language"?, "id"?, "stdin"?, "files"?, "args"?, "fuel_budget"?, "timeout_seconds"?} (default: standard input)';

export const JOBS_OPTION = {
  '--jobs <N>': `Number of programs to run at the same time (default: one per CPU core, here ${availableParallelism()})`,
};

export const LIMIT_OPTIONS = {
  '--fuel <N>': 'Maximum fuel (WebAssembly instructions) of each program, e.g. 20B',
  '--timeout <SECONDS>': 'Maximum running time of each program',
  '--memory <BYTES>': 'Maximum memory of each program, e.g. 512Mi',
};

export function limitPolicy({ fuel, timeout, memory }: LimitFlags): PolicyInput {
  return {
    ...(fuel !== undefined && { fuel_budget: fuel }),
    ...(timeout !== undefined && { timeout_seconds: timeout }),
    ...(memory !== undefined && { memory_bytes: memory }),
  };
}

/** Jobs are in a database; there is no default for its address. */
export const JOB_STORE_OPTION = {
  '--store <URL>':
    'PostgreSQL database of the job queue, e.g. postgres://db/jobs (default: $LLM_WASM_SANDBOX_STORE)',
};

export function jobStoreAddress(store: string | undefined): string {
  const address = store ?? process.env['LLM_WASM_SANDBOX_STORE'];
  if (address !== undefined && /^postgres(ql)?:\/\//.test(address)) return address;
  throw new UsageError(
    'Jobs are stored in PostgreSQL. Pass --store postgres://USER@HOST/DATABASE, or set LLM_WASM_SANDBOX_STORE.',
  );
}
