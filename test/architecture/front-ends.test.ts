/**
 * The linter keeps front ends from doing work on the main thread whose size a client chooses.
 *
 * @module-tag full
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { folderOfTest } from '../support/folders.ts';

const BIOME = createRequire(import.meta.url).resolve('@biomejs/biome/bin/biome');
const ROOT = new URL('../..', import.meta.url).pathname;

/** The names of the files that the linter refuses. */
function refused(files: Readonly<Record<string, string>>): string[] {
  const folder = folderOfTest();
  cpSync(join(ROOT, 'biome.json'), join(folder, 'biome.json'));
  cpSync(join(ROOT, 'scripts/lint'), join(folder, 'scripts/lint'), { recursive: true });
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(folder, name, '..'), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  const args = [BIOME, 'lint', '--vcs-enabled=false', '--max-diagnostics=none', 'packages'];
  const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' });
  return Object.keys(files).filter((name) => (stdout + stderr).includes(`${name}:`));
}

const USES = [
  'export const a = (text: string) => JSON.parse(text);',
  'export const a = (value: object) => JSON.stringify(value);',
  'export const a = (value: object) => JSON.stringify(value, null, 2);',
  "export const a = (body: string) => Buffer.from(body, 'base64');",
  "import { gunzipSync } from 'node:zlib';\nexport const a = gunzipSync;",
  "export { gunzipSync } from 'node:zlib';",
  "export const a = () => import('node:zlib');",
];

/** Each use in a file of its own. */
const filesIn = (folder: string) =>
  Object.fromEntries(USES.map((text, i) => [`packages/server/src/${folder}/${i}.ts`, text]));

// guarantee: request-limits
// proves: The linter refuses front ends that parse, encode, copy or decompress data of clients themselves.
test('the linter refuses front ends that parse, encode, copy or decompress', () => {
  const files = Object.assign(
    {},
    ...['mcp', 'gateway', 'server', 'e2b', 'jupyter', 'playground/parts'].map(filesIn),
  );
  expect(refused(files)).toEqual(Object.keys(files));
});

test('the linter permits it in the files that read and write bodies, and where what bounds the data is said', () => {
  const files = {
    'packages/server/src/server/request-body.ts': USES.at(-2)!,
    'packages/server/src/server/json-steps.ts': USES[0]!,
    'packages/server/src/server/rest-call.ts': USES[3]!,
    'packages/server/src/server/http-error.ts': USES[1]!,
    'packages/server/src/mcp/bounded.ts': `// biome-ignore lint/plugin: 64 KiB\n${USES[0]}`,
    'packages/server/src/mcp/constant.ts': "export const a = Buffer.from('text');",
  };
  expect(refused(files)).toEqual([]);
});
