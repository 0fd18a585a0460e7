/** Imports of packages by JavaScript programs: names, fuel and error messages. */
import { readFileSync } from 'node:fs';
import { createSandbox, listPackages } from 'llm-wasm-sandbox';
import { expect, test } from 'vitest';
import { code, javascript } from '../support/sandbox.ts';

const rows = listPackages('javascript');

test('all names of all packages can be imported, and require and requireVendor return the default export', async () => {
  const names = rows.flatMap((row) => row.import_names);
  const program = code`
    const different = [];
    for (const name of ${JSON.stringify(names)}) {
      const exported = (await import(name)).default;
      if (exported !== requireVendor(name) || exported !== require(name)) different.push(name);
    }
    different
  `;
  const result = await javascript(program);
  expect(result.stderr).toBe('');
  expect(result.metadata.result).toEqual([]);
  expect(result.metadata.imports.map(({ name }) => name)).toEqual(rows.map(({ name }) => name));
});

test('the table of import costs contains the pinned versions and the licences of the installed packages', () => {
  const read = (path: string) => JSON.parse(readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8'));
  const { devDependencies } = read('package.json');
  for (const row of rows) {
    const pinned: string = devDependencies[row.name];
    expect(row.version, row.name).toBe(pinned.replace(/^npm:.*@/, ''));
    const installed = read(`node_modules/${row.name}/package.json`);
    expect(row, row.name).toMatchObject({ licence: installed.license, version: installed.version });
  }
});

test('the error for an unknown name lists the available packages', async () => {
  for (const program of [
    `import pad from 'left-pad';`,
    `await import('left-pad')`,
    `requireVendor('left-pad')`,
  ]) {
    const { metadata, exit_code } = await javascript(program);
    expect(exit_code).toBe(1);
    expect(metadata.error!.type).toBe('ReferenceError');
    for (const { name } of rows) expect(metadata.error!.message).toContain(name);
    expect(metadata.error!.message).toContain('"std"');
  }
});

test('the error can be caught and names the module', async () => {
  const program = code`
    const messages = [];
    try { requireVendor('no-such'); } catch ({ message }) { messages.push(message); }
    try { await import('no-such'); } catch ({ message }) { messages.push(message); }
    try { await import('lodash/groupBy'); } catch ({ message }) { messages.push(message); }
    try { await import('dayjs/plugin/devHelper'); } catch ({ message }) { messages.push(message); }
    messages
  `;
  const { metadata } = await javascript(program);
  expect(metadata.result).toEqual([
    expect.stringMatching(/^requireVendor: there is no package 'no-such': available packages: acorn, ajv, /),
    expect.stringMatching(/^could not load module 'no-such': available packages: acorn, ajv, /),
    "could not load module 'lodash/groupBy': import the whole package 'lodash' instead",
    expect.stringMatching(
      /^could not load module 'dayjs\/plugin\/devHelper': 'dayjs\/plugin' contains advancedFormat, /,
    ),
  ]);
});

const ODD_NAMES = [
  '../app/x',
  'lodash/../../x',
  '',
  'a'.repeat(5000),
  'LODASH',
  '@scope/x',
  'lodash.qjsc',
  '.',
  'a\ud800',
];

test.each(ODD_NAMES.map((name) => [name.slice(0, 20), name]))(
  'the name %j throws a ReferenceError',
  async (_, name) => {
    const program = code`
      const messages = [];
      try { requireVendor(${JSON.stringify(name)}); } catch (error) { messages.push(error.name); }
      try { await import(${JSON.stringify(name)}); } catch (error) { messages.push(error.name); }
      messages
    `;
    const { metadata } = await javascript(program);
    expect(metadata.result).toEqual(['ReferenceError', 'ReferenceError']);
  },
);

test('requireVendor rejects values other than strings and names with NUL', async () => {
  const { metadata } = await javascript('requireVendor({})');
  expect(metadata.error).toMatchObject({ type: 'TypeError', line: 1 });
  expect((await javascript('requireVendor("lodash\\0")')).metadata.error!.type).toBe('ReferenceError');
});

test('all modules of a program share the same instance of a package', async () => {
  const files = {
    'lib.js': `import dayjs from 'dayjs'; import utc from 'dayjs/plugin/utc'; dayjs.extend(utc);`,
  };
  const result = await javascript(`import './lib.js'; import dayjs from 'dayjs'; typeof dayjs.utc`, {
    files,
  });
  expect(result.metadata.result).toBe('function');
  expect(result.metadata.imports.map(({ name }) => name)).toEqual(['dayjs']);
});

test('an import is recorded once, with about the measured fuel', async () => {
  const result = await javascript(
    `import _ from 'lodash'; requireVendor('lodash'); await import('lodash-es'); 1`,
  );
  const row = rows.find(({ name }) => name === 'lodash')!;
  expect(result.metadata.imports).toEqual([{ name: 'lodash', fuel: expect.any(Number), cached: false }]);
  expect(result.metadata.imports[0]!.fuel / row.fuel_first_import).toBeCloseTo(1, 1);
});

test('every package loads with less than a twentieth of the default fuel budget', () => {
  for (const { name, fuel_first_import } of rows) expect(fuel_first_import, name).toBeLessThan(500_000_000);
});

test('a run without setup has neither packages nor global functions', async () => {
  const program = code`
    const names = ['requireVendor', 'readJson', 'writeJson', 'readText', 'writeText', 'appendText', 'readLines', 'writeLines',
      'fileExists', 'fileSize', 'listFiles', 'copyFile', 'removeFile', '_state'];
    const messages = [];
    for (const name of ['lodash', 'uuid'])
      try { await import(name); } catch ({ message }) { messages.push(message); }
    try { require('dayjs'); } catch ({ message }) { messages.push(message); }
    [names.filter((name) => name in globalThis), typeof std.open, messages]
  `;
  const sandbox = await createSandbox({ runtime: 'javascript' });
  const bare = await sandbox.execute(program, { inject_setup: false });
  const whole = await sandbox.execute(program);
  await sandbox.close();
  const refused = expect.stringMatching(/packages are disabled for this run \(inject_setup is false\)/);
  expect(bare.metadata.result).toEqual([[], 'function', [refused, refused, refused]]);
  expect((whole.metadata.result as unknown[][])[0]).toHaveLength(14);
  expect(bare.metadata.imports).toEqual([]);
});

test('a limit that is reached while a package loads ends the program', async () => {
  const fuel = await javascript(`import 'zod'; console.log('loaded');`, { fuel_budget: 20_000_000 });
  expect(fuel.metadata).toMatchObject({ trap_reason: 'out_of_fuel' });
  expect(fuel.stdout).toBe('');
  expect(fuel.metadata.imports).toMatchObject([{ name: 'zod', cached: false }]);
});

test('an import that runs out of memory throws an error that the program can catch', async () => {
  const refusal = await createSandbox({ runtime: 'javascript', policy: { memory_bytes: 1 } }).catch(String);
  const minimum = Number(/the minimum is (\d+)/.exec(String(refusal))![1]);
  // Enough memory for a small package but not for a large one. QuickJS throws null if it cannot allocate an error.
  await using sandbox = await createSandbox({
    runtime: 'javascript',
    policy: { memory_bytes: minimum + 512 * 1024 },
  });
  const program = `let message; try { await import('zod'); } catch (error) { message = error?.message ?? 'out of memory'; } [message, typeof requireVendor('mustache').render]`;
  const result = await sandbox.execute(program);
  expect(result.metadata.result).toEqual([expect.stringMatching(/out of memory/), 'function']);
});

test('preloaded packages consume no fuel in any run', async () => {
  await using sandbox = await createSandbox({
    runtime: 'javascript',
    preload: ['lodash-es', 'dayjs/plugin/utc', 'zod'],
  });
  const first = await sandbox.execute(`import _ from 'lodash'; import 'zod'; _.chunk = null; typeof _.map`);
  expect(first.metadata.result).toBe('function');
  expect(first.metadata.imports).toEqual([
    { name: 'lodash', fuel: 0, cached: true },
    { name: 'zod', fuel: 0, cached: true },
  ]);
  expect(first.fuel_consumed).toBeLessThan(1_000_000);
  const second = await sandbox.execute(`requireVendor('lodash').chunk([1, 2, 3], 2)`);
  expect(second.metadata.result).toEqual([[1, 2], [3]]);
});

test('preload rejects an unknown package', async () => {
  await expect(createSandbox({ runtime: 'javascript', preload: ['no-such'] })).rejects.toThrow(
    /cannot import "no-such": ReferenceError: requireVendor: there is no package 'no-such': available packages: /,
  );
});

test('packages and _state survive in a session, even across a call without setup', async () => {
  await using sandbox = await createSandbox({ runtime: 'javascript', auto_persist_globals: true });
  await sandbox.execute(`import _ from 'lodash'; _state.n = _.sum([1, 2]);`);
  const bare = await sandbox.execute('typeof _state', { inject_setup: false });
  expect(bare.metadata.result).toBe('undefined');
  const next = await sandbox.execute(`requireVendor('lodash') === _ && ++_state.n`);
  expect(next.metadata.result).toBe(4);
  expect(next.metadata.imports).toEqual([{ name: 'lodash', fuel: 0, cached: true }]);
  expect(await sandbox.variables()).toContainEqual({ name: '_state', type: 'Object', repr: '{ n: 4 }' });
});

test('variables() lists no globals of the runtime', async () => {
  await using sandbox = await createSandbox({ runtime: 'javascript', auto_persist_globals: true });
  await sandbox.execute('const x = 1;');
  expect(await sandbox.variables()).toEqual([{ name: 'x', type: expect.any(String), repr: '1' }]);
});

test('package files are read-only', async () => {
  const program = `[std.open('/data/js-modules/x.qjsc', 'w'), os.remove('/data/js-modules/lodash.qjsc') < 0]`;
  expect((await javascript(program)).metadata.result).toEqual([null, true]);
});

test('stack traces name the package and its functions', async () => {
  const result = await javascript(`import _ from 'lodash';\n_.map([1], () => { throw new Error('mine'); });`);
  expect(result.metadata.error).toMatchObject({ line: 2, message: 'mine' });
  expect(result.stderr).toMatch(/at arrayMap \(lodash:\d+/);
});
