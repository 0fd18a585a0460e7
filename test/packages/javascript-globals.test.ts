/** The global file functions of JavaScript programs and their errors. */
import { createSandbox, type ExecuteOptions } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import { code, javascript } from '../support/sandbox.ts';

type Files = NonNullable<ExecuteOptions['files']>;

async function value(program: string, files: Files = {}): Promise<unknown> {
  const result = await javascript(program, { files });
  expect(result.stderr).toBe('');
  return result.metadata.result;
}

/** The properties of the error that an expression throws. */
async function failure(expression: string, files: Files = {}): Promise<unknown> {
  return value(
    code`
      let caught;
      try { ${expression}; } catch (error) { caught = error; }
      const { name, operation, path, code = null, errno = null, message } = caught;
      ({ name, operation, path, code, errno, message })
    `,
    files,
  );
}

const MISSING = { code: 'ENOENT', errno: 2, name: 'Error' };

describe('readText and writeText', () => {
  test('write and read UTF-8, relative to /app or by full path', async () => {
    const program = `writeText('/app/a.txt', 'Grüße 😀\\n'); writeText('n.txt', 42); [readText('a.txt'), readText('/app/n.txt')]`;
    const result = await javascript(program);
    expect(result.metadata.result).toEqual(['Grüße 😀\n', '42']);
    expect(result.files_created).toEqual(['a.txt', 'n.txt']);
  });

  test('overwrite existing files', async () => {
    expect(await value(`writeText('a.txt', 'x'); readText('a.txt')`, { 'a.txt': 'long before' })).toBe('x');
  });

  test('read invalid UTF-8 as replacement characters', async () => {
    const files = { 'a.bin': new Uint8Array([0x61, 0xff, 0x62]) };
    expect(await value(`readText('a.bin')`, files)).toBe('a\ufffdb');
  });

  test('name a missing file', async () => {
    expect(await failure(`readText('/app/no.txt')`)).toEqual({
      ...MISSING,
      operation: 'readText',
      path: '/app/no.txt',
      message: "readText: File not found: '/app/no.txt' (ENOENT: No such file or directory)",
    });
  });

  test('fail for a directory, a missing folder and a read-only folder', async () => {
    expect(await failure(`readText('/app')`)).toMatchObject({ code: 'EISDIR', path: '/app' });
    expect(await failure(`writeText('/app/no/a.txt', '')`)).toMatchObject({
      ...MISSING,
      operation: 'writeText',
      message: "writeText: Cannot write: '/app/no/a.txt' (ENOENT: No such file or directory)",
    });
    expect(await failure(`writeText('/data/js-modules/lodash.qjsc', '')`)).toMatchObject({ code: 'EROFS' });
  });

  test('reject values other than text', async () => {
    expect(await failure(`writeText('a.txt', { a: 1 })`)).toMatchObject({
      name: 'TypeError',
      operation: 'writeText',
      path: 'a.txt',
      message: "writeText: cannot write a value of type object to 'a.txt' as text; use writeJson for data",
    });
    expect(await failure(`readText(undefined)`)).toMatchObject({ name: 'TypeError', operation: 'readText' });
  });

  test('fail if the workspace is full', async () => {
    const sandbox = await createSandbox({ runtime: 'javascript', policy: { workspace_max_bytes: 100_000 } });
    const result = await sandbox.execute(`writeText('a.txt', 'x'.repeat(200_000))`);
    await sandbox.close();
    expect(result.stderr).toMatch(/^Uncaught Error: writeText: Cannot write: 'a\.txt' \(ENOSPC: /);
  });
});

test('appendText appends to a file or creates it', async () => {
  expect(await value(`appendText('l', 'a\\n'); appendText('l', 'b\\n'); readText('l')`)).toBe('a\nb\n');
  expect(await failure(`appendText('/app/no/l', 'a')`)).toMatchObject({
    ...MISSING,
    operation: 'appendText',
  });
});

describe('readJson and writeJson', () => {
  test('read and write data, indented by two spaces by default', async () => {
    const program = `writeJson('a.json', { a: [1, null] }); writeJson('b.json', [1], 0); [readJson('a.json'), readText('a.json'), readText('b.json')]`;
    expect(await value(program)).toEqual([{ a: [1, null] }, '{\n  "a": [\n    1,\n    null\n  ]\n}', '[1]']);
  });

  test('ignore a byte order mark', async () => {
    expect(await value(`readJson('a.json')`, { 'a.json': '\ufeff{"a":1}' })).toEqual({ a: 1 });
  });

  test('name a file with invalid JSON', async () => {
    expect(await failure(`readJson('a.json')`, { 'a.json': '{not json}' })).toMatchObject({
      name: 'SyntaxError',
      operation: 'readJson',
      path: 'a.json',
      message: expect.stringMatching(/^readJson: Invalid JSON in 'a\.json': ./),
    });
    expect(await failure(`readJson('no.json')`)).toMatchObject({ ...MISSING, operation: 'readJson' });
  });

  test('reject values without a JSON form and leave the file unchanged', async () => {
    const program = code`
      const loop = {}; loop.self = loop;
      const names = [];
      for (const value of [undefined, () => 1, 10n, loop]) {
        try { writeJson('a.json', value); } catch (error) { names.push(error.name, error.path); }
      }
      [names, readText('a.json')]
    `;
    expect(await value(program, { 'a.json': 'before' })).toEqual([
      Array.from({ length: 4 }, () => ['TypeError', 'a.json']).flat(),
      'before',
    ]);
  });
});

describe('readLines and writeLines', () => {
  test('are inverse to each other, including empty lines at the end', async () => {
    const program = `writeLines('a', ['x', '', 'y', '']); [readLines('a'), readText('a')]`;
    expect(await value(program)).toEqual([['x', '', 'y', ''], 'x\n\ny\n\n']);
  });

  test('support both line ends, a missing final line end and empty files', async () => {
    const program = `writeLines('w', ['a', 'b'], '\\r\\n'); writeLines('e', []); [readText('w'), readLines('w'), readLines('n'), readLines('e')]`;
    expect(await value(program, { n: 'a\nb' })).toEqual(['a\r\nb\r\n', ['a', 'b'], ['a', 'b'], []]);
  });

  test('name the operation and the path of an error', async () => {
    expect(await failure(`readLines('no')`)).toMatchObject({
      ...MISSING,
      operation: 'readLines',
      path: 'no',
    });
    expect(await failure(`writeLines('a', 'text')`)).toMatchObject({ name: 'TypeError', path: 'a' });
  });
});

test('fileExists returns true for files and folders and does not throw', async () => {
  const program = `[fileExists('a'), fileExists('/app'), fileExists('no'), fileExists('a/b'), fileExists('x'.repeat(5000))]`;
  expect(await value(program, { a: '' })).toEqual([true, true, false, false, false]);
});

test('fileSize returns the size in bytes, or null for a missing file', async () => {
  expect(await value(`[fileSize('a'), fileSize('no'), fileSize('a/b')]`, { a: 'Grüße' })).toEqual([
    7,
    null,
    null,
  ]);
  expect(await failure(`fileSize('x'.repeat(5000))`)).toMatchObject({
    operation: 'fileSize',
    code: 'ENAMETOOLONG',
  });
});

test('listFiles returns the sorted names in a folder, by default /app', async () => {
  const files = { b: '', a: '', 'd/x': '' };
  expect(await value(`[listFiles(), listFiles('/app/d'), listFiles('d')]`, files)).toEqual([
    ['a', 'b', 'd'],
    ['x'],
    ['x'],
  ]);
  expect(await failure(`listFiles('/app/no')`)).toEqual({
    ...MISSING,
    operation: 'listFiles',
    path: '/app/no',
    message: "listFiles: Cannot read directory: '/app/no' (ENOENT: No such file or directory)",
  });
  expect(await failure(`listFiles('a')`, files)).toMatchObject({ code: 'ENOTDIR', path: 'a' });
});

test('copyFile copies bytes, and its errors name the file that caused them', async () => {
  const bytes = new Uint8Array([0, 255, 10]);
  const program = `copyFile('a', 'b'); copyFile('a', 'a'); [...std.loadFile('b', { binary: true }), fileSize('a')]`;
  expect(await value(program, { a: bytes })).toEqual([0, 255, 10, 3]);
  expect(await failure(`copyFile('no', 'b')`)).toMatchObject({
    ...MISSING,
    operation: 'copyFile',
    path: 'no',
  });
  expect(await failure(`copyFile('a', 'no/b')`, { a: '' })).toMatchObject({ ...MISSING, path: 'no/b' });
});

test('removeFile returns whether the file existed and does not remove folders', async () => {
  const program = `[removeFile('a'), removeFile('a'), fileExists('a')]`;
  expect(await value(program, { a: '' })).toEqual([true, false, false]);
  expect(await failure(`removeFile('d')`, { 'd/x': '' })).toMatchObject({
    operation: 'removeFile',
    path: 'd',
    code: 'EISDIR',
  });
});

test('_state is an empty object that a program can change or replace', async () => {
  expect(await value(`const first = { ..._state }; _state.n = 1; [first, _state]`)).toEqual([{}, { n: 1 }]);
  expect(await value(`_state = [1]; _state`)).toEqual([1]);
});

test('programs can declare variables with the same names', async () => {
  expect(
    await value(
      `const readText = () => 'mine'; function listFiles() { return 1; } [readText(), listFiles()]`,
    ),
  ).toEqual(['mine', 1]);
});

test('an uncaught error reports the line of the program', async () => {
  const result = await javascript(`1;\nreadJson('no.json');`);
  expect(result.metadata.error).toMatchObject({ type: 'Error', line: 2, errno: 2 });
  expect(result.stderr).toMatch(/readJson: File not found: 'no\.json'/);
  expect(result.stderr).not.toMatch(/sandbox:boot/);
});
