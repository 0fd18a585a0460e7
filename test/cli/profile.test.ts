/** `run --profile` and `run --profile-out`. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runCliHere } from '../support/cli.ts';
import { folderOfTest } from '../support/folders.ts';

const PROGRAM = 'def work(n):\n    return sum(i * i for i in range(n))\n\nwork(20_000)\n';

test('run --profile prints a share per line and --profile-out writes a file for speedscope', async () => {
  const folder = folderOfTest();
  const out = join(folder, 'profile.json');
  const args = ['run', '-c', PROGRAM, '--profile', '--profile-out', out];
  const { status, stderr } = await runCliHere(args, folder);
  expect(status).toBe(0);
  expect(stderr).toMatch(/^Fuel profile: \d+ samples, /);
  expect(stderr).toMatch(/^ *[\d.]+% █+ +2 {6}return sum\(i \* i for i in range\(n\)\)$/m);
  expect(stderr).toMatch(/^ +1 {2}def work\(n\):$/m);
  const { shared, profiles } = JSON.parse(readFileSync(out, 'utf8')) as {
    shared: { frames: { name: string; file: string; line: number }[] };
    profiles: { type: string; endValue: number; samples: number[][]; weights: number[] }[];
  };
  expect(shared.frames).toContainEqual({ name: 'work', file: '/app/main.py', line: 2 });
  const [profile] = profiles;
  expect(profile!.type).toBe('sampled');
  expect(profile!.samples.length).toBe(profile!.weights.length);
  expect(profile!.weights.reduce((sum, weight) => sum + weight, 0)).toBe(profile!.endValue);
  for (const index of profile!.samples.flat()) expect(shared.frames[index]).toBeDefined();
});
