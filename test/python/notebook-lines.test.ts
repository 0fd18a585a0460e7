import { createSandbox } from 'llm-wasm-sandbox';
import { describe, expect, onTestFinished, test } from 'vitest';
import { sharedByFile } from '../support/shared.ts';

const sandbox = await sharedByFile(createSandbox({ runtime: 'python' }));
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
!echo {n * 2} $n "$name"; x=shell; echo $x; echo 'a b' | awk '{print $2}'; n=5; echo $$n`;
    expect(await run(code)).toMatchObject({ stdout: '6 3 x y\nshell\nb\n5\n' });
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
    expect(await run('%%bash -s "a b" 2\necho "$1"-$2')).toMatchObject({ stdout: 'a b-2\n' });
    expect(await run('%%python -s 7\nimport sys; print(sys.argv[1:])')).toMatchObject({ stdout: "['7']\n" });
    const captured = await run('%%bash --out lines\necho 1');
    expect(captured.stderr).toContain('UsageError: %%bash accepts no options other than -s');
    const failed = await run('%%sh\necho begun\nexit 3');
    expect(failed).toMatchObject({ stdout: 'begun\n', exit_code: 1 });
    expect(failed.stderr).toContain('CalledProcessError');
  });

  test('a semicolon after the last expression discards its value', async () => {
    const resultOf = async (code: string) => (await sandbox.execute(code)).metadata.result;
    expect(await resultOf('%matplotlib inline\n6 * 7; # shown')).toBeUndefined();
    expect(await resultOf('await __import__("asyncio").sleep(0, 6) ;\n')).toBeUndefined();
    expect(await resultOf('"é"; 6 * 7  # ;')).toBe(42);
    expect(await resultOf('%matplotlib inline\n(6 *\n 7)')).toBe(42);
  });

  test('%cd changes and prints the folder, and %matplotlib does nothing', async () => {
    const code =
      '%matplotlib inline\nimport os\nos.makedirs("d", exist_ok=True)\n%cd d\nprint(os.getcwd())\n!pwd';
    expect(await run(code)).toMatchObject({ stdout: '/app/d\n/app/d\n/app/d\n' });
  });

  test('that are neither Python nor a command are errors, as are other errors in such a program', async () => {
    const { stdout, stderr } = await run("print(1)\n%nosuch it's\nprint(2)");
    expect(stdout).toBe('1\n');
    expect(stderr).toMatch(
      /line 2, in <module>[\s\S]*\nUsageError: Line magic function `%nosuch` not found\.\n$/,
    );
    expect((await run('%%nosuch\nfoo bar')).stderr).toContain('UsageError: Cell magic `%%nosuch` not found.');
    expect((await run('x = 1\n% y')).stderr).toContain('SyntaxError');
    expect((await run('!echo a\nx = = 1')).stderr).toContain('line 2');
    expect(await run("text = '''\n!echo no\n'''\nprint(text)")).toMatchObject({ stdout: '\n!echo no\n\n' });
  });
});

describe('magic commands', () => {
  const value = async (code: string) => (await sandbox.execute(code)).results[0]?.text;

  test('that only concern the frontend are accepted', async () => {
    const code =
      '%load_ext autoreload\n%autoreload 2\n%config InlineBackend.figure_format = "retina"\nprint(1)';
    expect(await run(code)).toEqual({ stdout: '1\n', stderr: '', exit_code: 0 });
  });

  test('%time and %timeit run statements, and return values where those of IPython do', async () => {
    const timed = await sandbox.execute('%time x = {"a": 1}\n%time x["a"] + 1');
    expect(timed.stdout).toMatch(/^(CPU times: user .*, sys: 0 ns, total: .*\nWall time: .*\n){2}$/);
    expect(timed.results).toMatchObject([{ text: '2', is_main_result: true }]);
    const code =
      'n = 0\ndef f():\n    global n; n += 1\n%timeit -n 10 -r 2 f()\nr = %timeit -o -q -n 3 f()\n(n, r.loops)';
    const result = await sandbox.execute(code);
    expect(result.stdout).toMatch(/ ± .* per loop \(mean ± std\. dev\. of 2 runs, 10 loops each\)\n$/);
    expect(result.results[0]!.text).toBe('(41, 3)');
    expect((await run('%timeit -z 1')).stderr).toContain('UsageError: option -z not recognized');
  });

  test('%pwd, %ls and %env return or print what programs ask for', async () => {
    expect(await value('folder = %pwd\nfolder')).toBe("'/app'");
    expect((await run('!mkdir listed; touch listed/b listed/a\n%ls listed')).stdout).toBe('a\nb\n');
    expect(await run('name = "Bern"\n%env CITY={name}\n!echo $CITY')).toMatchObject({
      stdout: 'env: CITY=Bern\nBern\n',
    });
    expect(await value('%env HOME')).toBe("'/app'");
    expect((await run('%env NOSUCH')).stderr).toContain('UsageError: Environment does not have key: NOSUCH');
    expect((await run('%who')).stderr).toContain('UsageError: Line magic function `%who` not found');
  });

  test('%run runs a file and takes over its variables', async () => {
    const made = await run('%%writefile tool.py\nimport sys\nwords = sys.argv[1:]\n');
    expect(made).toEqual({ stdout: 'Writing tool.py\n', stderr: '', exit_code: 0 });
    expect(await value('%run tool.py 1 "2 3"\nwords')).toBe("['1', '2 3']");
  });

  test('%%writefile writes and appends a text that is not Python', async () => {
    expect(await run("%%writefile note.txt\nit's {x} %y")).toMatchObject({ stdout: 'Writing note.txt\n' });
    expect(await run('%%writefile -a note.txt\n"""')).toMatchObject({ stdout: 'Appending to note.txt\n' });
    expect((await run('!cat note.txt')).stdout).toBe('it\'s {x} %y\n"""\n');
  });

  test('%%time runs a cell with its commands, result, line numbers and calls that are awaited', async () => {
    const cell = '\n%%time\ntext = """\n!a\n"""\n!echo hi\nimport asyncio\nawait asyncio.sleep(0, 7)';
    const result = await sandbox.execute(cell);
    expect(result.stdout).toMatch(/^hi\nCPU times: [^\n]*\nWall time: [^\n]*\n$/);
    expect(result.results).toMatchObject([{ text: '7' }]);
    expect((await run('%%time\n\n1 / 0')).stderr).toContain('line 3, in <module>');
  });

  test('%%capture keeps what a cell prints and displays, and nothing after the cell', async () => {
    const session = await createSandbox({ runtime: 'python', auto_persist_globals: true });
    onTestFinished(() => session.close());
    const cell =
      '%%capture out\nimport sys\nprint(1)\n!echo 2\nprint(3, file=sys.stderr)\ndisplay([{"a": 1}])\n4';
    expect(await session.execute(cell)).toMatchObject({ stdout: '', stderr: '', results: [] });
    const shown = await session.execute('out.show()\n(out.stdout, out.stderr)');
    expect(shown).toMatchObject({ stdout: '1\n2\n', stderr: '3\n' });
    expect(shown.results).toMatchObject([{ mime: 'text/markdown' }, { text: "('1\\n2\\n', '3\\n')" }]);
    const failed = await session.execute('%%capture out\nprint(1)\n1 / 0');
    expect(failed).toMatchObject({ stdout: '', stderr: expect.stringContaining('ZeroDivisionError') });
    expect(await session.execute('print(out)')).toMatchObject({ stdout: '1\n\n' });
  });

  test('%%html displays a text, and %%timeit measures a cell', async () => {
    expect((await sandbox.execute("%%html\n<b>it's</b>")).results).toMatchObject([{ html: "<b>it's</b>" }]);
    expect((await run('%%timeit -n 2 -r 1 x = 1\ny = x')).stdout).toContain('of 1 run, 2 loops each');
  });

  test('a program that reaches a limit in a captured cell is reported', async () => {
    const result = await sandbox.execute('%%capture out\nwhile True: pass', { fuel_budget: 50_000_000 });
    expect(result.metadata).toMatchObject({ trap_reason: 'out_of_fuel' });
  });
});
