/** The part of the server that a workbench uses. */
import type { Toolset } from '../tools/toolset.ts';
import type { TimelineStorage } from './saved-timeline.ts';

/** What a workbench needs from its server. */
export interface WorkbenchHost {
  /** The tools that programs may call, if there are any. */
  toolset(): Promise<Toolset | undefined>;
  /** Runs work that `destroy` of the session and the shutdown of the server cancel. */
  runCancellable<T>(
    session_id: string,
    signal: AbortSignal,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T>;
  /** Where timelines are stored; undefined if they end with the server. */
  readonly timelines: TimelineStorage | undefined;
  /** An error as clients may see it. */
  clientError(cause: unknown): { readonly code: string; readonly message: string };
}
