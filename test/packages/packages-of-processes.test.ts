/**
 * The packages of the Python processes that programs in bash and JavaScript start, with wheels that the test creates. Real wheels
 * are used in scientific-processes.test.ts.
 *
 * @module-tag full
 */
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createPool, createSandbox, diskStore, type SandboxOptions } from 'llm-wasm-sandbox';
import { aiSdkSandbox } from 'llm-wasm-sandbox/adapters';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { runCliHere, runScript } from '../support/cli.ts';
import { setEnvironment } from '../support/environment.ts';
import { folderOfFile } from '../support/folders.ts';
import { call, httpClient, startHttp } from '../support/mcp.ts';
import { onlyPackagesFrom } from './available-wheels.ts';
import { nativeWheel } from './native-extension.ts';
import { wheel } from './wheel-fixtures.ts';

const folder = folderOfFile();
const index = join(folder, 'index');
const store = join(folder, 'store');
setEnvironment({ ...onlyPackagesFrom(index, folder), LLM_WASM_SANDBOX_CACHE: join(folder, 'cache') });

const packages = (...args: readonly string[]) => runCliHere(['packages', ...args], store);
const removePackages = () => rmSync(join(folder, 'packages', 'packages.json'), { force: true });
const COUNT = "python3 -c 'import counter; print(counter.add(1), counter.add(1))'";
const HELP = "python3 -c 'import helper; print(helper.one)'";

beforeAll(async () => {
  mkdirSync(index);
  await nativeWheel(index);
  await wheel(index, 'helper_pkg', '1.2', { 'helper.py': 'one = 1\n' });
  await wheel(index, 'other', '1.0', { 'other.py': 'import helper\nx = helper.one + 1\n' });
  expect((await packages('lock', index)).status).toBe(0);
});

async function run(code: string, options: Partial<SandboxOptions> = {}) {
  await using sandbox = await createSandbox({ runtime: 'bash', packages: 'auto', ...options });
  return await sandbox.execute(code);
}

describe('packages of a sandbox for bash', () => {
  beforeAll(async () => {
    expect((await packages('add', 'counter', 'helper-pkg')).status).toBe(0);
  });
  const given = { packages: ['counter', 'helper-pkg'] };

  test.each([
    ['a command', COUNT],
    ['a script', "echo 'import counter; print(counter.add(1), counter.add(1))' > s.py; python3 s.py"],
    ['an executable', "printf '#!/usr/bin/env python3\\nimport counter; print(1, 2)' > s; chmod +x s; ./s"],
    ['standard input', "python3 <<'E'\nimport counter\nprint(counter.add(1), counter.add(1))\nE"],
    ['a pipeline', "echo 'import counter; print(1, 2)' | python3 - | cat"],
    ['a module', "echo 'import counter; print(1, 2)' > m.py; python3 -m m"],
    ['a process of it', `python3 -c 'import os; os.system("python3 -c \\"import counter; print(1, 2)\\"")'`],
    ['an import by name', `python3 -c '__import__("importlib").import_module("counter"); print(1, 2)'`],
    ['a subshell', `(${COUNT}) | (cat; exit 0)`],
  ])('are there for %s', async (_, command) => {
    const { stdout, stderr } = await run(command, given);
    expect([stdout, stderr]).toEqual(['1 2\n', '']);
  });

  test('are loaded in the image, so that the import costs almost no fuel', async () => {
    const plain = await run("python3 -c 'print(1, 2)'", given);
    const { fuel_consumed } = await run(COUNT, given);
    expect(fuel_consumed - plain.fuel_consumed).toBeLessThan(2_000_000);
  });

  test('cost a program nothing that starts no Python', async () => {
    const images = () => readdirSync(join(folder, 'cache', 'images'));
    const before = images();
    const program = 'echo 1 | cat; ls /; jq -n 1';
    const policy = { deterministic: true };
    const { stdout, fuel_consumed } = await run(program, { policy, packages: ['helper-pkg'] });
    expect(stdout).toMatch(/^1\n/);
    const plain = await run(program, { policy, packages: [] });
    expect([fuel_consumed, images()]).toEqual([plain.fuel_consumed, before]);
  });

  test('are those that pip names', async () => {
    const list =
      'pip list | grep -c -E "^(counter|helper-pkg) "; pip freeze | grep helper; pip install -q helper-pkg && echo ok';
    expect((await run(list, given)).stdout).toBe('2\nhelper-pkg==1.2\nok\n');
    const none = await run(`${list}; ${HELP}`, { packages: [] });
    expect(none.stdout).toBe('0\n');
    expect(none.stderr).toContain(
      'cannot install helper-pkg: the sandbox does not have it. The user can add it, with:',
    );
    expect(none.stderr).toContain("No module named 'helper'");
  });

  test('are the same for processes of JavaScript, and for shells of Python', async () => {
    const code = `process.stdout.write(require('child_process').execSync(${JSON.stringify(COUNT)}))`;
    expect((await run(code, { ...given, runtime: 'javascript' })).stdout).toBe('1 2\n');
    const shell = `import os\nos.system(${JSON.stringify(COUNT)})`;
    expect((await run(shell, { ...given, runtime: 'python' })).stdout).toBe('1 2\n');
  });

  test('work in isolated processes', async () => {
    await using pool = createPool({ isolation: 'process', maxWorkers: 1 });
    expect((await run(`${COUNT}; ${HELP}`, { ...given, pool })).stdout).toBe('1 2\n1\n');
  });

  test('take turns in the file tree of a call, and are gone after it', async () => {
    const options = { runtime: 'bash', packages: 'auto', auto_persist_globals: true } as const;
    await using sandbox = await createSandbox(options);
    const list = 'ls -p /data/packages | grep -v /';
    const { stdout } = await sandbox.execute(`${COUNT}; ${list}; ${HELP}; node -p 1; ${COUNT}`);
    expect(stdout).toMatch(/^1 2\ncounter.*so\ncounter_data.py\n1\n1\n1 2\n$/);
    expect((await sandbox.execute('ls /data')).success).toBe(false);
    // Processes without added packages have the boot image again.
    const other = await run(`${COUNT}; python3 -c 'print(1)'; ls /data`);
    expect(other.stdout).toBe('1 2\n1\nsite-packages\n');
  });

  test('use the same fuel in every deterministic run', async () => {
    const options = { ...given, policy: { deterministic: true } } as const;
    const program = `${COUNT}; ${HELP}; python3 -c 'import random; print(random.random())'`;
    const first = await run(program, options);
    const second = await run(program, options);
    expect(first.stdout).toMatch(/^1 2\n1\n0\./);
    expect([second.stdout, second.fuel_consumed]).toEqual([first.stdout, first.fuel_consumed]);
  });
});

