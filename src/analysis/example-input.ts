/** A run with nothing special about it, under the default policy: what examples of rules are changes of. */
import { policy } from '../schema.ts';
import { NO_SESSION, type RunFacts } from './input.ts';

export function exampleFacts(change: Partial<RunFacts>): RunFacts {
  return {
    runtime: 'python',
    source: '',
    exit_code: 1,
    ending: 'exception',
    trap: null,
    error: undefined,
    exit_cause: undefined,
    stderr: '',
    stdout_dropped_bytes: 0,
    stderr_dropped_bytes: 0,
    fuel_consumed: 1_000_000,
    limits: policy.parse({}),
    files: () => [],
    mounts: [],
    imports: [],
    session: NO_SESSION,
    ...change,
  };
}
