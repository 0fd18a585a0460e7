import { describe, expect, test } from 'vitest';
import { failedCommands } from '../../packages/core/src/runtimes/python/guidance/shell-commands.ts';
import { exception, pythonRun } from './inputs.ts';

const namesIn = (source: string, line = 1) =>
  failedCommands(pythonRun({ source, error: exception('OSError', 'x', { line }) })).map(({ name }) => name);

describe('failed commands', () => {
  test.each([
    ["subprocess.run(['sort', '-u', 'words.txt'])", ['sort']],
    ['out = subprocess.check_output("cat a | grep -c x | wc -l", shell=True)', ['cat', 'grep', 'wc']],
    ["print(os.popen('/bin/ls -la').read())", ['ls']],
    ["subprocess.check_call([sys.executable, '-m', 'pip', 'install', 'x'])", ['pip']],
    ["subprocess.run([sys.executable, 'job.py'])", ['python']],
    ["with subprocess.Popen(('git', 'log')) as p:", ['git']],
    ['subprocess.run("cd /app && make; sudo tar xf a.tar", shell=True)', ['cd', 'make', 'tar']],
    ["subprocess.run(\n    ['head',\n     'a.txt'],\n)", ['head']],
    ['subprocess.run(command())', []],
    ['x = 1', []],
  ])('of %j are %j', (source, names) => {
    expect(namesIn(source)).toEqual(names);
  });

  test('are found in the variable that holds them', () => {
    expect(namesIn("cmd = ['grep', 'x', 'a.txt']\nsubprocess.run(cmd, check=True)", 2)).toEqual(['grep']);
    expect(namesIn("cmd = 'wc -l a.txt'\nsubprocess.run(cmd, shell=True)", 2)).toEqual(['wc']);
  });

  test('include their arguments', () => {
    const input = pythonRun({
      source: "subprocess.run(['pip', 'install', 'pandas'])",
      error: exception('OSError', 'x', { line: 1 }),
    });
    expect(failedCommands(input)).toEqual([{ name: 'pip', words: ['install', 'pandas'] }]);
  });
});