describe('packages on demand of processes', () => {
  beforeEach(removePackages);

  test('are added when a process imports them, and the program starts again', async () => {
    const { stdout, stderr, metadata, files_created } = await run(`echo start >> log; ${HELP}; cat log`);
    expect([stdout, stderr, files_created]).toEqual(['1\nstart\n', '', ['log']]);
    expect(metadata.packages_added).toMatchObject([{ name: 'helper-pkg', version: '1.2' }]);
    const again = await run(HELP);
    expect([again.stdout, again.metadata.packages_added]).toEqual(['1\n', undefined]);
  });

  test('use the same fuel, whether or not they had to be added', async () => {
    const options = { policy: { deterministic: true } } as const;
    const first = await run(HELP, options);
    expect(first.metadata.packages_added).toHaveLength(1);
    expect((await run(HELP, options)).fuel_consumed).toBe(first.fuel_consumed);
  });

  test.each([
    ['a name', `python3 -c '__import__("helper"); print(1)'`],
    ['a module of the workspace', "echo 'import helper' > own.py; python3 -c 'import own; print(1)'"],
    [
      'a process in a pipeline of a subshell',
      `(python3 -c '__import__("helper"); print(1)'; echo) | head -1`,
    ],
    ['pip', `pip install -q helper-pkg && python3 -c 'import helper; print(1)'`],
    [
      'a process of a process',
      `python3 -c 'import os; os.system("python3 -c \\"import helper; print(1)\\"")'`,
    ],
  ])('are found by %s', async (_, program) => {
    const { stdout, stderr, metadata } = await run(program);
    expect([stdout, stderr]).toEqual(['1\n', '']);
    expect(metadata.packages_added).toMatchObject([{ name: 'helper-pkg', version: '1.2' }]);
  });

  test('do not replace modules of the workspace', async () => {
    const { stdout, metadata } = await run(
      "echo 'one = 7' > helper.py; python3 -c 'import helper; print(helper.one)'",
    );
    expect([stdout, metadata.packages_added]).toEqual(['7\n', undefined]);
  });

  test('that are not accepted leave the program as it is', async () => {
    await using sandbox = await createSandbox({ runtime: 'bash', packages: 'auto' });
    const { stderr, metadata } = await sandbox.execute(HELP, { onPackages: () => false });
    expect(stderr).toContain("No module named 'helper'");
    expect(metadata.packages_added![0]!.problem).toContain('declined');
  });

  test('are not added if the program cannot start again, which the process says', async () => {
    await using sandbox = await createSandbox({ runtime: 'bash', packages: 'auto' });
    const stdin = (async function* () {
      yield 'line\n';
    })();
    const { stdout, stderr, exit_code } = await sandbox.execute(`read x; echo $x; ${HELP}`, { stdin });
    expect([stdout, exit_code]).toEqual(['line\n', 1]);
    expect(stderr).toContain(
      'the packages of this program are not ready, and it cannot be started again, because it has read its input',
    );
  });

  test('are listed by pip', async () => {
    await packages('add', 'helper-pkg');
    expect((await run('pip list | grep helper')).stdout).toMatch(/^helper-pkg +1\.2\n$/);
  });
});

