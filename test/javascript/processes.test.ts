import { cpSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createSandbox } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import { runProcess } from '../support/cli.ts';
import { folderOfTest } from '../support/folders.ts';
import { code, javascript } from '../support/sandbox.ts';
import { sharedByFile } from '../support/shared.ts';

const sandbox = await sharedByFile(
  createSandbox({ runtime: 'javascript', policy: { timeout_seconds: 100 } }),
);

const IMPORTS =
  "const { spawn, spawnSync, exec, execSync, execFile, execFileSync } = require('child_process'); const fs = require('fs');\n";

describe('child_process', () => {
  test.each<[string, string, string]>([
    [
      'spawnSync',
      "const r = spawnSync('node', ['-e', 'console.log(1); console.error(2); process.exit(3)'], { encoding: 'utf8' });\nconsole.log(r.status, r.signal, [r.stdout, r.stderr], r.pid > 0)",
      "3 null [ '1\\n', '2\\n' ] true\n",
    ],
    [
      'text longer than a pipe',
      "const code = 'process.stdout.write(\"a\".repeat(500_000)); console.log(\"é\".repeat(100_000))'; console.log(spawnSync('node', ['-e', code]).stdout.length)",
      '700001\n',
    ],
    [
      'a stream of a process as stdio',
      "const a = spawn('seq', ['3']); const b = spawn('wc', ['-l'], { stdio: [a.stdout, 'pipe', 'inherit'] }); b.stdout.on('data', (d) => console.log(`${d}`.trim()))",
      '3\n',
    ],
    [
      'pipes to a process that was started before',
      "const b = spawn('wc', ['-l']); b.stdout.on('data', (d) => console.log(`${d}`.trim())); spawn('seq', ['4']).stdout.pipe(b.stdin)",
      '4\n',
    ],
    [
      'signal',
      "const c = new AbortController(); exec('sleep 99', { signal: c.signal }, (e) => console.log(e.name, e.code, e.cause.name)); c.abort()",
      'AbortError ABORT_ERR AbortError\n',
    ],
    [
      'a signal that is no AbortSignal',
      "for (const option of [{ signal: {} }, { detached: 1 }, { killSignal: 'SIGNO' }]) try { spawn('ls', option) } catch (e) { console.log(e.code) }",
      'ERR_INVALID_ARG_TYPE\nERR_INVALID_ARG_TYPE\nERR_UNKNOWN_SIGNAL\n',
    ],
    [
      'text in the events of exec',
      "exec('echo é').stdout.on('data', (d) => console.log(typeof d, d))",
      'string é\n\n',
    ],
    [
      'a callback once, also after an error',
      "execFile('nope', (e, stdout) => console.log(e.code, e.cmd, [stdout]))",
      "ENOENT nope [ '' ]\n",
    ],
    [
      'a file whose variables are its own, and argv0',
      "fs.writeFileSync('m.js', 'const a = 1; var b = 2; console.log(typeof globalThis.a, typeof globalThis.b, this === module.exports, process.argv0); return'); console.log(`${execFileSync('/usr/bin/node', ['m.js'])}`)",
      'undefined undefined true /usr/bin/node\n\n',
    ],
    ['buffers', "console.log(spawnSync('node', ['-p', '1']).stdout)", '<Buffer 31 0a>\n'],
    [
      'input',
      "console.log(spawnSync('python3', ['-c', 'print(input().upper())'], { input: 'abc' }).stdout.toString())",
      'ABC\n\n',
    ],
    [
      'stdio: inherit',
      "spawnSync('node', ['-e', 'console.log(1)'], { stdio: 'inherit' }); console.log(2)",
      '1\n2\n',
    ],
    ['execFileSync', "console.log(execFileSync('python3', ['-c', 'print(1)']).toString())", '1\n\n'],
    ['execSync with plain words', "console.log(execSync('node -p \"6*7\"', { encoding: 'utf8' }))", '42\n\n'],
    [
      'execSync that fails',
      "try { execSync('node -e \"process.exit(2)\"', { stdio: 'pipe' }) } catch (e) { console.log(e.status, e.message) }",
      '2 Command failed: node -e "process.exit(2)"\n',
    ],
    [
      'a program that does not exist',
      "const r = spawnSync('nope'); console.log(r.error.code, r.error.message, r.status)",
      'ENOENT spawnSync nope ENOENT null\n',
    ],
    [
      'cwd and env',
      "fs.mkdirSync('d'); console.log(spawnSync('node', ['-p', 'process.cwd() + process.env.A + Object.keys(process.env)'], { cwd: 'd', env: { A: '1' } }).stdout.toString())",
      '/app/d1A\n\n',
    ],
    [
      'timeout',
      "const r = spawnSync('node', ['-e', 'for (;;);'], { timeout: 200 }); console.log(r.error.code, r.signal, r.status)",
      'ETIMEDOUT SIGTERM null\n',
    ],
    [
      'maxBuffer',
      "const r = spawnSync('node', ['-e', 'console.log(\"x\".repeat(100))'], { maxBuffer: 10 }); console.log(r.error.code, r.stdout.length)",
      'ENOBUFS 10\n',
    ],
    [
      'an end by a signal',
      "console.log(spawnSync('node', ['-e', 'process.kill(process.pid)']).signal)",
      'SIGTERM\n',
    ],
    [
      'a script with require, and arguments',
      "fs.writeFileSync('m.js', 'exports.x = 7'); fs.writeFileSync('s.js', 'console.log(require(\"./m\").x, process.argv.slice(1))'); spawnSync('node', ['s.js', 'a'], { stdio: 'inherit' })",
      "7 [ '/app/s.js', 'a' ]\n",
    ],
    [
      'spawn',
      "const c = spawn('node', ['-e', 'console.log(1); process.exitCode = 4']); c.stdout.on('data', (d) => console.log('data', String(d))); c.on('exit', (code) => console.log('exit', code)); c.on('close', (code) => console.log('close', code)); console.log('started')",
      'started\ndata 1\n\nexit 4\nclose 4\n',
    ],
    [
      'spawn and more output than a pipe holds',
      "const a = spawn('seq', ['100000']), b = spawn('wc', ['-l']); a.stdout.pipe(b.stdin); b.stdout.on('data', (d) => console.log(execSync('seq 100000').length, String(d).trim()))",
      '588895 100000\n',
    ],
    [
      'spawn with input',
      "const c = spawn('python3', ['-c', 'import sys; print(sys.stdin.read()[::-1])']); c.stdout.on('data', (d) => console.log(String(d).trim())); c.stdin.write('ab'); setTimeout(() => c.stdin.end('cd'), 10)",
      'dcba\n',
    ],
    [
      'spawn of a program that does not exist',
      "spawn('nope').on('error', (e) => console.log(e.code, e.syscall))",
      'ENOENT spawn nope\n',
    ],
    [
      'kill',
      "const c = spawn('node', ['-e', '1']); c.on('exit', (code, signal) => console.log(code, signal)); console.log(c.kill())",
      'true\nnull SIGTERM\n',
    ],
    ['exec', "exec('node -p 1', (e, out, err) => console.log(e, [out, err]))", "null [ '1\\n', '' ]\n"],
    [
      'exec with the encoding of a stream',
      "exec('node -p 1', { encoding: 'buffer' }, (e, out, err) => console.log(e, [out, err.length])).stdout.setEncoding('hex')",
      "null [ '310a', 0 ]\n",
    ],
    [
      'execFile',
      "execFile('node', ['-e', 'process.exit(1)'], (e) => console.log(e.code, e.cmd))",
      '1 node -e process.exit(1)\n',
    ],
    [
      'util.promisify',
      "require('util').promisify(exec)('node -p 1').then((r) => console.log(r))",
      "{ stdout: '1\\n', stderr: '' }\n",
    ],
    [
      'pipes between processes',
      "const a = spawn('node', ['-e', 'console.log(\"b\\\\na\")']); const b = spawn('python3', ['-c', 'import sys; print(sorted(sys.stdin))']); a.stdout.pipe(b.stdin); b.stdout.on('data', (d) => console.log(String(d).trim()))",
      "['a\\n', 'b\\n']\n",
    ],
  ])('runs programs with %s', async (_, program, expected) => {
    const { stdout, stderr } = await sandbox.execute(IMPORTS + program);
    expect({ stdout, stderr }).toEqual({ stdout: expected, stderr: '' });
  });

  test('runs no part of a program that is too large', async () => {
    const { stdout } = await sandbox.execute(code`
      ${IMPORTS}
      const text = (bytes) => "console.log('ran'); //".padEnd(bytes, 'x');
      const show = ({ status, stdout, stderr }) => console.log(status, String(stdout).trim(), String(stderr).split(' Move')[0]);
      for (const bytes of [4 * 1024 * 1024, 4 * 1024 * 1024 + 1]) {
        fs.writeFileSync('large.js', text(bytes));
        show(spawnSync('node', ['large.js']));
        for (const args of [[], ['-']]) show(spawnSync('node', args, { input: text(bytes) }));
      }
    `);
    const problem = 'a program is at most 4 MiB.';
    expect(stdout.split('\n')).toEqual([
      ...Array.from({ length: 3 }, () => '0 ran '),
      ...['large.js', '[stdin]', '[eval]'].map((file) => `1  node: /app/${file}: ${problem}`),
      '',
    ]);
  });

  test('runs commands in a shell', async () => {
    const { stdout, stderr } = await javascript(
      "const { execSync } = require('child_process'); console.log(String(execSync('for i in 1 2 3; do echo $i; done | tail -2')).split('\\n')); try { execSync('exit 4') } catch (e) { console.log(e.status) }",
    );
    expect({ stdout, stderr }).toEqual({ stdout: "[ '2', '3', '' ]\n4\n", stderr: '' });
  });

  test('says how to install bash, and runs plain commands without it', { tags: 'full' }, async () => {
    const root = fileURLToPath(new URL('../../', import.meta.url));
    const installed = join(folderOfTest(), 'without bash');
    mkdirSync(installed);
    const bash = join(root, 'packages/core/dist/guests/bash');
    cpSync(join(root, 'packages/core/dist'), join(installed, 'dist'), {
      recursive: true,
      filter: (path) => path !== bash,
    });
    symlinkSync(join(root, 'node_modules'), join(installed, 'node_modules'));
    symlinkSync(join(root, 'packages/core/package.json'), join(installed, 'package.json'));
    const env = { ...process.env, LLM_WASM_SANDBOX_ASSETS: join(installed, 'dist') };
    const program =
      'const { execSync, spawnSync } = require("child_process"); console.log(String(execSync("expr 6 \\"*\\" 7"))); require("fs").writeFileSync("loop", "#!/bin/sh -c\\n", { mode: 0o755 }); console.log(spawnSync("./loop").status); execSync("ls | wc")';
    const cli = join(root, 'packages/cli/dist/cli/main.js');
    const args = ['run', '-l', 'javascript', '-c', program];
    const { stdout, stderr } = await runProcess(process.execPath, [cli, ...args], { env });
    expect(stdout).toBe('42\n\n126\n');
    expect(stderr).toMatch(
      /sh: the command was not run, because bash is not installed: npm install @llm-wasm-sandbox\/bash\./,
    );
    const python =
      'import os; os.system("bash -c pwd"); os.system("bash -c \'ls | wc\'"); open("a.sh", "w").write("ls"); os.system("bash a.sh")';
    const shells = await runProcess(process.execPath, [cli, 'run', '-c', python], { env });
    expect(shells.stdout).toBe('/app\n');
    expect(shells.stderr.match(/npm install @llm-wasm-sandbox\/bash/g)).toHaveLength(2);
    const doctor = await runProcess(process.execPath, [cli, 'doctor'], { env });
    expect(doctor.stdout).toMatch(
      /^ok {4}bash guest: not installed, because it is optional\. .*npm install @llm-wasm-sandbox\/bash$/m,
    );
  });
});
