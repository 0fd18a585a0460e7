/** The part of the server that a session of the playground uses, and how such a session runs programs. */
import type { Execution } from '../sandbox/execution-handle.ts';
import type { DisplayResult } from '../schema.ts';
import type { SessionBlobs } from '../stores/coordination.ts';
import type { Toolset } from '../tools/toolset.ts';

/** What a session of the playground needs from its server. */
export interface PlaygroundServices {
  /** The tools that programs may call, if there are any. */
  toolset(): Promise<Toolset | undefined>;
  /** Runs work that `destroy` of the session and the shutdown of the server cancel. */
  runCancellable<T>(
    session_id: string,
    signal: AbortSignal,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T>;
  /** Where timelines are stored; undefined if they end with the server. */
  readonly timelines: SessionBlobs | undefined;
  /** An error as clients may see it. */
  clientError(cause: unknown): { readonly code: string; readonly message: string };
}

/** The highest limits of a program that is continued. */
export interface ResumeLimits {
  readonly fuel_budget: number;
  readonly timeout_seconds: number;
}

interface RunCallbacks {
  readonly signal: AbortSignal;
  readonly onStdout: (text: string) => void;
  readonly onStderr: (text: string) => void;
  readonly onProgress: (progress: { fuel_consumed: number; fuel_budget: number }) => void;
}

/** Starts a program or continues one. */
export type Execute = (
  options: RunCallbacks,
  tools: Toolset | undefined,
  onResult: (result: DisplayResult) => void,
) => Execution;
