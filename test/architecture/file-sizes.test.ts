import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const MAX_LINES = 400;
/** Files that consist of rows, one per opcode or attack. */
const TABLES = [
  'engine/linker.ts',
  'redteam/corpus/escape-attacks-javascript.ts',
  'redteam/corpus/escape-attacks-python.ts',
  'redteam/corpus/limit-programs.ts',
  'runtimes/python/guidance/example-failures.ts',
  'wasm/opcodes.ts',
];

const src = new URL('../../src', import.meta.url).pathname;
const lines = (path: string) => readFileSync(join(src, path), 'utf8').split('\n').length - 1;

test(`files of src/ have at most ${MAX_LINES} lines, except the listed tables`, () => {
  const long = readdirSync(src, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && lines(path) > MAX_LINES)
    .map((path) => path.replaceAll('\\', '/'));
  expect(long.sort()).toEqual(TABLES);
});
