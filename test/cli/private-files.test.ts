/**
 * What the command line stores, under an umask that gives everybody access.
 *
 * @module-tag full
 */
import { lstatSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { CLI, runProcess } from '../support/cli.ts';
import { folderOfFile } from '../support/folders.ts';

const folder = folderOfFile();

const stored = join(folder, 'stored');
const env = {
  ...process.env,
  LLM_WASM_SANDBOX_CACHE: join(stored, 'cache'),
  LLM_WASM_SANDBOX_STATE: join(stored, 'state'),
  LLM_WASM_SANDBOX_STORE: join(stored, 'sessions'),
  LLM_WASM_SANDBOX_PACKAGES_DIR: join(stored, 'packages'),
};
/** Writes a file of each kind that takes long to create with commands. */
const WRITE = `
  const { writeCached } = await import('../../core/dist/host/disk-cache.js');
  const { ensureWritableFolder } = await import('../../core/dist/host/ensure-writable-folder.js');
  const { storeWheel } = await import('../../core/dist/packages/added-packages.js');
  const { History, historyFile } = await import('./cli/repl/history.js');
  writeCached('images', 'key', new Uint8Array(8));
  storeWheel({ sha256: '0'.repeat(64), file: 'a-1.0-py3-none-any.whl' }, new Uint8Array(8));
  new History(historyFile('python')).add('x = 1');
  await ensureWritableFolder(process.env.LLM_WASM_SANDBOX_STORE + '/../data');
`;
const openToAll = (cwd: string, ...args: readonly string[]) =>
  runProcess('sh', ['-c', 'umask 0; exec "$@"', 'sh', process.execPath, ...args], { cwd, env });

describe.skipIf(process.platform === 'win32')('caches, sessions, packages and the history', () => {
  // guarantee: stored-sessions
  test('can be read and written only by their owner, whatever the umask is', async () => {
    const written = await openToAll(join(dirname(CLI), '..'), '--input-type=module', '-e', WRITE);
    expect(written).toMatchObject({ status: 0, stderr: '' });
    const program = "open('a.txt', 'w').write('x')";
    const run = await openToAll(folder, CLI, 'run', '-c', program, '--session', 's', '--out', 'out');
    expect(run).toMatchObject({ status: 0, stderr: '' });
    const names = readdirSync(stored, { recursive: true, encoding: 'utf8' });
    const isPrivate = (path: string) => {
      const status = lstatSync(path);
      return (status.mode & 0o777) === (status.isDirectory() ? 0o700 : 0o600);
    };
    // Node.js creates what is in the folder for compiled code.
    const own = names.filter((name) => !name.startsWith(join('cache', 'compiled', 'v')));
    expect(['', ...own].filter((name) => !isPrivate(join(stored, name)))).toEqual([]);
    for (const name of [
      'cache/images/key',
      'state/repl-history-python',
      'packages/wheels',
      'sessions',
      'data',
    ])
      expect(names).toContain(name);
    // Copied results belong to the user, who chose the umask.
    expect(lstatSync(join(folder, 'out/a.txt')).mode & 0o777).toBe(0o666);
  });
});