describe('sessions of bash', () => {
  beforeEach(removePackages);
  const open = (session_id: string) =>
    createSandbox({ runtime: 'bash', packages: 'auto', session_id, store: diskStore(store) });

  test('keep the packages that processes have used, also in another process', async () => {
    const first = await open('kept');
    await first.execute(`x=1; ${HELP}`);
    expect(first.session.preload).toEqual([expect.stringMatching(/^packages:[0-9a-f]{64} helper-pkg 1\.2$/)]);
    const fork = await first.fork('forked');
    expect((await fork.execute(`echo $x; ${COUNT}`)).stdout).toBe('1\n1 2\n');
    expect(fork.session.preload).toHaveLength(2);
    expect(first.session.preload).toHaveLength(1);
    await fork.close();
    await first.close();
    const { stdout, stderr } = await runScript(
      `import { createSandbox, diskStore } from 'llm-wasm-sandbox';
      const [session_id, folder, program] = ${JSON.stringify(['forked', store, `echo $x; ${HELP}; ${COUNT}`])};
      const options = { runtime: 'bash', packages: 'auto', session_id, store: diskStore(folder) };
      await using session = await createSandbox(options);
      const { stdout, metadata } = await session.execute(program);
      process.stdout.write(stdout + JSON.stringify(metadata.packages_added ?? 'nothing'));`.replace(
        'await using',
        'const',
      ),
    );
    expect([stdout, stderr]).toEqual(['1\n1\n1 2\n"nothing"', '']);
  });

  test('are not opened with another version of a package', async () => {
    const session = await open('pinned');
    await session.execute(HELP);
    await session.close();
    const other = await wheel(folder, 'helper_pkg', '1.3', { 'helper.py': 'one = 3\n' });
    expect((await packages('add', other)).status).toBe(0);
    await expect(open('pinned')).rejects.toMatchObject({
      code: 'session_mismatch',
      message: expect.stringContaining('helper-pkg 1.2'),
    });
    expect((await run(HELP)).stdout).toBe('3\n');
  });

  test('with given packages have those of their creation', async () => {
    await packages('add', 'helper-pkg');
    const options = { runtime: 'bash', session_id: 'given', store: diskStore(store) } as const;
    const session = await createSandbox({ ...options, packages: ['helper-pkg'] });
    expect((await session.execute(HELP)).stdout).toBe('1\n');
    await session.close();
    await expect(createSandbox({ ...options, packages: [] })).rejects.toMatchObject({
      code: 'session_mismatch',
    });
  });

  test('roll a call back whose process needs a package that is then added', async () => {
    await using session = await open('again');
    await session.execute('n=0');
    expect((await session.execute(`n=$((n + 1)); ${HELP}; echo $n`)).stdout).toBe('1\n1\n');
    expect((await session.execute('echo $n')).stdout).toBe('1\n');
  });
});

describe('commands of other interfaces', () => {
  beforeAll(async () => {
    removePackages();
    expect((await packages('add', 'counter')).status).toBe(0);
  });

  test('run on the command line have added packages', async () => {
    expect((await runCliHere(['run', '-l', 'bash', '-c', COUNT], store)).stdout).toBe('1 2\n');
    const none = await runCliHere(['run', '-l', 'bash', '--no-packages', '-c', COUNT], store);
    expect(none.stderr).toContain("No module named 'counter'");
  });

  test('of MCP have added packages', async () => {
    await using server = await startHttp({ shell_tool: true });
    await using client = await httpClient(server, 'modern');
    const shell = await call(client, 'bash', { command: COUNT });
    const program = await call(client, 'execute_code', { code: COUNT, language: 'bash' });
    expect([shell.structured, program.structured]).toMatchObject([{ stdout: '1 2\n' }, { stdout: '1 2\n' }]);
  });

  test('of frameworks have added packages', async () => {
    for (const runtime of ['python', 'bash'] as const) {
      await using session = await createSandbox({
        runtime,
        packages: ['counter'],
        auto_persist_globals: true,
      });
      expect(await aiSdkSandbox(session).run({ command: COUNT })).toMatchObject({ stdout: '1 2\n' });
    }
  });

  test('of contexts of E2B have added packages', async () => {
    const token = 'secret-0123456789';
    await using server = await startHttp({ e2b: true, tokens: [`app=${token}`] });
    const post = async (path: string, body: object, headers: Record<string, string>) => {
      const init = { method: 'POST', body: JSON.stringify(body), headers };
      return await (await fetch(new URL(path, server.url), init)).text();
    };
    const sandbox = JSON.parse(await post('/v2/sandboxes', { templateID: 'base' }, { 'x-api-key': token }));
    const lines = await post(
      '/execute',
      { code: COUNT, language: 'bash' },
      {
        'e2b-sandbox-id': sandbox.sandboxID,
        'e2b-sandbox-port': '49999',
        'x-access-token': sandbox.envdAccessToken,
      },
    );
    expect(JSON.parse(lines.split('\n')[0]!)).toMatchObject({ type: 'stdout', text: '1 2\n' });
  });
});
