/**
 * The command line for `run`. It is bundled into one file, separately from the other commands and from the early start, so the
 * thread that the latter has started is passed on to it.
 */
import { type FirstJob, sharedPool } from '@llm-wasm-sandbox/core/internal';
import { dispatchCommand } from './dispatch-command.ts';
import { exitWhenWritten } from './exit-when-written.ts';
import { useInstalledLibrary } from './use-installed-library.ts';

export async function startRunCommand(
  args: readonly string[],
  firstJob: FirstJob | undefined,
): Promise<void> {
  useInstalledLibrary();
  // The pool of the run, which would be created later without the thread.
  if (firstJob !== undefined) sharedPool({ optimization: 'demand' }, { firstJob });
  await dispatchCommand(args);
  await exitWhenWritten();
}
