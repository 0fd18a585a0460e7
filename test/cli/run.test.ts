import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const CLI = new URL('../../dist/cli/main.js', import.meta.url).pathname;
let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'cli-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

function cli(args: readonly string[], input = '') {
  const { status, stdout, stderr } = spawnSync(process.execPath, [CLI, ...args], {
    input,
    encoding: 'utf8',
    cwd: folder,
  });
  return { status, stdout, stderr };
}

describe('run', () => {
  test('prints what the program prints and exits with its code', () => {
    expect(
      cli(['run', '-c', "import sys\nprint('out')\nprint('err', file=sys.stderr)\nsys.exit(3)"]),
    ).toEqual({
      status: 3,
      stdout: 'out\n',
      stderr: 'err\n',
    });
  });

  test('takes the language from the file name', () => {
    writeFileSync(join(folder, 'a.py'), 'print("python", __name__)');
    writeFileSync(join(folder, 'a.js'), 'console.log("javascript", typeof require)');
    expect(cli(['run', 'a.py']).stdout).toBe('python __main__\n');
    expect(cli(['run', 'a.js']).stdout).toBe('javascript undefined\n');
  });

  test('reads the program from standard input with "-"', () => {
    expect(cli(['run', '-', '--language', 'javascript'], 'console.log(6 * 7)').stdout).toBe('42\n');
  });

  test('gives the program a standard input', () => {
    writeFileSync(join(folder, 'in.txt'), 'from a file');
    expect(cli(['run', '-c', 'print(input())', '--stdin', 'in.txt']).stdout).toBe('from a file\n');
    expect(cli(['run', '-c', 'print(input())', '--stdin', '-'], 'piped').stdout).toBe('piped\n');
  });

  test('prints the result alone with --json', () => {
    const { status, stdout, stderr } = cli(['run', '--json', '-c', "print('x')\n1/0"]);
    const result = JSON.parse(stdout);
    expect(status).toBe(1);
    expect(stderr).toBe('');
    expect(result).toMatchObject({
      success: false,
      stdout: 'x\n',
      exit_code: 1,
      metadata: { error: { type: 'ZeroDivisionError', line: 2 } },
    });
  });

  test('obeys --fuel, --timeout and --memory', () => {
    expect(cli(['run', '-c', 'while True: pass', '--fuel', '20M'])).toMatchObject({ status: 152 });
    expect(cli(['run', '-c', 'import time; time.sleep(60)', '--timeout', '0.2'])).toMatchObject({
      status: 124,
    });
    expect(cli(['run', '-c', 'x = bytes(50_000_000)', '--memory', '64Mi']).stderr).toContain('MemoryError');
  });

  test('mounts host paths and copies files out', () => {
    writeFileSync(join(folder, 'data.csv'), 'a,b');
    const program = "open('sub.txt', 'w').write(open('/external/data.csv').read().upper())";
    expect(cli(['run', '-c', program, '--mount', '.:/external', '--out', 'result'])).toMatchObject({
      status: 0,
      stderr: '',
    });
    expect(readFileSync(join(folder, 'result', 'sub.txt'), 'utf8')).toBe('A,B');
    expect(existsSync(join(folder, 'result', 'data.csv'))).toBe(false);
  });

  test('gives the same answer twice with --seed', () => {
    const program = 'import random, time\nprint(random.random(), time.time())';
    expect(cli(['run', '--seed', '5', '-c', program])).toEqual(cli(['run', '--seed', '5', '-c', program]));
  });

  test.each([
    [['run'], 'Give either a FILE'],
    [['run', 'a.txt'], 'add --language'],
    [['run', 'no-such-file.py'], 'Cannot read no-such-file.py'],
    [['run', '-c', '1', '--fuel', 'much'], 'Use a number'],
    [['run', '-c', '1', '--mount', 'nowhere'], 'HOST:GUEST'],
    [['run', '-c', '1', '--memory', '5'], 'the minimum is'],
    [['run', '-c', '1', '--language', 'ruby'], 'python, javascript'],
    [['frobnicate'], 'unknown command'],
  ])('%j is a usage error that says what to do', (args, message) => {
    const { status, stdout, stderr } = cli(args);
    expect(status).not.toBe(0);
    expect(stdout).toBe('');
    expect(stderr).toContain(message);
  });

  test('has help that names every option', () => {
    const { stdout } = cli(['run', '--help']);
    for (const option of [
      '--code',
      '--language',
      '--json',
      '--fuel',
      '--memory',
      '--timeout',
      '--stdin',
      '--mount',
      '--out',
      '--seed',
    ]) {
      expect(stdout).toContain(option);
    }
  });
});

test('doctor finds a whole installation', () => {
  const { status, stdout } = cli(['doctor']);
  expect(stdout).toContain('Everything works.');
  expect(stdout.match(/^ok {4}/gm)).toHaveLength(5);
  expect(status).toBe(0);
});
