/**
 * `packages add` and the packages that it adds, with wheels that the test creates. pip looks only into a folder of the test.
 *
 * @module-tag full
 */
import { EventEmitter, once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSandbox, diskStore, type SandboxOptions, type Session } from 'llm-wasm-sandbox';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { exclusive } from '../../packages/cli/src/cli/commands/packages/change.ts';
import { zipBytes } from '../../tools/redteam/src/hostile-zip.ts';
import { runCli, runCliHere } from '../support/cli.ts';
import { folderOfFile } from '../support/folders.ts';
import { call, httpClient, startHttp } from '../support/mcp.ts';
import { onlyPackagesFrom } from './available-wheels.ts';
import { NATIVE_TAG, nativeWheel } from './native-extension.ts';
import { wheel } from './wheel-fixtures.ts';

/**
 * A folder in which writes fail as on a full disk once `filesLeft` files are written. The commands use the functions of Node.js
 * that exist when they are loaded, so these are replaced before.
 */
const disk = vi.hoisted(() => {
  const fs = process.getBuiltinModule('node:fs');
  const { writeFileSync: write } = fs;
  const full: { folder?: string | undefined; filesLeft: number } = { filesLeft: 0 };
  fs.writeFileSync = (file, data, options) => {
    if (full.folder === undefined || !String(file).startsWith(full.folder) || full.filesLeft-- > 0)
      return write(file, data, options);
    write(file, Buffer.from(data as string | Uint8Array<ArrayBuffer>).subarray(0, 10), options);
    throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC', errno: -28 });
  };
  process.getBuiltinModule('node:module').syncBuiltinESMExports();
  return full;
});

const folder = folderOfFile();
const index = join(folder, 'index');
const home = join(folder, 'packages');
const env = { ...onlyPackagesFrom(index, folder), LLM_WASM_SANDBOX_STORE: join(folder, 'sessions') };
Object.assign(process.env, env);
const packages = (...args: readonly string[]) =>
  runCliHere(['packages', ...args], env.LLM_WASM_SANDBOX_STORE);
const session = (...args: readonly string[]) => runCliHere(['session', ...args], env.LLM_WASM_SANDBOX_STORE);
const run = (...args: readonly string[]) => runCli(['run', ...args], { cwd: folder, env });
const added = async () =>
  (JSON.parse((await packages('list', '--json')).stdout) as { name: string; source: string }[])
    .filter(({ source }) => source === 'added')
    .map(({ name }) => name);

let native: string;
beforeAll(async () => {
  native = await nativeWheel(folder);
  mkdirSync(index);
  const adder = { 'adder/__init__.py': 'from helper import one\n\ndef add(n):\n    return n + one\n' };
  await wheel(index, 'Adder', '1.5', adder, 'py3-none-any', [
    'Summary: Adds numbers',
    'License-Expression: MIT',
    'Requires-Dist: helper_pkg>=1,<2',
    'Requires-Dist: six',
    'Requires-Dist: missing; sys_platform == "win32"',
  ]);
  await wheel(index, 'helper_pkg', '1.2', { 'helper.py': 'one = 1\n' });
  await wheel(index, 'helper_pkg', '2.0', { 'helper.py': 'one = 2\n' });
  await wheel(index, 'broken', '1.0', { 'broken.py': 'import not_there\n' });
  await writeLyingWheels();
});

const lying = (name: string, tag = 'py3-none-any') => join(folder, `${name}-1.0-${tag}.whl`);

/** Wheels whose contents are not what they claim. */
async function writeLyingWheels(): Promise<void> {
  const four = { name: 'x.py', data: 'x', method: 8, size: 2 ** 32 - 1 };
  writeFileSync(lying('outside'), zipBytes([{ name: '../x.py', data: '' }]));
  writeFileSync(lying('large'), zipBytes([four]));
  await wheel(folder, 'machine', '1.0', { 'x.so': new Uint8Array([0x7f, 0x45, 0x4c, 0x46]) }, NATIVE_TAG);
  const record = { name: 'record-1.0.dist-info/RECORD', data: 'record.py,sha256=AAAA,0\n' };
  writeFileSync(lying('record'), zipBytes([{ name: 'record.py', data: '' }, record]));
}

