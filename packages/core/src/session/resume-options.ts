/** The options of `resume`, the validation of the answers, and the claim that lets an execution be resumed once. */
import { randomUUID } from 'node:crypto';
import { invalidArgument, type SandboxError } from '../errors.ts';
import type { ExecuteOptions } from '../sandbox/call-options.ts';
import type { Resumption } from '../sandbox/call-tools.ts';
import type { PausedExecution } from '../schema.ts';
import { NETWORK_CALLS } from '../tools/tool-limits.ts';
import type { Resolution } from '../tools/tool-protocol.ts';
import { executionNotFound, executionPaused } from './session-errors.ts';

/** Options of `resume`. */
export interface ResumeOptions extends Pick<ExecuteOptions, 'tools' | 'onApproval' | 'onPending'> {
  /** As in `execute`. */
  signal?: ExecuteOptions['signal'];
  /** As in `execute`. */
  onStdout?: ExecuteOptions['onStdout'];
  /** As in `execute`. */
  onStderr?: ExecuteOptions['onStderr'];
  /** As in `execute`. */
  onOutput?: ExecuteOptions['onOutput'];
  /** As in `execute`. */
  onResult?: ExecuteOptions['onResult'];
  /** As in `execute`. */
  onProgress?: ExecuteOptions['onProgress'];
  /** Lowers the fuel budget of the whole execution, for example if the session comes from another machine. */
  fuel_budget?: ExecuteOptions['fuel_budget'];
  /** Lowers the time limit of the whole execution. */
  timeout_seconds?: ExecuteOptions['timeout_seconds'];
  /**
   * Answers to pending calls. Calls without an answer stay pending.
   */
  resolutions: readonly Resolution[];
}

const KINDS = ['value', 'error', 'approve', 'deny'] as const;

const invalid = (text: string) => invalidArgument(`resolutions: ${text}`);

/** Checks the answers: each names a pending call, once, and has one of the four forms. A response of the network cannot be given. */
export function parseResolutions(given: unknown, { pending }: PausedExecution): Map<number, Resolution> {
  if (!Array.isArray(given)) throw invalid('expected an array.');
  const nameOf = new Map(pending.map(({ id, name }) => [id, name]));
  const resolutions = new Map<number, Resolution>();
  for (const one of given as unknown[]) {
    const fields = (typeof one === 'object' && one !== null ? one : {}) as Record<string, unknown>;
    const { id } = fields;
    const names = Object.keys(fields).filter((name) => name !== 'id');
    const [kind] = names;
    const isValid =
      typeof id === 'number' &&
      names.length === 1 &&
      (kind === 'value' ||
        (kind === 'error' && typeof fields[kind] === 'string') ||
        (kind === 'approve' && fields[kind] === true) ||
        (kind === 'deny' && (fields[kind] === true || typeof fields[kind] === 'string')));
    if (!isValid) throw invalid(`expected { id, ${KINDS.join(' | ')} }, with approve: true or deny: true.`);
    if (!nameOf.has(id))
      throw invalid(`call ${id} is not pending; pending calls: ${[...nameOf.keys()].join(', ')}.`);
    if (kind === 'value' && nameOf.get(id) === NETWORK_CALLS.request)
      throw invalid(
        `call ${id} is a request, which can be approved or denied. Only the host receives its response.`,
      );
    if (resolutions.has(id)) throw invalid(`call ${id} has more than one answer.`);
    resolutions.set(id, fields as unknown as Resolution);
  }
  return resolutions;
}

export function toolsRequired(): SandboxError {
  return invalidArgument(
    'tools: the paused program can call tools, but none were passed. Pass the option tools to createSandbox() or to resume().',
  );
}

export function networkRequired(): SandboxError {
  return invalidArgument(
    'policy.network: the paused program waits for the approval of a request. Open the session with policy.network and its field ask.',
  );
}

/** Throws if the session is paused in another execution, or in none. */
export function checkExecution(
  paused: PausedExecution | undefined,
  execution_id: string,
): asserts paused is PausedExecution {
  if (paused?.execution_id !== execution_id) throw executionNotFound(execution_id, paused);
}

/**
 * The execution while it is being resumed. It is saved before the program continues, and stays if the process ends: the
 * old id is no longer accepted, and the approved calls may have taken effect. Throws if the session is paused and the call
 * does not resume it, or if the call resumes an execution that is not paused.
 */
export function claimExecution(
  paused: PausedExecution | undefined,
  resumption: Resumption | undefined,
): PausedExecution | undefined {
  if (resumption === undefined) {
    if (paused !== undefined) throw executionPaused(paused.execution_id);
    return undefined;
  }
  checkExecution(paused, resumption.paused.execution_id);
  const isApproved = (id: number) => 'approve' in (resumption.resolutions.get(id) ?? {});
  const approved = new Set(paused.pending.filter(({ id }) => isApproved(id)).map(({ seq }) => seq));
  const tool_calls = paused.tool_calls.map((record) =>
    approved.has(record.seq) ? { ...record, status: 'unknown' as const } : record,
  );
  return renewExecution({ ...paused, tool_calls });
}

/** The same execution under another id: answers that were sent with the old one are refused. */
export function renewExecution(paused: PausedExecution): PausedExecution {
  return { ...paused, execution_id: randomUUID() };
}
