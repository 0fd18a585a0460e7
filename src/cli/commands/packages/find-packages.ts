/** What `packages add`, `update` and `lock` share: the sources of wheels, with a line of progress while they are searched. */
import { escapeControls } from '../../../analysis/escape-controls.ts';
import { readPyodideLock } from '../../../packages/pyodide-lock.ts';
import type { ResolutionSources } from '../../../packages/resolve-packages.ts';
import { pyodideUrl } from '../../../packages/wheel-sources.ts';
import { unpackInThread } from '../../../worker/pool/unpack-in-thread.ts';
import { printLines } from '../../diagnostics.ts';
import { didYouMean } from '../../did-you-mean.ts';
import { Progress } from '../../progress-line.ts';
import type { PackagesFlags } from './subcommand.ts';

export const report = (text: string) => printLines(escapeControls(text));

export const reportVendored = (names: readonly string[]) => {
  for (const name of names) report(`${name} is vendored: programs can import it already`);
};

/** Runs an action with the sources that the flags select. `files` are wheels that the caller specified. */
export async function withSources(
  files: readonly string[],
  { pip, pyodide }: Pick<PackagesFlags, 'pip' | 'pyodide'>,
  action: (sources: ResolutionSources) => Promise<void>,
): Promise<void> {
  const progress = new Progress(() => 'Searching for packages');
  // Dependencies that are found later make the work longer; the bar stays where it was.
  let done = 0;
  const pyodideLock = readPyodideLock();
  const similar = (name: string) =>
    [...pyodideLock.packages.keys()].filter((one) => one !== name && one[0] === name[0]);
  try {
    await action({
      files,
      pip,
      pyodideUrl: pyodide ? pyodideUrl(pyodideLock) : undefined,
      pyodideLock,
      unpack: unpackInThread,
      onStep: (text, share = 0) => {
        done = Math.max(done, share);
        progress.step(text, done);
      },
      suggest: (name) => didYouMean(name, similar(name)),
    });
  } finally {
    progress.end();
  }
}
