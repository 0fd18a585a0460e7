/**
 * A copy of the built package without the Python guest and bash, whose JavaScript guest can be damaged.
 *
 * @module-tag full
 */
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { runProcess } from '../support/cli.ts';
import { folderOfFile } from '../support/folders.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const copy = folderOfFile();
cpSync(join(root, 'packages/core/dist'), join(copy, 'packages/core/dist'), {
  recursive: true,
  filter: (path) => !['python', 'bash'].some((name) => path.endsWith(join('guests', name))),
});
symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
cpSync(join(root, 'packages/core/package.json'), join(copy, 'packages/core/package.json'));

const cli = (...args: string[]) =>
  runProcess(process.execPath, [join(root, 'packages/cli/dist/cli/main.js'), ...args], {
    env: { ...process.env, LLM_WASM_SANDBOX_ASSETS: join(copy, 'packages/core/dist') },
  });

/** Runs `use` while the bytes of an artifact at these fractions of its length are changed. */
async function withDamage<T>(name: string, positions: readonly number[], use: () => Promise<T>): Promise<T> {
  const path = join(copy, 'packages/core/dist/guests/javascript', name);
  const intact = readFileSync(path);
  const damaged = Buffer.from(intact);
  for (const position of positions) damaged[Math.floor(damaged.length * position)]! ^= 0xff;
  writeFileSync(path, damaged);
  try {
    return await use();
  } finally {
    writeFileSync(path, intact);
  }
}

const program = (code: string) => cli('run', '-l', 'javascript', '-c', code);
const IMPORT = "import _ from 'lodash'; console.log(_.chunk([1, 2], 1).length)";
const ADVICE = /is damaged: .* Install the package again, or run "npm run build" in a checkout\.\n$/;

describe('damaged installation', () => {
  test.each(['module.wasm', 'boot.image', 'layer-1.pack'])('is an error that names %s', async (name) => {
    const { status, stdout, stderr } = await withDamage(name, [0.0001], async () =>
      program('console.log(1)'),
    );
    expect([status, stdout]).toEqual([70, '']);
    expect(stderr).toContain(name === 'boot.image' ? 'image is invalid' : `guests/javascript/${name}`);
    expect(stderr).toMatch(name === 'boot.image' ? /npm run build/ : ADVICE);
  });

  test('fails a program that uses a damaged package, whatever the program does, and no other program', async () => {
    // Everywhere after the index, so that it does not matter where the package lies.
    await withDamage('layer-2.pack', [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9], async () => {
      const swallowed = `try { await import('lodash') } catch {}; console.log('went on')`;
      for (const code of [IMPORT, swallowed]) {
        const { status, stderr } = await program(code);
        expect([code, status]).toEqual([code, 70]);
        expect(stderr).toMatch(ADVICE);
      }
      expect(await program('console.log(1)')).toMatchObject({ status: 0, stdout: '1\n', stderr: '' });
      const doctor = await cli('doctor');
      expect(doctor.status).toBe(1);
      expect(doctor.stdout).toMatch(
        /FAIL {2}javascript guest: The file guests\/javascript\/layer-2\.pack is damaged/,
      );
      expect(doctor.stdout).toMatch(/^FAIL {2}python guest: /m);
      expect(doctor.stdout).toMatch(/^ok {4}javascript run: 6 \* 7 = 42 /m);
    });
    expect(await program(IMPORT)).toMatchObject({ status: 0, stdout: '2\n' });
  });
});

describe('installation without the package with bash', () => {
  const INSTALL = 'npm install @llm-wasm-sandbox/bash';

  test('says how to install it when a shell program is to run', async () => {
    const { status, stdout, stderr } = await cli('run', '-l', 'bash', '-c', 'echo hi');
    expect([status, stdout]).toEqual([70, '']);
    expect(stderr).toContain(`bash is an optional package. Install it beside llm-wasm-sandbox: ${INSTALL}`);
    expect((await cli('doctor')).stdout).toMatch(
      new RegExp(`^ok {4}bash guest: not installed, because it is optional\\. .*${INSTALL}$`, 'm'),
    );
  });

  test('runs single commands for a program, and says for others what they need', async () => {
    const { status, stdout } = await program(`const { execSync, spawnSync } = require('child_process');
console.log(String(execSync('seq 2')), spawnSync('seq 3 | wc -l', { shell: true, encoding: 'utf8' }).stderr);`);
    expect(status).toBe(0);
    expect(stdout).toMatch(/^1\n2\n/);
    expect(stdout).toContain(`the command was not run, because bash is not installed: ${INSTALL}`);
  });
});
