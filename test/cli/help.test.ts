import { describe, expect, it } from 'vitest';
import type { CommandSpec } from '../../packages/cli/src/cli/command.ts';
import { loadCommands } from '../../packages/cli/src/cli/command-table.ts';
import { runCli, runCliHere } from '../support/cli.ts';

interface NamedCommand extends CommandSpec {
  /** The command with its parents, as typed. */
  readonly path: readonly string[];
}

const flatten = (commands: readonly CommandSpec[], parents: readonly string[] = []): NamedCommand[] =>
  commands.flatMap((command) => {
    const path = [...parents, command.name];
    return [{ ...command, path }, ...flatten(command.subcommands ?? [], path)];
  });

const COMMANDS = await loadCommands();

describe('help', () => {
  it('lists every command', async () => {
    const { status, stdout, stderr } = await runCli(['--help']);
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout).toContain('Python, JavaScript and shell programs');
    for (const { name, description } of COMMANDS) {
      expect(stdout).toMatch(new RegExp(`^ {2}${name} `, 'm'));
      expect(stdout.replaceAll(/\s+/g, ' ')).toContain(description);
    }
  });

  it.each(flatten(COMMANDS).map((command) => [command.path.join(' '), command] as const))(
    'shows the options and examples of "%s"',
    async (line, { path, options = [], examples = [] }) => {
      const { status, stdout } = await runCliHere([...path, '--help', 'all'], '');
      expect(status).toBe(0);
      for (const { flags } of options) expect(stdout).toContain(`  ${flags} `);
      for (const example of examples) {
        expect(stdout).toContain(`llm-wasm-sandbox ${example}`);
        expect(`${example} `).toContain(`${line} `);
      }
    },
  );

  it('shows the usual options of a server, and the others if asked', async () => {
    const options = async (...args: string[]) =>
      (await runCliHere(['serve', ...args], '')).stdout.match(/^ {2}--[a-z-]+/gm)!.map((flag) => flag.trim());
    const usual = await options('--help');
    expect(usual).toHaveLength(12);
    expect(usual).toEqual(expect.arrayContaining(['--host', '--port', '--token', '--store']));
    expect(usual).not.toContain('--lease-seconds');
    const all = await options('--help', 'all');
    expect(all).toEqual(expect.arrayContaining([...usual, '--lease-seconds', '--no-error-guidance']));
  });

  it('describes every command and option in the same style', () => {
    const descriptions = flatten(COMMANDS).flatMap(({ description, arguments: args = {}, options = [] }) => [
      description,
      ...Object.values(args),
      ...options.map((option) => option.description),
    ]);
    for (const description of descriptions) expect(description).toMatch(/^[A-Z].*[^.]$/);
  });

  it.each([
    ['sh', 'bash'],
    ['ts', 'typescript'],
    ['pyton', 'python'],
  ])('suggests a language instead of %s', async (given, language) => {
    const { status, stderr } = await runCliHere(['run', '-l', given, '-c', '1'], '');
    expect(status).toBe(2);
    expect(stderr.match(/\(Did you mean .*/g)).toEqual([`(Did you mean ${language}?)`]);
  });

  it('prints the version', async () => {
    expect((await runCli(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    for (const alias of ['-v', '-V'])
      expect(await runCliHere([alias], '')).toMatchObject({ status: 0, stdout: '0.0.0\n' });
  });
});
