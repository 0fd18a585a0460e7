/**
 * Sessions with preloaded modules, whose image can be built again at any time.
 *
 * @module-tag full
 */
import { expect, test } from 'vitest';
import { runCli } from '../support/cli.ts';
import { folderOfTest } from '../support/folders.ts';

test('a session with preloaded modules continues without its cached image, or says why it cannot', async () => {
  const store = folderOfTest();
  const run = (...args: string[]) =>
    runCli(['run', '--session', 'kept', '--store', store, '--language', 'javascript', ...args], {
      env: { LLM_WASM_SANDBOX_CACHE: folderOfTest(), LLM_WASM_SANDBOX_PACKAGES_DIR: folderOfTest() },
    });
  await run('--preload', 'lodash', '-c', 'var x = require("lodash").sum([1, 2])');
  expect((await run('-c', 'console.log(x + 1)')).stdout).toBe('4\n');
  const failed = await run('--fuel', '1000', '-c', 'console.log(x)');
  expect(failed.stderr).toMatch(
    /image of session kept with the preloaded modules lodash.*could not be built again/s,
  );
  expect(failed.stderr).not.toContain('There is no session');
  expect((await run('-c', 'console.log(x + 1)')).stdout).toBe('4\n');
});
