import { createSandbox, type Sandbox } from 'llm-wasm-sandbox';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await createSandbox({ runtime: 'python' });
});
afterAll(() => sandbox.close());
const run = async (code: string) => {
  const { stdout, stderr, exit_code } = await sandbox.execute(code);
  return { stdout, stderr, exit_code };
};

describe('lines of notebooks', () => {
  test('run commands of the shell, in the order of the output', async () => {
    const code = `print('before')
!printf 'b\\na\\n' > letters.txt; sort letters.txt | head -1
print('after')
if True:
    !echo "it's $HOME" | tr a-z A-Z`;
    expect(await run(code)).toEqual({ stdout: "before\na\nafter\nIT'S /APP\n", stderr: '', exit_code: 0 });
  });

  test('insert Python values, and leave the rest to the shell', async () => {
    const code = `name, n = 'x y', 3
!echo {n * 2} $n "$name"; x=shell; echo $x; echo 'a b' | awk '{print $2}'`;
    expect(await run(code)).toMatchObject({ stdout: '6 3 x y\nshell\nb\n' });
  });

  test('assign the lines that a command prints', async () => {
    expect(await run('lines = !seq 3\nprint(lines)')).toMatchObject({ stdout: "['1', '2', '3']\n" });
  });

  test('are continued after a backslash, and keep the numbers of later lines', async () => {
    const { stdout, stderr } = await run('!echo a \\\n  b\n1 / 0');
    expect(stdout).toBe('a b\n');
    expect(stderr).toContain('line 3, in <module>');
  });

  test('%%bash runs the whole program as a script, and fails if the script fails', async () => {
    expect(await run('%%bash\nfor i in 1 2; do\n  echo $i\ndone')).toMatchObject({
      stdout: '1\n2\n',
      exit_code: 0,
    });
    const failed = await run('%%sh\necho begun\nexit 3');
    expect(failed).toMatchObject({ stdout: 'begun\n', exit_code: 1 });
    expect(failed.stderr).toContain('CalledProcessError');
  });

  test('%cd changes the folder, and %matplotlib does nothing', async () => {
    const code =
      '%matplotlib inline\nimport os\nos.makedirs("d", exist_ok=True)\n%cd d\nprint(os.getcwd())\n!pwd';
    expect(await run(code)).toMatchObject({ stdout: '/app/d\n/app/d\n' });
  });

  test('that are neither Python nor a command are syntax errors, as are other errors in such a program', async () => {
    expect((await run('%timeit 1 + 1')).stderr).toContain('SyntaxError');
    expect((await run('!echo a\nx = = 1')).stderr).toContain('line 2');
    expect(await run("text = '''\n!echo no\n'''\nprint(text)")).toMatchObject({ stdout: '\n!echo no\n\n' });
  });
});
