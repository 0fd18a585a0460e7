import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { RUNTIME_NAMES } from '../../packages/core/src/schema.ts';
import { CLI, runCli, runCliHere } from '../support/cli.ts';
import { folderOfFile } from '../support/folders.ts';

const folder = folderOfFile();
writeFileSync(join(folder, 'a.txt'), '1');

/** Runs a command in a process of its own, which also starts the guest before it parses its arguments. */
const cli = (args: readonly string[], input = '') => runCli(args, { cwd: folder, input });
/** Runs a command in this process. */
const cliHere = (args: readonly string[]) => runCliHere(args, '', folder);

describe('run', () => {
  it("passes the program's output through and exits with its exit code", async () => {
    expect(
      await cli(['run', '-c', "import sys\nprint('out')\nprint('err', file=sys.stderr)\nsys.exit(3)"]),
    ).toEqual({
      status: 3,
      stdout: 'out\n',
      stderr: 'err\n',
    });
  });

  it('writes all output before it exits, however slowly it is read', { tags: 'full' }, async () => {
    const program = "import sys\nprint('o' * 1_500_000)\nprint('e' * 500_000, file=sys.stderr)\nsys.exit(3)";
    const child = spawn(process.execPath, [CLI, 'run', '-c', program]);
    const closed = new Promise((resolve) => child.on('close', resolve));
    const read = async (stream: NodeJS.ReadableStream) => {
      let length = 0;
      for await (const chunk of stream) {
        length += chunk.length;
        for (let i = 0; i < 100; i++) await nextTurn();
      }
      return length;
    };
    const lengths = await Promise.all([read(child.stdout), read(child.stderr)]);
    expect([await closed, ...lengths]).toEqual([3, 1_500_001, 500_001]);
  });

  it('infers the language from the file name', async () => {
    writeFileSync(join(folder, 'a.py'), 'print("python", __name__)');
    writeFileSync(join(folder, 'a.js'), 'console.log("javascript", typeof require)');
    expect((await cliHere(['run', 'a.py'])).stdout).toBe('python __main__\n');
    writeFileSync(join(folder, 'a.mts'), 'enum E { A = "typescript" }\nconst e: E = E.A;\nconsole.log(e)');
    expect((await cliHere(['run', 'a.js'])).stdout).toBe('javascript function\n');
    expect((await cliHere(['run', 'a.mts'])).stdout).toBe('typescript\n');
    expect((await cliHere(['run', '-l', 'typescript', '-c', 'console.log(1 as number)'])).stdout).toBe('1\n');
  });

  it('reads the program from standard input with "-"', { tags: 'full' }, async () => {
    expect((await cli(['run', '-', '--language', 'javascript'], 'console.log(6 * 7)')).stdout).toBe('42\n');
  });

  it('passes a file or standard input to the program with --stdin', { tags: 'full' }, async () => {
    writeFileSync(join(folder, 'in.txt'), 'from a file');
    expect((await cli(['run', '-c', 'print(input())', '--stdin', 'in.txt'])).stdout).toBe('from a file\n');
    expect((await cli(['run', '-c', 'print(input())', '--stdin', '-'], 'piped')).stdout).toBe('piped\n');
  });

  it('passes standard input through when the program reads it, and does not wait for it otherwise', {
    tags: 'full',
  }, async () => {
    expect((await cli(['run', '-c', 'print(input())'], 'piped')).stdout).toBe('piped\n');
    const reader = "process.stdin.on('data', (text) => process.stdout.write(text))";
    expect((await cli(['run', '-l', 'javascript', '-c', reader], 'piped')).stdout).toBe('piped');
    const idle = spawn(process.execPath, [CLI, 'run', '-c', 'print(1)'], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const [status] = await once(idle, 'exit', { signal: AbortSignal.timeout(200_000) });
    expect(status).toBe(0);
  });

  it('refuses a program and input that both come from standard input', { tags: 'full' }, async () => {
    expect(await cli(['run', '-', '--stdin', '-'], '1')).toMatchObject({ status: 2 });
  });

  it('passes arguments to the program', async () => {
    writeFileSync(join(folder, 'args.py'), 'import sys\nprint(sys.argv)');
    expect((await cliHere(['run', 'args.py', 'a', '--', '--flag', 'b c'])).stdout).toBe(
      "['/app/args.py', 'a', '--flag', 'b c']\n",
    );
    expect(
      (await cliHere(['run', '-l', 'javascript', '-c', 'console.log(process.argv.slice(2))', '--', '-x']))
        .stdout,
    ).toBe("[ '-x' ]\n");
  });

  it('shows the file name of the program, unless it has unusual characters', async () => {
    for (const [name, shown] of [
      ['total.ts', 'total.ts'],
      ['my total.ts', 'main.ts'],
    ] as const) {
      writeFileSync(join(folder, name), 'const n: number = 1;\nthrow new Error(String(n));');
      const { stderr } = await cliHere(['run', name, '--guidance']);
      expect(stderr).toContain(`(/app/${shown}:2:`);
      expect(stderr).toContain(`exit code 1: Error at ${shown}:2`);
    }
  });

  it('passes modules next to the program, and only those that it imports', async () => {
    const at = (path: string) => join(folder, 'project', path);
    mkdirSync(at('pkg/deep'), { recursive: true });
    mkdirSync(at('lib'));
    const files = {
      'main.py':
        'import helper\nfrom pkg.deep import (\n  leaf,\n)\nimport os\nprint(helper.NAME, leaf.NAME, sorted(os.listdir()))',
      'helper.py': 'from pkg import other\nNAME = other.NAME',
      'pkg/__init__.py': '',
      'pkg/other.py': "NAME = 'other'",
      'pkg/deep/__init__.py': '',
      'pkg/deep/leaf.py': 'from ..other import NAME',
      'secret.py': "NAME = 'not imported'",
      '.env.js': 'hidden',
      'keys.pem': 'secret',
      'private.js': 'secret',
      'main.mjs':
        "import { twice } from './lib/twice.mjs';\nimport { readdirSync } from 'node:fs';\nconsole.log(twice(4), readdirSync('.'));\nexport const data = ['./linked.py', './outside/a.txt', './.env.js', './big.bin', './keys.pem', './private.js'];\n// import './private.js'",
      'lib/twice.mjs':
        "import data from './data.json' with { type: 'json' };\nexport const twice = (n) => n * data.factor;",
      'lib/data.json': '{ "factor": 2 }',
    };
    for (const [path, text] of Object.entries(files)) writeFileSync(at(path), text);
    symlinkSync(at('secret.py'), at('linked.py'));
    symlinkSync(folder, at('outside'));
    writeFileSync(at('big.bin'), Buffer.alloc(11_000_000));
    expect(await cliHere(['run', 'project/main.py'])).toEqual({
      status: 0,
      stdout: "other other ['helper.py', 'pkg']\n",
      stderr: '',
    });
    expect(await cliHere(['run', 'project/main.mjs'])).toEqual({
      status: 0,
      stdout: "8 [ 'lib' ]\n",
      stderr: '',
    });
    const { stderr } = await cliHere(['run', '--verbose', 'project/main.mjs']);
    const listed = [...stderr.matchAll(/copies (\S+) to \/app/g)].map(([, path]) => path);
    expect(listed).toEqual(['lib/twice.mjs', 'lib/data.json']);
  });

  it('runs a folder', async () => {
    const at = (path: string) => join(folder, 'tool', path);
    mkdirSync(at('.git'), { recursive: true });
    mkdirSync(at('node_modules'));
    writeFileSync(at('__main__.py'), "import os\nprint(open('data.txt').read(), sorted(os.listdir()))");
    writeFileSync(at('data.txt'), 'data');
    writeFileSync(at('.git/config'), 'hidden');
    expect((await cliHere(['run', 'tool'])).stdout).toBe("data ['__main__.py', 'data.txt']\n");
    writeFileSync(at('index.js'), 'console.log(1)');
    expect((await cliHere(['run', 'tool'])).stderr).toContain('tool has both __main__.py and index.js');
    expect((await cliHere(['run', 'tool', '-l', 'javascript'])).stdout).toBe('1\n');
    mkdirSync(join(folder, 'empty'));
    symlinkSync(at('index.js'), join(folder, 'empty/index.js'));
    expect((await cliHere(['run', 'empty'])).stderr).toContain(
      'Cannot find a program in empty: it contains none of these files: __main__.py',
    );
  });

  it.skipIf(process.platform !== 'linux')('names the folder that it cannot read', async () => {
    mkdirSync(join(folder, 'odd'));
    const path = Buffer.concat([Buffer.from(`${join(folder, 'odd')}/`), Buffer.from([0xff])]);
    writeFileSync(path, '');
    const { stderr } = await cliHere(['run', 'odd']);
    unlinkSync(path);
    expect(stderr).toMatch(/^Cannot read odd: ENOENT/);
  });

  it('copies files into the workspace with --file', async () => {
    writeFileSync(join(folder, 'numbers.txt'), '1 2 3');
    expect(
      (await cliHere(['run', '--file', 'numbers.txt', '-c', "print(open('numbers.txt').read())"])).stdout,
    ).toBe('1 2 3\n');
  });

  it('passes all output through unchanged, including binary output beyond the limits of a result', {
    tags: 'full',
  }, async () => {
    const code = 'import sys\nsys.stdout.buffer.write(bytes(range(256)) * 10000)';
    const child = spawn(process.execPath, [CLI, 'run', '-c', code], { stdio: ['ignore', 'pipe', 'inherit'] });
    const stdout = await buffer(child.stdout);
    expect(
      stdout.equals(Buffer.alloc(2_560_000, Buffer.from(Array.from({ length: 256 }, (_, i) => i)))),
    ).toBe(true);
  });

  it('says what was dropped', async () => {
    const code = "print('x' * 99)";
    expect(await cliHere(['run', '--max-output', '10', '-c', code])).toEqual({
      status: 0,
      stdout: 'x'.repeat(10),
      stderr:
        'llm-wasm-sandbox: 90 bytes of standard output were dropped. Raise the limit with --max-output.\n',
    });
    const json = await cliHere(['run', '--json', '--max-output', '10', '-c', code]);
    expect(JSON.parse(json.stdout)).toMatchObject({ stdout: 'x'.repeat(10) });
    expect(json.stderr).toContain('90 bytes of standard output were dropped');
  });

  it('says which limit stopped the program, where, and what to try', async () => {
    const lines = async (args: readonly string[]) => (await cliHere(['run', ...args])).stderr.split('\n');
    expect(await lines(['--fuel', '100M', '-c', 'x = 1\nwhile x:\n  pass'])).toContainEqual(
      expect.stringMatching(
        /exit code 152: the fuel budget was used up at main.py:[23] \(.*\)\. Probabl[ye] endless loop/,
      ),
    );
    const inBuiltIn = 'import re\nre.match("(a*)*b", "a" * 99)';
    expect(await lines(['--fuel', '300M', '-c', inBuiltIn])).toContainEqual(
      expect.stringMatching(
        /exit code 152: the fuel budget was used up at main.py:2 \(.*\)\. Raise the limit with --fuel: at this speed, [\d.]+[MBT] fuel takes about 30 s, which is the time limit\./,
      ),
    );
    const largeData = 'data = list(range(10**6))\nfor i in range(10**9): data[i % 10**6] += 1';
    expect(await lines(['--fuel', '300M', '-c', largeData])).toContainEqual(
      expect.stringMatching(
        /\. Large data: `data` has 1,000,000 items or characters\. Raise the limit with --fuel: at this/,
      ),
    );
    expect(await lines(['--timeout', '1', '-c', 'import time\ntime.sleep(60)'])).toContainEqual(
      expect.stringMatching(
        /exit code 124: the time limit was reached.*\. Raise the limit with --timeout\.$/,
      ),
    );
  });

  it('explains failures with --guidance', async () => {
    const { stderr } = await cliHere(['run', '--no-packages', '--guidance', '-c', 'import numpy']);
    expect(stderr).toContain('How to fix PackageNotAvailable:\n  - ');
    expect((await cliHere(['run', '--no-packages', '-c', 'import numpy'])).stderr).not.toContain(
      'How to fix',
    );
  });

  it('prints only the result with --json', async () => {
    const { status, stdout, stderr } = await cliHere(['run', '--json', '-c', "print('x')\n1/0"]);
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

  it('enforces --fuel, --timeout and --memory', async () => {
    expect(await cliHere(['run', '-c', 'while True: pass', '--fuel', '20M'])).toMatchObject({ status: 152 });
    expect(await cliHere(['run', '-c', 'import time; time.sleep(60)', '--timeout', '0.2'])).toMatchObject({
      status: 124,
    });
    expect((await cliHere(['run', '-c', 'x = bytes(50_000_000)', '--memory', '64Mi'])).stderr).toContain(
      'MemoryError',
    );
  });

  it('mounts host paths and copies new files out', async () => {
    writeFileSync(join(folder, 'data.csv'), 'a,b');
    const program = "open('sub.txt', 'w').write(open('/external/data.csv').read().upper())";
    expect(await cliHere(['run', '-c', program, '--mount', '.:/external', '--out', 'result'])).toMatchObject({
      status: 0,
      stderr: '',
    });
    expect(readFileSync(join(folder, 'result', 'sub.txt'), 'utf8')).toBe('A,B');
    expect(existsSync(join(folder, 'result', 'data.csv'))).toBe(false);
  });

  // guarantee: output-folder
  // proves: `run --out` does not write through links in the folder.
  it('does not write through links in the folder of --out', async () => {
    mkdirSync(join(folder, 'outside'));
    mkdirSync(join(folder, 'linked'));
    for (const name of ['victim.txt', 'hard.txt']) writeFileSync(join(folder, 'outside', name), 'untouched');
    symlinkSync(join(folder, 'outside'), join(folder, 'linked', 'folder'));
    symlinkSync(join(folder, 'outside', 'victim.txt'), join(folder, 'linked', 'file.txt'));
    linkSync(join(folder, 'outside', 'hard.txt'), join(folder, 'linked', 'hard.txt'));
    const write = (path: string) =>
      `import os\nos.makedirs(os.path.dirname("/app/${path}"), exist_ok=True)\nopen("/app/${path}", "w").write("changed")`;
    for (const path of ['folder/victim.txt', 'file.txt', 'folder/new.txt']) {
      const { status, stderr } = await cliHere(['run', '-c', write(path), '--out', 'linked']);
      expect(status).toBe(2);
      expect(stderr).toMatch(/Remove it or choose another folder/);
    }
    expect((await cliHere(['run', '-c', write('hard.txt'), '--out', 'linked'])).status).toBe(0);
    expect(readFileSync(join(folder, 'linked', 'hard.txt'), 'utf8')).toBe('changed');
    expect(readdirSync(join(folder, 'outside')).sort()).toEqual(['hard.txt', 'victim.txt']);
    for (const name of ['victim.txt', 'hard.txt'])
      expect(readFileSync(join(folder, 'outside', name), 'utf8')).toBe('untouched');
  });

  // guarantee: output-folder
  // proves: Hidden files of a guest are copied to the output folder only with `--hidden`.
  it('copies hidden files only with --hidden', async () => {
    const names = [
      '.npmrc',
      '.git/hooks/pre-commit',
      'sub/.env',
      '\u200c.git/config',
      'git~1/config',
      'a.b/c.txt',
    ];
    const program = `import os
for path in ${JSON.stringify(names)}:
    os.makedirs(os.path.dirname('/app/' + path), exist_ok=True)
    open(path, 'w').write('x')`;
    const files = (name: string) =>
      readdirSync(join(folder, name), { recursive: true, withFileTypes: true }).filter((entry) =>
        entry.isFile(),
      );
    const { status, stderr } = await cliHere(['run', '-c', program, '--out', 'plain']);
    expect(status).toBe(0);
    expect(stderr).toMatch(/5 hidden files not copied: .*\.npmrc.* Add --hidden to copy them\./);
    expect(files('plain').map(({ name }) => name)).toEqual(['c.txt']);
    expect(await cliHere(['run', '-c', program, '--out', 'all', '--hidden'])).toMatchObject({
      status: 0,
      stderr: '',
    });
    expect(files('all')).toHaveLength(names.length);
  });

  it('gives the same output for the same --seed', async () => {
    const program = 'import random, time\nprint(random.random(), time.time())';
    expect(await cliHere(['run', '--seed', '5', '-c', program])).toEqual(
      await cliHere(['run', '--seed', '5', '-c', program]),
    );
  });

  it.each([
    [['run'], 'Specify a FILE or a folder'],
    [['run', 'a.txt'], 'add --language'],
    [['run', 'no-such-file.py'], 'Cannot read no-such-file.py'],
    [['run', '--language', 'python', '/dev/zero'], 'larger than the limit of 10 MiB. Pass data'],
    [['run', '-c', '1', '--fuel', 'much'], 'Expected an amount of fuel'],
    [['run', '-c', '1', '--mount', 'nowhere'], 'HOST:GUEST'],
    [['run', '-c', '1', '--memory', '5'], 'the minimum is'],
    [['run', '-c', '1', '--language', 'ruby'], 'python, javascript'],
    [['frobnicate'], 'unknown command'],
  ])('reports %j as a usage error and says what to do', async (args, message) => {
    const { status, stdout, stderr } = await cliHere(args);
    expect(status).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).toContain(message);
  });
});

describe('doctor', () => {
  it('passes all checks on a complete installation', { tags: 'full' }, async () => {
    const { status, stdout } = await cli(['doctor']);
    expect(stdout).toContain('Everything works.');
    expect(stdout.match(/^ok {4}/gm)).toHaveLength(10);
    expect(stdout.match(/10B fuel \(the default budget\) is about [\d.]+ m?s of computation/g)).toHaveLength(
      3,
    );
    expect(status).toBe(0);
  });

  it('prints its findings and the measured speed with --json', { tags: 'full' }, async () => {
    const { status, stdout } = await cliHere(['doctor', '--json']);
    const report = JSON.parse(stdout);
    expect(report).toMatchObject({
      ok: true,
      node: process.version,
      default_limits: { timeout_seconds: 30 },
    });
    expect(report.checks).toHaveLength(10);
    for (const runtime of RUNTIME_NAMES) expect(report.fuel_per_second[runtime]).toBeGreaterThan(0);
    expect(status).toBe(0);
  });
});
