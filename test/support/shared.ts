/** What all tests of a file use, such as a sandbox or a server. */
import { afterAll } from 'vitest';

/** Opens something when the file is loaded, and closes it after the tests of the file. */
export async function sharedByFile<T extends AsyncDisposable | { close(): Promise<unknown> }>(
  opening: Promise<T>,
): Promise<T> {
  const opened = await opening;
  afterAll(async () => {
    await ('close' in opened ? opened.close() : opened[Symbol.asyncDispose]());
  });
  return opened;
}
