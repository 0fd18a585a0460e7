/** Sessions of bash, and what its programs share with the other languages. */
import { createSandbox, memoryStore, type Session } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';

const begin = (): Promise<Session> => createSandbox({ runtime: 'bash', auto_persist_globals: true });

describe('a session of bash', () => {
  test('keeps variables, functions, options, descriptors and the working directory', async () => {
    await using shell = await begin();
    await shell.execute(
      'x=5; f() { echo "f $x"; }; set -f; mkdir d; cd d; exec 4> log; declare -A m=([a]=1)',
    );
    await shell.execute('echo one >&4; exit 3');
    const { stdout } = await shell.execute('f; echo * ${m[a]} ${PWD##*/}; echo two >&4; cat log');
    expect(stdout).toBe('f 5\n* 1 d\none\ntwo\n');
  });

  test('reads the first word of each program as the word of a command', async () => {
    await using shell = await begin();
    const programs = [
      'for x in 1; do echo $x; done',
      '! true; echo $?',
      '[[ x == y ]] || echo neq',
      '(( 0 )) || echo zero',
    ];
    const outputs: string[] = [];
    for (const program of programs) outputs.push((await shell.execute(program)).stdout);
    expect(outputs).toEqual(['1\n', '1\n', 'neq\n', 'zero\n']);
  });

  test('lists its variables and functions', async () => {
    await using shell = await begin();
    await shell.execute('count=3; list=(a b); declare -A map=([k]=v); greet() { :; }');
    expect(await shell.variables()).toEqual([
      { name: 'count', type: 'string', repr: '"3"' },
      { name: 'list', type: 'array', repr: '([0]="a" [1]="b")' },
      { name: 'map', type: 'map', repr: '([k]="v" )' },
      { name: 'greet', type: 'function', repr: '' },
    ]);
  });

  test('is rolled back with the files of its processes', async () => {
    await using shell = await begin();
    await shell.execute('x=1; echo one > f');
    await shell.checkpoint('one');
    await shell.execute('x=2; python3 -c \'open("f", "w").write("two")\'; rm -rf /tmp/*');
    await shell.rollback('one');
    expect((await shell.execute('echo $x $(cat f)')).stdout).toBe('1 one\n');
  });

  test('continues after it was closed, and in a fork', async () => {
    const store = memoryStore();
    const open = () => createSandbox({ runtime: 'bash', session_id: 's', store });
    {
      await using shell = await open();
      await shell.execute('n=1; next() { n=$((n + 1)); echo $n; }');
    }
    await using shell = await open();
    expect((await shell.execute('next')).stdout).toBe('2\n');
    await using fork = await shell.fork();
    expect((await fork.execute('next')).stdout).toBe('3\n');
    expect((await shell.execute('next')).stdout).toBe('3\n');
  });

  test('says where a limit stopped it, and keeps what the program had done', async () => {
    await using shell = await begin();
    await shell.execute('x=before');
    const stopped = await shell.execute('x=after\n\nwhile :; do :; done', { fuel_budget: 50_000_000 });
    expect(stopped).toMatchObject({
      exit_code: 152,
      metadata: { trap_reason: 'out_of_fuel', state: 'committed', stopped_at: { line: 3 } },
    });
    expect((await shell.execute('echo $x')).stdout).toBe('after\n');
  });
});

describe('a shell program', () => {
  test('gets arguments, environment and standard input', async () => {
    const policy = { env: { NAME: "it's" } };
    await using sandbox = await createSandbox({ runtime: 'bash', policy });
    const { stdout } = await sandbox.execute('read -r line; echo "$# $2 $NAME $line"', {
      args: ['a', "b 'c"],
      stdin: 'input\n',
    });
    expect(stdout).toBe("2 b 'c it's input\n");
  });

  test('runs its trap for EXIT', async () => {
    await using sandbox = await createSandbox({ runtime: 'bash' });
    expect(await sandbox.execute("trap 'echo bye $?' EXIT; false")).toMatchObject({
      stdout: 'bye 1\n',
      exit_code: 1,
    });
  });

  test.each([
    ['gerp x', 'CommandNotFound', /grep/],
    ['sudo ls', 'CommandNotFound', /leave sudo out/],
    ['cat Data.csv', 'FileNotFound', /data\.csv/],
    ['./data.csv', 'CannotExecute', /chmod \+x data\.csv/],
    ['ls --hyperlinks', 'UnsupportedOption', /--help/],
    ['if true; then', 'SyntaxError', /could not parse/],
    ['set -e\nfalse', 'CommandFailed', /set -e/],
  ])('that fails gets guidance: %s', async (code, type, advice) => {
    await using sandbox = await createSandbox({ runtime: 'bash' });
    const { metadata } = await sandbox.execute(code, { files: { 'data.csv': 'a\n' } });
    expect(metadata.error_guidance).toMatchObject({ error_type: type });
    expect(metadata.error_guidance!.actionable_guidance.join('\n')).toMatch(advice);
  });
});

test('a profile names the lines of a shell program, and counts processes at the line that waits for them', async () => {
  await using shell = await createSandbox({ runtime: 'bash' });
  const code =
    'for ((i = 0; i < 2000; i++)); do\n  x=$((x + i))\ndone\nseq 20000 | sort -rn | tail -1\necho end';
  const { stdout, metadata } = await shell.execute(code, { profile: true });
  expect(stdout).toBe('1\nend\n');
  const shares = new Map(metadata.fuel_profile!.lines.map(({ line, share }) => [line, share]));
  expect((shares.get(1) ?? 0) + (shares.get(2) ?? 0)).toBeGreaterThan(0.2);
  expect(shares.get(4)).toBeGreaterThan(0.2);
  expect(shares.get(5) ?? 0).toBeLessThan(0.1);
});

describe('other languages', () => {
  test('start shells', { tags: 'full' }, async () => {
    await using python = await createSandbox({ runtime: 'python' });
    const program = `import os, subprocess
print(subprocess.run('echo a b | tr a-z A-Z; exit 3', shell=True, capture_output=True, text=True))
print(os.system('test -d /app && exit 2'), os.popen('seq 3 | paste -sd+').read())`;
    expect((await python.execute(program)).stdout).toBe(
      "CompletedProcess(args='echo a b | tr a-z A-Z; exit 3', returncode=3, stdout='A B\\n', stderr='')\n512 1+2+3\n\n",
    );
    await using node = await createSandbox({ runtime: 'javascript' });
    const script = "console.log(require('child_process').execSync('echo $((6 * 7)) | cat').toString())";
    expect((await node.execute(script)).stdout).toBe('42\n\n');
  });
});
