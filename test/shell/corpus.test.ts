/**
 * @module-tag full
 * Shell programs as agents write them print the same, byte for byte, in the C programs of the sandbox as in real bash with GNU
 * tools. UPDATE_SHELL=1 records the results of the real tools in recorded.json.
 */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createSandbox } from 'llm-wasm-sandbox';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { FILES, hasRealTools, programs, recorded, runNatively } from './corpus.ts';
import { runInGuests } from './shell-guest.ts';

const PROGRAMS = programs();
/** Programs that start Python, which is not a C program, or a script for it, or read files of time zones. */
const NEEDS_PYTHON = /python|shuf|\bjoin\b|\bcolumn\b|envsubst|grep -\w*P|TZ=/;
const IN_C = [...PROGRAMS].filter(([, code]) => !NEEDS_PYTHON.test(code));
const IN_SANDBOX = [...PROGRAMS].filter(([, code]) => NEEDS_PYTHON.test(code));

/** Programs whose results differ in older coreutils and in mawk, which Debian 12 has. */
const NEWER = ['agent split', 'agent awk'];

if (process.env['UPDATE_SHELL'] !== undefined) {
  const results = Object.fromEntries([...PROGRAMS].map(([name, code]) => [name, runNatively(code)]));
  writeFileSync(new URL('recorded.json', import.meta.url), `${JSON.stringify(results, null, 2)}\n`);
}

// The programs are built, the code under test is not.
beforeAll(() =>
  vi.stubEnv('LLM_WASM_SANDBOX_ASSETS', fileURLToPath(new URL('../../packages/core/dist', import.meta.url))),
);
afterAll(() => vi.unstubAllEnvs());

describe('shell programs as agents write them', () => {
  const results = recorded();

  test.each(IN_C)('%s', (name, code) => {
    const { stdout, exit_code } = runInGuests(code, FILES);
    expect({ stdout, exit_code }).toEqual(results[name]);
  });

  test.each(IN_SANDBOX)('%s', async (name, code) => {
    const sandbox = await createSandbox({ runtime: 'bash' });
    const { stdout, exit_code } = await sandbox.execute(code, { files: FILES });
    await sandbox.close();
    expect({ stdout, exit_code }).toEqual(results[name]);
  });

  test('use the same fuel in every run', () => {
    const code = 'for i in 1 2 3; do (echo $i $RANDOM) & done; wait; seq 100 | sort -R | md5sum; date';
    expect(runInGuests(code, FILES)).toEqual(runInGuests(code, FILES));
  });

  test.skipIf(!hasRealTools())('have the recorded results in the bash of this machine', () => {
    for (const [name, code] of PROGRAMS)
      if (!NEWER.includes(name)) expect([name, runNatively(code)]).toEqual([name, results[name]]);
  });
});
