/** Checks what npm would publish of each package with code: with publint, and its types with arethetypeswrong. Needs a build. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../', import.meta.url));
/** Entries without types: they are for the packages of this repository only. */
const INTERNAL = ['basics', 'internal', 'package.json'];

/** Runs a program of node_modules/.bin, and shows what it prints if it fails. */
function check(program, ...args) {
  const { status, stdout, stderr } = spawnSync(`${root}node_modules/.bin/${program}`, args, {
    encoding: 'utf8',
  });
  if (status === 0) return console.log(`ok     ${program} ${args.at(-1)}`);
  console.log(`FAILED ${program} ${args.at(-1)}\n${stdout}${stderr}`);
  process.exitCode = 1;
}

for (const name of ['core', 'server', 'adapters', 'cli']) {
  const folder = `${root}packages/${name}`;
  check('publint', '--strict', folder);
  check('attw', '--profile', 'esm-only', '--exclude-entrypoints', ...INTERNAL, '--pack', folder);
}
