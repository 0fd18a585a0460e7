import {
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCli } from '../support/cli.ts';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'cli-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const cli = (args: readonly string[], input = '') => runCli(args, { cwd: folder, input });

describe('run', () => {
  it("passes the program's output through and exits with its exit code", () => {
    expect(
      cli(['run', '-c', "import sys\nprint('out')\nprint('err', file=sys.stderr)\nsys.exit(3)"]),
    ).toEqual({
      status: 3,
      stdout: 'out\n',
      stderr: 'err\n',
    });
  });

  it('infers the language from the file name', () => {
    writeFileSync(join(folder, 'a.py'), 'print("python", __name__)');
    writeFileSync(join(folder, 'a.js'), 'console.log("javascript", typeof require)');
    expect(cli(['run', 'a.py']).stdout).toBe('python __main__\n');
    writeFileSync(join(folder, 'a.mts'), 'enum E { A = "typescript" }\nconst e: E = E.A;\nconsole.log(e)');
    expect(cli(['run', 'a.js']).stdout).toBe('javascript function\n');
    expect(cli(['run', 'a.mts']).stdout).toBe('typescript\n');
    expect(cli(['run', '-l', 'typescript', '-c', 'console.log(1 as number)']).stdout).toBe('1\n');
  });

  it('reads the program from standard input with "-"', () => {
    expect(cli(['run', '-', '--language', 'javascript'], 'console.log(6 * 7)').stdout).toBe('42\n');
  });

  it('passes a file or standard input to the program with --stdin', () => {
    writeFileSync(join(folder, 'in.txt'), 'from a file');
    expect(cli(['run', '-c', 'print(input())', '--stdin', 'in.txt']).stdout).toBe('from a file\n');
    expect(cli(['run', '-c', 'print(input())', '--stdin', '-'], 'piped').stdout).toBe('piped\n');
  });

  it('prints only the result with --json', () => {
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

  it('enforces --fuel, --timeout and --memory', () => {
    expect(cli(['run', '-c', 'while True: pass', '--fuel', '20M'])).toMatchObject({ status: 152 });
    expect(cli(['run', '-c', 'import time; time.sleep(60)', '--timeout', '0.2'])).toMatchObject({
      status: 124,
    });
    expect(cli(['run', '-c', 'x = bytes(50_000_000)', '--memory', '64Mi']).stderr).toContain('MemoryError');
  });

  it('mounts host paths and copies new files out', () => {
    writeFileSync(join(folder, 'data.csv'), 'a,b');
    const program = "open('sub.txt', 'w').write(open('/external/data.csv').read().upper())";
    expect(cli(['run', '-c', program, '--mount', '.:/external', '--out', 'result'])).toMatchObject({
      status: 0,
      stderr: '',
    });
    expect(readFileSync(join(folder, 'result', 'sub.txt'), 'utf8')).toBe('A,B');
    expect(existsSync(join(folder, 'result', 'data.csv'))).toBe(false);
  });

  // guarantee: output-folder
  it('does not write through links in the folder of --out', () => {
    mkdirSync(join(folder, 'outside'));
    mkdirSync(join(folder, 'linked'));
    for (const name of ['victim.txt', 'hard.txt']) writeFileSync(join(folder, 'outside', name), 'untouched');
    symlinkSync(join(folder, 'outside'), join(folder, 'linked', 'folder'));
    symlinkSync(join(folder, 'outside', 'victim.txt'), join(folder, 'linked', 'file.txt'));
    linkSync(join(folder, 'outside', 'hard.txt'), join(folder, 'linked', 'hard.txt'));
    const write = (path: string) =>
      `import os\nos.makedirs(os.path.dirname("/app/${path}"), exist_ok=True)\nopen("/app/${path}", "w").write("changed")`;
    for (const path of ['folder/victim.txt', 'file.txt', 'folder/new.txt']) {
      const { status, stderr } = cli(['run', '-c', write(path), '--out', 'linked']);
      expect(status).toBe(2);
      expect(stderr).toMatch(/Remove it or choose another folder/);
    }
    expect(cli(['run', '-c', write('hard.txt'), '--out', 'linked']).status).toBe(0);
    expect(readFileSync(join(folder, 'linked', 'hard.txt'), 'utf8')).toBe('changed');
    expect(readdirSync(join(folder, 'outside')).sort()).toEqual(['hard.txt', 'victim.txt']);
    for (const name of ['victim.txt', 'hard.txt'])
      expect(readFileSync(join(folder, 'outside', name), 'utf8')).toBe('untouched');
  });

  it('gives the same output for the same --seed', () => {
    const program = 'import random, time\nprint(random.random(), time.time())';
    expect(cli(['run', '--seed', '5', '-c', program])).toEqual(cli(['run', '--seed', '5', '-c', program]));
  });

  it.each([
    [['run'], 'Give either a FILE'],
    [['run', 'a.txt'], 'add --language'],
    [['run', 'no-such-file.py'], 'Cannot read no-such-file.py'],
    [['run', '-c', '1', '--fuel', 'much'], 'Expected a number of instructions'],
    [['run', '-c', '1', '--mount', 'nowhere'], 'HOST:GUEST'],
    [['run', '-c', '1', '--memory', '5'], 'the minimum is'],
    [['run', '-c', '1', '--language', 'ruby'], 'python, javascript'],
    [['frobnicate'], 'unknown command'],
  ])('reports %j as a usage error and says what to do', (args, message) => {
    const { status, stdout, stderr } = cli(args);
    expect(status).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).toContain(message);
  });
});

describe('doctor', () => {
  it('passes all checks on a complete installation', () => {
    const { status, stdout } = cli(['doctor']);
    expect(stdout).toContain('Everything works.');
    expect(stdout.match(/^ok {4}/gm)).toHaveLength(5);
    expect(status).toBe(0);
  });

  it('prints how long each phase of a cold start takes with --timings', () => {
    const { status, stdout } = cli(['doctor', '--timings']);
    expect(status).toBe(0);
    const [head, ...rows] = stdout
      .trim()
      .split('\n')
      .map((line) => line.split(/ {2,}/));
    expect(head).toEqual(['PHASE', 'python', 'javascript']);
    expect(rows.map(([phase]) => phase)).toEqual([
      'start the process',
      'load the command line',
      'load the library',
      'start thread',
      'load worker code',
      'read module',
      'verify module',
      'compile module',
      'open layers',
      'read image',
      'verify image',
      'instantiate',
      'first run',
      'new sandbox and first call',
      'second call',
    ]);
    for (const [phase, ...durations] of rows)
      for (const duration of durations) expect(duration, phase).toMatch(/^\d+(\.\d)? m?s$/);
  });
});
