import { expect, test, vi } from 'vitest';
import { parsePyodideLock } from '../../packages/core/src/packages/pyodide-lock.ts';
import { resolvePackages } from '../../packages/core/src/packages/resolve-packages.ts';
import { unpackWheel, type WheelFile } from '../../packages/core/src/packages/unpack-wheel.ts';
import { folderOfFile } from '../support/folders.ts';
import { wheel } from './wheel-fixtures.ts';

const folder = folderOfFile();

const SOURCES = {
  pip: false,
  pyodideUrl: undefined,
  pyodideLock: parsePyodideLock('{"version":"0","packages":[]}'),
  unpack: async (file: WheelFile) => unpackWheel(file),
  onStep: () => {},
};

async function resolve(name: string, files: Readonly<Record<string, string>>) {
  const sources = { ...SOURCES, files: [await wheel(folder, name, '1.0', files)] };
  return (await resolvePackages([{ name, specifiers: '', isFile: true }], [], sources)).packages[0]!;
}

test('the modules of a wheel start with the one of the same name, followed by those with the most files', async () => {
  const { import_names, measured_imports } = await resolve('example', {
    'few/__init__.py': '',
    'many/__init__.py': '',
    'many/a.py': '',
    'single.py': '',
    'example.py': '',
    '_private.py': '',
  });
  expect(import_names).toEqual(['example', 'many', 'few', 'single']);
  expect(measured_imports).toEqual(['example']);
});

test('the cost of a package is that of the import that programs write', async () => {
  const { measured_imports } = await resolve('matplotlib', {
    'matplotlib/__init__.py': '',
    'matplotlib/pyplot.py': '',
  });
  expect(measured_imports).toEqual(['matplotlib.pyplot']);
});

// guarantee: package-sources
test('packages that together have more than 5,000 requirements are rejected', async () => {
  const requires = Array.from({ length: 3000 }, (_, i) => `Requires-Dist: six>=${i}`);
  const named = (name: string) => wheel(folder, name, '1.0', { [`${name}.py`]: '' }, undefined, requires);
  const files = [await named('first'), await named('second'), await wheel(folder, 'third', '1.0', {})];
  const requests = ['first', 'second', 'third'].map((name) => ({ name, specifiers: '' }));
  await expect(resolvePackages(requests, [], { ...SOURCES, files })).rejects.toThrow(
    /more than 500 dependencies or 5,000 requirements/,
  );
});

// guarantee: package-sources
test('packages are not looked for without end, also if each of them is found', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const chain = async (i: number) =>
    wheel(folder, `link${i}`, '1.0', {}, undefined, [`Requires-Dist: link${i + 1}`]);
  const files = await Promise.all([chain(0), chain(1), chain(2)]);
  const onStep = () => vi.advanceTimersByTime(11 * 60_000);
  const found = resolvePackages([{ name: 'link0', specifiers: '' }], [], { ...SOURCES, files, onStep });
  await expect(found).rejects.toThrow(/took more than 20 minutes/);
  vi.useRealTimers();
});

test('a wheel with 2,000 modules, or with a module name that is too long, is rejected with the reason', async () => {
  const many = Object.fromEntries(Array.from({ length: 2_000 }, (_, i) => [`m${i}/__init__.py`, '']));
  await expect(resolve('many', many)).rejects.toMatchObject({
    code: 'invalid_argument',
    message: expect.stringMatching(/^many-1\.0-py3-none-any\.whl cannot be added: import_names is not valid/),
  });
  await expect(resolve('long', { [`${'x'.repeat(150)}.py`]: '' })).rejects.toMatchObject({
    code: 'invalid_argument',
    message: expect.stringMatching(
      /^long-.*: import_names "x{40}" is not valid \(expected at most 101 letters, digits and underscores, not starting with a digit\)\.$/,
    ),
  });
});
