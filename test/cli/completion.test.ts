/** @module-tag full */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, test } from 'vitest';
import type { CommandSpec } from '../../packages/cli/src/cli/command.ts';
import { commandTable, runCliHere } from '../support/cli.ts';
import { folderOfFile } from '../support/folders.ts';

const SHELLS = ['bash', 'zsh'];
const folder = folderOfFile();
const script = (shell: string) => join(folder, `script.${shell}`);
beforeAll(async () => {
  for (const shell of SHELLS)
    writeFileSync(script(shell), (await runCliHere(['completion', shell], '')).stdout);
  mkdirSync(join(folder, 'work'));
  for (const name of ['my program.py', '*', 'h [m]*', 'h $(touch ran)', 'h `touch ran`;touch ran'])
    writeFileSync(join(folder, 'work', name), '');
});

const has = (shell: string) => spawnSync(shell, ['--version']).status === 0;
const cwd = () => join(folder, 'work');

/** What is typed up to the cursor, and some of the words that complete it. `undefined` stands for an empty list. */
const CASES: readonly (readonly [string, readonly string[] | undefined])[] = [
  ['ru', ['run']],
  ['', ['run', 'session', 'repl', 'completion']],
  ['session che', ['checkpoint']],
  ['session checkpoint --l', ['--list']],
  ['run --lang', ['--language']],
  ['run --language ty', ['typescript']],
  ['run --session session --is', ['--isolation']],
  ['run --fuel ', undefined],
  ['run my', ['my program.py']],
  ['run --profile-out m', ['my program.py']],
  ['completion ', ['bash', 'zsh']],
  ['redteam --category ', ['escape']],
  ['doctor --col', ['--color']],
];

/** Runs the completion function of bash as Tab does and returns the completions. */
function completeInBash(typed: string, compopt = 'compopt() { :; }'): string[] {
  const words = ['llm-wasm-sandbox', ...typed.split(/[ ]|(?==)|(?<==)/)];
  // Outside of a completion, the "compopt" of bash fails.
  const program = `${compopt}; source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); ${'_llm_wasm_sandbox'}; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const args = ['--norc', '-c', program, 'bash', script('bash'), ...words];
  const { stdout, stderr } = spawnSync('bash', args, { cwd: cwd(), encoding: 'utf8' });
  expect(stderr).toBe('');
  return stdout.split('\n').filter(Boolean);
}

/** Functions that print what the interface for completions of bash offers; the shell then selects the words that match. */
const ZSH_PRINTS = `
autoload -Uz compinit && compinit -u -D
source "$1"; shift
compset() { return 1; }
compadd() { [[ $1 == - ]] && print -rl -- "\${@[2,-1]}"; }
words=("$@"); CURRENT=$#
\${=_comps[llm-wasm-sandbox]}`;

function completeInZsh(typed: string): string[] {
  const words = ['llm-wasm-sandbox', ...typed.split(' ')];
  const args = ['-f', '-c', ZSH_PRINTS, 'zsh', script('zsh'), ...words];
  const { stdout, stderr } = spawnSync('zsh', args, { cwd: cwd(), encoding: 'utf8' });
  expect(stderr).toBe('');
  return stdout.split('\n').filter((word) => word !== '' && word.startsWith(words.at(-1)!));
}

function expectCompletions(
  complete: (typed: string) => string[],
  typed: string,
  expected: readonly string[] | undefined,
) {
  const found = complete(typed);
  if (expected === undefined) expect(found).toEqual([]);
  else expect(found).toEqual(expect.arrayContaining([...expected]));
  const last = typed.split(' ').at(-1)!;
  for (const word of found) expect(word.startsWith(last)).toBe(true);
}

describe('completion', () => {
  const withoutBash = has('bash') ? '' : ' (skipped: bash is not installed)';
  test.skipIf(withoutBash).each([...CASES, ['doctor --color=al', ['always']]] as typeof CASES)(
    `in bash completes "%s"${withoutBash}`,
    (typed, expected) => {
      if (typed.includes('=')) expect(completeInBash(typed)).toEqual(expected);
      else expectCompletions(completeInBash, typed, expected);
    },
  );

  test.skipIf(withoutBash)(`in bash neither expands nor runs names of files${withoutBash}`, () => {
    expect(completeInBash('run *')).toEqual(['*']);
    const hostile = ['h $(touch ran)', 'h [m]*', 'h `touch ran`;touch ran'];
    expect(completeInBash('run h').sort()).toEqual(hostile);
    const quoted = completeInBash('run h', ':').sort();
    const printed = spawnSync('bash', ['-c', `printf '%s\\n' ${quoted.join(' ')}`], { cwd: cwd() });
    expect(printed.stdout.toString()).toBe(`${hostile.join('\n')}\n`);
    expect(existsSync(join(cwd(), 'ran'))).toBe(false);
  });

  const withoutZsh = has('zsh') ? '' : ' (skipped: zsh is not installed)';
  it.skipIf(withoutZsh)(`completes commands, flags and values in zsh${withoutZsh}`, () => {
    for (const [typed, expected] of CASES) expectCompletions(completeInZsh, typed, expected);
  });

  // bash parses the part of the language that this script uses, so the syntax is also checked where zsh is missing.
  it.skipIf(withoutBash)(`has valid syntax for zsh${withoutBash}`, () => {
    const { status, stderr } = spawnSync('bash', ['-n', script('zsh')], { encoding: 'utf8' });
    expect([status, stderr]).toEqual([0, '']);
  });

  it('has every command and option of the table in each script', async () => {
    const [commands, globals] = await commandTable();
    const names = (specs: readonly CommandSpec[]): string[] =>
      specs.flatMap(({ name, options = [], subcommands = [] }) => [
        name,
        ...options.map(({ long }) => long!),
        ...names(subcommands),
      ]);
    for (const shell of SHELLS) {
      const words = new Set(readFileSync(script(shell), 'utf8').split(/[\s'|]+/));
      for (const name of [...names(commands), ...globals.map(({ long }) => long!)])
        expect(words).toContain(name);
    }
  });
});
