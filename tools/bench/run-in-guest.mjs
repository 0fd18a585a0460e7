/** Runs a program in a guest without a thread or a call. The guest has begun a run. Returns the report of the program. */
import { programFile } from '../../packages/core/dist/runtimes/registry/program-files.js';

export function runInGuest(runtime, guest, handles, code) {
  const request = {
    code,
    env: {},
    args: [],
    file: programFile(runtime.name, 1),
    language: runtime.name,
    call: 1,
    keep: false,
    inject_setup: true,
    fuel_budget: 0,
    timeout_seconds: 0,
  };
  const report = JSON.parse(runtime.run(guest, handles, request));
  if (report.exit_code !== 0) throw new Error(`a benchmark program failed: ${JSON.stringify(report)}`);
  return report;
}