describe('packages add', () => {
  test('adds wheels, and packages by name with their dependencies', async () => {
    const { status, stderr } = await packages('add', native, 'adder', 'openpyxl');
    expect(stderr).toContain('openpyxl is vendored');
    expect(stderr).toMatch(/added adder 1\.5 \(pip, [\d.]+ (bytes|KiB)\); first import \S+ fuel/);
    expect(status).toBe(0);
    expect(await added()).toEqual(['adder', 'counter', 'helper-pkg']);
    const lock = JSON.parse(readFileSync(join(home, 'packages.json'), 'utf8'));
    expect(lock.packages).toMatchObject([
      {
        name: 'adder',
        version: '1.5',
        source: 'pip',
        requested: true,
        requires: ['helper-pkg'],
        use: 'Adds numbers',
      },
      { name: 'counter', source: 'file', requested: true, libraries: [{ sha256: expect.any(String) }] },
      { name: 'helper-pkg', version: '1.2', source: 'pip', requested: false },
    ]);
    expect(lock.packages[0].fuel_first_import).toBeGreaterThan(1000);
  });

  test.each([
    [
      'a package without a wheel',
      ['nowhere'],
      /No wheel of nowhere for cp314-pyemscripten_2026_0_wasm32.*pip: no wheel/,
    ],
    [
      'a package that cannot be imported',
      ['broken'],
      /broken was not added: importing broken fails: ModuleNotFoundError.*Add another version/,
    ],
    [
      'a package that cannot be imported, with one that is added already',
      ['adder==1.5', 'broken'],
      /broken was not added/,
    ],
    ['an unknown package', ['numpyy', '--no-pip'], /No wheel of numpyy (.|\n)*Did you mean numpy\?/],
    ['an option of pip', ['--', '--index-url=x'], /Expected a package name/],
    ['a file that does not exist', ['./nothing.whl'], /does not exist/],
    ['a list that does not exist', ['--lock', './nothing.json'], /Cannot read \.\/nothing\.json: ENOENT/],
    ['nothing', [], /Specify package names/],
    [
      'a wheel with a file outside its folder',
      [lying('outside')],
      /outside-1\.0-py3-none-any\.whl: .*the name "\.\.\/x\.py" is not allowed/,
    ],
    ['a wheel of 4 GiB', [lying('large')], /large-1\.0-py3-none-any\.whl: .*"x\.py" exceeds 256 MiB/],
    ['a wheel with machine code', [lying('machine', NATIVE_TAG)], /machine code for Linux, although/],
    ['a wheel whose RECORD is wrong', [lying('record')], /does not match its RECORD/],
  ])('rejects %s and changes nothing', async (_, names, message) => {
    const before = readFileSync(join(home, 'packages.json'), 'utf8');
    const { status, stderr } = await packages('add', ...names);
    expect(stderr).toMatch(message);
    expect(status).toBe(2);
    expect(readFileSync(join(home, 'packages.json'), 'utf8')).toBe(before);
    expect(readdirSync(join(home, 'wheels'))).toHaveLength(3);
    expect(await packages('verify')).toMatchObject({ status: 0 });
  });

  test.each([
    ['the second wheel', 1, /Cannot write .*second-1\.0.*: there is not enough disk space\. Free some space/],
    ['the list of packages', 2, /Cannot write .*packages\.json: there is not enough disk space/],
  ])(
    'fails if the disk is full when it writes %s, and leaves everything as it was',
    async (_, after, message) => {
      const tree = () =>
        readdirSync(home, { recursive: true, withFileTypes: true })
          .filter((entry) => entry.isFile())
          .map((entry) => join(entry.parentPath, entry.name))
          .sort()
          .map((path) => [path, readFileSync(path, 'hex')]);
      const before = tree();
      const wheels = [
        await wheel(folder, 'first', '1.0', { 'first.py': '' }),
        await wheel(folder, 'second', '1.0', { 'second.txt': '' }),
      ];
      Object.assign(disk, { folder: home, filesLeft: after });
      const { status, stderr } = await packages('add', ...wheels).finally(() => {
        disk.folder = undefined;
      });
      expect(stderr).toMatch(message);
      expect(status).toBe(69);
      expect(tree()).toEqual(before);
    },
  );

  test('waits while another command changes the packages', async () => {
    const events: string[] = [];
    const signals = new EventEmitter();
    const started = once(signals, 'started');
    const first = exclusive(async () => {
      events.push('first starts');
      signals.emit('started');
      await once(signals, 'end');
      events.push('first ends');
    });
    const second = exclusive(async () => {
      events.push('second');
    });
    const flags = { pip: false, pyodide: false };
    const both = [first([], flags)];
    await started;
    const write = vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
      events.push(String(text));
      signals.emit('end');
      return true;
    });
    both.push(second([], flags));
    await Promise.all(both);
    write.mockRestore();
    expect(events).toEqual([
      'first starts',
      'llm-wasm-sandbox: waiting for another command that changes the added packages\n',
      'first ends',
      'second',
    ]);
  });

  test('adds what the list of another machine contains, with the same digests', async () => {
    const lock = JSON.parse(readFileSync(join(home, 'packages.json'), 'utf8'));
    const [adder] = lock.packages;
    const path = join(folder, 'other.json');
    writeFileSync(
      path,
      JSON.stringify({ ...lock, packages: [{ ...adder, sha256: 'a'.repeat(64), requires: [] }] }),
    );
    expect((await packages('add', '--lock', path)).stderr).toMatch(/does not match: expected SHA-256 a{64}/);
    writeFileSync(path, JSON.stringify({ ...lock, packages: [{ ...adder, extra: 1 }] }));
    expect((await packages('add', '--lock', path)).stderr).toContain('is damaged');
    const fromIndex = lock.packages.filter(({ name }: { name: string }) => name !== 'counter');
    writeFileSync(path, JSON.stringify({ ...lock, packages: fromIndex }));
    const other = join(folder, 'other-machine');
    process.env['LLM_WASM_SANDBOX_PACKAGES_DIR'] = other;
    try {
      expect(await packages('add', '--lock', path)).toMatchObject({ status: 0 });
    } finally {
      process.env['LLM_WASM_SANDBOX_PACKAGES_DIR'] = home;
    }
    const digests = (list: { name: string; sha256: string }[]) => list.map((one) => [one.name, one.sha256]);
    const written = JSON.parse(readFileSync(join(other, 'packages.json'), 'utf8'));
    expect(digests(written.packages)).toEqual(digests(fromIndex));
  });
});

