/**
 * One run of a guest, from the sandbox's side of the pool: a call, whose changes are taken over, or a look at a session,
 * which changes nothing.
 */
import { z } from 'zod';
import { SandboxError } from '../errors.ts';
import { type Variable, variable } from '../runtimes/language.ts';
import { LANGUAGES } from '../runtimes/languages.ts';
import type { executeOptions, RuntimeName } from '../schema.ts';
import type { Session } from '../session/timeline.ts';
import { Transaction } from '../session/transaction.ts';
import { type ImageExtension, sharedPool } from '../worker/guest-assets.ts';
import type { RunOutcome } from '../worker/protocol.ts';
import { LiveOutput } from './live-output.ts';
import { assetsWith } from './options.ts';
import { endedFromOutside } from './result.ts';
import { type JobSource, PEEK, runJob } from './run-job.ts';

/** What all calls of a sandbox have in common. */
export interface CallSource extends JobSource {
  /** Calls with the same key run one after another. */
  readonly key: string;
  readonly runtime: RuntimeName;
  readonly extras: ImageExtension | undefined;
  readonly session: Session | undefined;
  /** Aborted when the sandbox is closed. */
  readonly closing: AbortSignal;
}

export interface CallLimits {
  readonly fuel_budget: number;
  readonly timeout_seconds: number;
}

export interface EndedCall {
  readonly outcome: RunOutcome;
  readonly queueMs: number;
}

/** Puts a program through a guest and takes over what it changed: in a session all of it or nothing. */
export async function runCall(
  source: CallSource,
  code: string,
  call: z.output<typeof executeOptions>,
  limits: CallLimits,
): Promise<EndedCall> {
  const { key, runtime, extras, session, workspace, closing } = source;
  const submitted = performance.now();
  let started = submitted;
  const live = new LiveOutput(call.on_stdout, call.on_stderr);
  const { fuel_budget } = limits;
  const { on_progress: onProgress, stdin, inject_setup } = call;
  const transaction = session && new Transaction(session, workspace, code);
  const result = await sharedPool().submit({
    key,
    sticky: transaction !== undefined,
    prepare: async () => {
      // A session stays in the image it began in: its memory is a difference to that.
      const bare = !inject_setup && session === undefined;
      const assets = await assetsWith(runtime, bare ? undefined : extras);
      if (transaction === undefined && call.files !== undefined) workspace.write(call.files);
      const part = await transaction?.begin(key, call.files);
      const wanted = { code, ...limits, inject_setup, stdin, live: live.wanted, session: part };
      return { assets, job: runJob(assets.id, source, wanted) };
    },
    signal: AbortSignal.any([closing, ...(call.signal ? [call.signal] : [])]),
    onOutput: (stream, bytes) => live.push(stream, bytes),
    onSpent: onProgress && ((fuel_consumed) => live.guard(() => onProgress({ fuel_consumed, fuel_budget }))),
    onStart: () => {
      started = performance.now();
    },
    onResult: (ended) => {
      if (ended.type !== 'done') return;
      if (transaction === undefined) workspace.apply(ended.outcome.changes);
      else transaction.answered(ended.outcome);
    },
    onSaved: (saved) => transaction?.saved(saved),
    onFinished: () => transaction?.finished(),
    limitMs: limits.timeout_seconds * 1000,
  });
  if (result.type === 'built' || result.type === 'extended')
    throw new SandboxError('internal', 'A run was answered with a build.');
  // Of a sandbox that is being closed nobody wants to hear any more.
  if (!closing.aborted) live.end();
  const queueMs = started - submitted;
  if (result.type === 'done') return { outcome: result.outcome, queueMs };
  const outcome = endedFromOutside(result.type, performance.now() - started);
  return { outcome: session ? { ...outcome, state: 'rolled_back' } : outcome, queueMs };
}

/** The variables of a session's interpreter, by asking a copy of it; nothing changes. */
export async function askVariables(source: CallSource, session: Session): Promise<Variable[]> {
  const { key, runtime, extras } = source;
  const result = await sharedPool().submit({
    key,
    prepare: async () => {
      const code = LANGUAGES[runtime].variablesProgram(session.declared);
      const { version, delta, tmp } = session.state;
      const edits = { removed: [], entries: [] };
      const part = { id: key, version, delta, tmp, edits, call: version + 1, discardState: true };
      const assets = await assetsWith(runtime, extras);
      return { assets, job: runJob(assets.id, source, { code, ...PEEK, session: part }) };
    },
    limitMs: PEEK.timeout_seconds * 1000,
  });
  if (result.type !== 'done') return [];
  const parsed = z.array(variable).safeParse(result.outcome.report?.result);
  return parsed.success ? parsed.data : [];
}
