/** What a running program asks the main thread for: input, packages, and images for its processes. The guest waits for the answers. */
import type { FindPackages } from '../../kernel/package-finder.ts';
import { StandardInput } from '../../kernel/standard-input.ts';
import type { GuestAssets } from '../../runtimes/artifacts/guest-artifacts.ts';
import type { ImageFinder } from '../guest-processes/process-images.ts';
import type { HostAnswer, HostRequest, RunJob } from '../protocol/messages.ts';

/** Requests for packages in one run. Later ones are answered here. */
export const MAX_PACKAGE_REQUESTS = 100;

/** The run that asks. */
export interface AskingRun {
  /** Undefined if a limit of the run ends the wait. */
  ask(request: HostRequest): HostAnswer | undefined;
  /** The share of its fuel or its time that the program has used. */
  usedShare(): number;
  /** Ends the run, which starts again from the beginning. */
  restart(): never;
}

export function inputOf({ ask }: AskingRun, { stdin, hasMoreStdin }: Pick<RunJob, 'stdin' | 'hasMoreStdin'>) {
  const askForMore = () => {
    const answer = ask({ type: 'stdin' });
    return answer === undefined ? 'interrupted' : (answer.bytes ?? 'end');
  };
  return new StandardInput(stdin, hasMoreStdin ? askForMore : undefined);
}

export function packageFinder({ ask, usedShare, restart }: AskingRun): FindPackages {
  let count = 0;
  return (kind, names) => {
    if (++count > MAX_PACKAGE_REQUESTS) return names;
    const packages = ask({ type: 'packages', kind, names, used: usedShare() })?.packages;
    return packages === 'restart' ? restart() : (packages ?? names);
  };
}

export function imageFinder(
  { ask, usedShare, restart }: AskingRun,
  assets: ReadonlyMap<string, GuestAssets>,
): ImageFinder {
  return {
    ask: (question) => ask({ type: 'image', question, used: usedShare() })?.image,
    assetsOf: (id) => assets.get(id)!,
    stop: restart,
    answers: new Map(),
  };
}