describe('added packages', () => {
  test('are available to programs of the command line unless they are left out', async () => {
    const program = 'import adder, counter; print(adder.add(counter.add(4)))';
    expect((await run('-c', program)).stdout).toBe('5\n');
    expect((await run('--no-packages', '-c', program)).stderr).toContain('ModuleNotFoundError');
    expect((await run('--packages', 'counter', '-c', 'import adder')).stderr).toContain(
      'ModuleNotFoundError',
    );
    expect((await run('-l', 'javascript', '-c', 'console.log(1)')).stdout).toBe('1\n');
  });

  test('are available to the library by name, with their measured imports', async () => {
    await using sandbox = await createSandbox({
      runtime: 'python',
      packages: ['Adder', 'openpyxl'],
      preload: ['adder'],
    });
    expect((await sandbox.execute('import adder\nadder.add(1)')).metadata).toMatchObject({
      result: 2,
      imports: [{ name: 'adder', cached: true }],
    });
    const unknown = createSandbox({ runtime: 'python', packages: ['numpy'] });
    await expect(unknown).rejects.toThrow(/Add it with "llm-wasm-sandbox packages add numpy"/);
  });

  test('are loaded before programs that import them, unless the modules to load are given', async () => {
    const imports = async (options: Partial<SandboxOptions>, program = 'import adder') => {
      await using sandbox = await createSandbox({ runtime: 'python', packages: ['adder'], ...options });
      return (await sandbox.execute(program)).metadata.imports;
    };
    expect(await imports({})).toEqual([{ name: 'adder', fuel: 0, cached: true }]);
    expect(await imports({ preload: [] })).toMatchObject([{ name: 'adder', cached: false }]);
    expect(await imports({}, '__import__("adder")')).toMatchObject([{ name: 'adder', cached: false }]);
  });

  test('are loaded by the first call of a session, which is opened with them again', async () => {
    const store = diskStore(join(folder, 'loading-sessions'));
    const options: SandboxOptions = { runtime: 'python', packages: ['adder'], store, session_id: 'a' };
    {
      await using session = (await createSandbox(options)) as Session;
      const calls = [session.execute('import adder\nx = adder.add(1)'), session.execute('x += 1')];
      expect((await Promise.all(calls))[0]!.metadata.imports).toEqual([
        { name: 'adder', fuel: 0, cached: true },
      ]);
      expect(session.session.preload[0]).toBe('adder');
    }
    {
      await using again = await createSandbox(options);
      expect((await again.execute('adder.add(x)')).metadata.result).toBe(4);
    }
    const others = createSandbox({ ...options, packages: ['counter'] });
    await expect(others).rejects.toMatchObject({ code: 'session_mismatch' });
  });

  test('of a session do not change when others are added, and are available again after an import of the session', async () => {
    const continued = (program: string, id = 'kept') => run('--session', id, '-c', program);
    const only = await run(
      '--session',
      'kept',
      '--packages',
      'counter',
      '-c',
      'import counter; print(counter.add(3))',
    );
    expect(only.stdout).toBe('3\n');
    expect((await continued('print(counter.add(4))')).stdout).toBe('7\n');
    const file = join(folder, 'kept.session');
    expect((await session('export', 'kept', file)).status).toBe(0);
    expect((await session('import', file, '--session', 'copy')).status).toBe(0);
    expect((await continued('print(counter.add(5))', 'copy')).stdout).toBe('12\n');
    expect((await session('show', 'copy')).stdout).toContain('counter');
  });

  test('are available to clients of a server, which lists them', async () => {
    const server = await startHttp({ packages: ['adder'] });
    const client = await httpClient(server, 'modern');
    const { structured } = await call(client, 'list_available_packages', { query: 'adds numbers' });
    expect(structured['packages']).toMatchObject([{ name: 'adder', import_pattern: 'import adder' }]);
    const run = (code: string, more = {}) =>
      call(client, 'execute_code', { code, language: 'python', ...more });
    expect((await run('import adder; print(adder.add(41))')).text).toContain('42');
    expect((await run('import counter')).text).toContain('ModuleNotFoundError');
    const { structured: session } = await call(client, 'create_session', { language: 'python' });
    const { session_id } = session as { session_id: string };
    expect((await run('import adder; adder.add(1)', { session_id })).isError).toBe(false);
    const { structured: none } = await call(client, 'list_available_packages', { query: 'counter' });
    expect(none['packages']).toEqual([]);
    await client.close();
    await server.close();
    await expect(startHttp({ packages: ['nowhere'] })).rejects.toThrow(/packages add nowhere/);
  });

  test.each(['mcp', 'serve'])('are selected by flags of %s', async (command) => {
    const settings = async (...flags: readonly string[]) =>
      (await runCliHere([command, ...flags, '--print-config'], env.LLM_WASM_SANDBOX_STORE)).stdout;
    expect(await settings('--packages', 'adder,counter')).toMatch(/^packages = \[ "adder", "counter" \]$/m);
    expect(await settings('--no-packages')).toMatch(/^packages = \[ ?\]$/m);
  });

  test('are verified, and added again if they are damaged', async () => {
    expect(await packages('verify')).toMatchObject({ status: 0 });
    const lock = JSON.parse(readFileSync(join(home, 'packages.json'), 'utf8'));
    const { sha256, file } = lock.packages.find(({ name }: { name: string }) => name === 'helper-pkg');
    const path = join(home, 'wheels', sha256, file);
    const bytes = readFileSync(path);
    writeFileSync(path, Buffer.concat([bytes, Buffer.from('x')]));
    const { status, stdout } = await packages('verify', '--json');
    const problems = (JSON.parse(stdout) as { name: string; problem: string | null }[]).filter(
      (one) => one.problem,
    );
    expect(problems).toMatchObject([{ name: 'helper-pkg', problem: expect.stringContaining('has changed') }]);
    expect(status).toBe(69);
    const { stderr } = await packages('add', 'helper-pkg', 'adder');
    expect(stderr).toContain('added helper-pkg 1.2');
    expect(stderr).toContain('adder 1.5 is already added');
    expect(readFileSync(path)).toEqual(bytes);
    expect(await packages('verify')).toMatchObject({ status: 0 });
  });

  test('are updated, and removed with the dependencies that only they need', async () => {
    await wheel(index, 'Adder', '1.6', { 'adder.py': 'VERSION = 6\n' });
    expect((await packages('update', 'adder')).stderr).toContain('added adder 1.6 (pip, ');
    await packages('add', 'adder==1.5');
    expect((await packages('remove', 'helper-pkg')).stderr).toContain('is required by adder');
    expect((await packages('remove', 'adder')).stdout).toBe('removed adder, helper-pkg\n');
    expect(await added()).toEqual(['counter']);
    expect((await packages('remove', 'counter')).status).toBe(0);
    expect(readdirSync(join(home, 'wheels'))).toEqual([]);
    expect((await packages('verify')).stderr).toContain('there are no added packages');
    const { stderr } = await run('--session', 'kept', '-c', 'print(1)');
    expect(stderr).toContain('uses packages that have not been added');
  });
});
