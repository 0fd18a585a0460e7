/** A program is a file. The expected texts are what bash 5.2, Python and Node.js print for the file in /app. */
import { createSandbox, memoryStore, type RuntimeName } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import { code, run } from '../support/sandbox.ts';

interface Program {
  readonly title: string;
  readonly runtime: RuntimeName;
  readonly code: string;
  readonly stdout: string;
  readonly stderr?: string;
  readonly exit_code?: number;
  readonly name?: string;
}

const PROGRAMS: readonly Program[] = [
  {
    title: 'bash runs the main guard',
    runtime: 'bash',
    code: code`
      main() { echo "main $1"; }
      if [[ "\${BASH_SOURCE[0]}" == "$0" ]]; then main "$@"; fi
      echo "$0 \${BASH_SOURCE[*]} [\${FUNCNAME[*]}] [\${BASH_LINENO[*]}] $LINENO"
    `,
    stdout: 'main a b\nmain.sh main.sh [] [0] 3\n',
  },
  {
    title: 'bash knows the callers of a function',
    runtime: 'bash',
    code: code`
      f() { echo "\${FUNCNAME[*]} | \${BASH_LINENO[*]} | \${BASH_SOURCE[*]} $LINENO"; caller; caller 0; g; }
      g() {
        local i=0
        while caller $i; do i=$((i + 1)); done
      }
      f
      (f | head -n 1)
    `,
    stdout:
      'f main | 6 0 | main.sh main.sh 1\n6 main.sh\n6 main main.sh\n1 f main.sh\n6 main main.sh\nf main | 7 0 | main.sh main.sh 1\n',
  },
  {
    title: 'bash finds files beside the program',
    runtime: 'bash',
    code: code`
      echo 'lib() { caller 0; nosuch; }; echo "\${BASH_SOURCE[*]} \${BASH_LINENO[*]}"' > lib.sh
      source "$(dirname "$0")/lib.sh"
      lib
      cd / && cd "$(dirname "$(readlink -f "$OLDPWD/$0")")" && pwd
    `,
    stdout: './lib.sh main.sh 2 0\n3 main main.sh\n/app\n',
    stderr: './lib.sh: line 1: nosuch: command not found\n',
  },
  {
    title: 'bash names the program in messages',
    runtime: 'bash',
    name: 'report.sh',
    code: code`
      nosuch
      echo $((1/0)); echo 'same line'
      echo "\${x!y}"
      for i in 1; do
        (cd /nowhere)
      done
      readonly r=1
      (r=2)
      echo \${x:?missing}
      echo 'not reached'
    `,
    stdout: '',
    stderr:
      'report.sh: line 1: nosuch: command not found\nreport.sh: line 2: 1/0: division by 0 (error token is "0")\nreport.sh: line 3: ${x!y}: bad substitution\nreport.sh: line 5: cd: /nowhere: No such file or directory\nreport.sh: line 8: r: readonly variable\nreport.sh: line 9: x: missing\n',
    exit_code: 1,
  },
  {
    title: 'bash goes on after an error that discards a command',
    runtime: 'bash',
    code: code`
      declare -i n=1/0
      set -- a; shift 0 label; echo no
      echo "after $?"
    `,
    stdout: 'after 1\n',
    stderr:
      'main.sh: line 1: declare: 1/0: division by 0 (error token is "0")\nmain.sh: line 2: shift: too many arguments\n',
  },
  {
    title: 'bash names the line of a syntax error',
    runtime: 'bash',
    code: 'echo a\n\necho )\necho b\n',
    stdout: 'a\n',
    stderr: "main.sh: line 3: syntax error near unexpected token `)'\nmain.sh: line 3: `echo )'\n",
    exit_code: 2,
  },
  {
    title: 'bash starts the program again, which deletes itself',
    runtime: 'bash',
    code: code`
      n=\${2:-2}
      echo "$n $0"
      if ((n > 0)); then bash "$0" x $((n - 1)); else rm "$0"; ls; fi
    `,
    stdout: '2 main.sh\n1 main.sh\n0 main.sh\n',
  },
  {
    title: 'Python reads the program',
    runtime: 'python',
    code: code`
      import __main__, inspect, sys
      def f():
          return 1
      class C:
          x = 1
      source = open(__file__).read()
      print(__file__ == sys.argv[0] == __main__.__file__, __main__.f(), source.count('\\n'))
      print(inspect.getsource(f) + inspect.getsource(C), end='')
      print(inspect.getsource(__main__) == source, inspect.getsourcefile(f))
    `,
    stdout: 'True 1 9\ndef f():\n    return 1\nclass C:\n    x = 1\nTrue /app/main.py\n',
  },
  {
    title: 'a script of Node.js reads the program',
    runtime: 'javascript',
    code: code`
      const fs = require('fs');
      console.log(require.main === module, __filename, process.argv[1], module.parent);
      console.log(fs.readFileSync(__filename, 'utf8').split('\\n').length, fs.statSync(__filename).isFile());
    `,
    stdout: 'true /app/main.js /app/main.js null\n4 true\n',
  },
  {
    title: 'a module of Node.js reads the program',
    runtime: 'javascript',
    name: 'tool.mjs',
    code: code`
      import fs from 'node:fs';
      import { fileURLToPath } from 'node:url';
      console.log(import.meta.url, import.meta.filename, import.meta.dirname, import.meta.resolve('./x.js'));
      console.log(process.argv[1] === fileURLToPath(import.meta.url));
      console.log(fs.readFileSync(new URL(import.meta.url), 'utf8').startsWith('import fs'));
    `,
    stdout: 'file:///app/tool.mjs /app/tool.mjs /app file:///app/x.js\ntrue\ntrue\n',
  },
];

describe('a program is a file', () => {
  test.each(PROGRAMS)('$title', async ({ runtime, code: text, name, stdout, stderr = '', exit_code = 0 }) => {
    const result = await run(runtime, text, {
      args: ['a b'],
      ...(name !== undefined && { file_name: name }),
    });
    expect(result).toMatchObject({ stdout, stderr, exit_code });
    expect([...result.files_created, ...result.files_modified]).not.toContain(name ?? `main.${runtime}`);
  });

  test('that is a result only if the program changes it', async () => {
    await using sandbox = await createSandbox({ runtime: 'bash' });
    const unchanged = await sandbox.execute(
      'ls; cat "$0"; echo; find . -type f; cp -r . /tmp/copy; ls /tmp/copy',
    );
    expect(unchanged).toMatchObject({
      files_created: [],
      files_modified: [],
      stdout: expect.stringMatching(/^ls; cat .*\n$/),
    });
    const changed = await sandbox.execute('echo "# changed" >> "$0"');
    expect(changed).toMatchObject({ files_created: ['main.sh'], exit_code: 0 });
    expect(await sandbox.readFile('main.sh', 'utf8')).toBe('echo "# changed" >> "$0"# changed\n');
  });

  test('that never takes the place of another file', async () => {
    await using sandbox = await createSandbox({ runtime: 'python' });
    await sandbox.writeFile('main.py', 'mine = 1\n');
    const { stdout, files_modified } = await sandbox.execute(
      'import main\nprint(__file__, main.mine, open(__file__).read(6))',
    );
    expect(stdout).toBe('/app/main-1.py 1 import\n');
    expect(files_modified).toEqual([]);
    expect(await sandbox.readFile('main.py', 'utf8')).toBe('mine = 1\n');
  });

  test('that is executable if it names its interpreter', async () => {
    const program = '#!/bin/bash\n[ -n "$1" ] && exec "./$0"\nstat -c %a "$0"';
    expect((await run('bash', program, { args: ['x'] })).stdout).toBe('755\n');
  });

  test('in every call of a session, and in the folder of the shell', async () => {
    await using session = await createSandbox({ runtime: 'bash', store: memoryStore() });
    const first = await session.execute(
      'f() { echo "${BASH_SOURCE[0]}"; nosuch; }; mkdir -p d; cd d; exec 7< "../$0"',
    );
    expect(first.stderr).toBe('');
    const second = await session.execute('f; echo "$0"; cat "$0" <&7; ls /app; nosuch');
    expect(second.stdout).toBe('main.sh\n/app/call-2.sh\nf; echo "$0"; cat "$0" <&7; ls /app; nosuchd\n');
    expect(second.stderr).toBe(
      'main.sh: line 1: nosuch: command not found\n/app/call-2.sh: line 1: nosuch: command not found\n',
    );
    expect((await session.execute('head -c 3 <&7; caller; echo "${#BASH_SOURCE[@]}"')).stdout).toBe(
      'f()0 NULL\n1\n',
    );
    expect(await session.listFiles()).toEqual([]);
  });

  test('unless file_name is null: it is then a cell or a command line', async () => {
    const python = await run(
      'python',
      'print("__file__" in globals(), __import__("os").path.exists("/app/main.py"))',
      { file_name: null },
    );
    expect(python.stdout).toBe('False False\n');
    const bash = await run('bash', 'echo "$0 ${#BASH_SOURCE[@]}"; nosuch', { file_name: null });
    expect(bash).toMatchObject({ stdout: 'bash 0\n', stderr: 'bash: line 1: nosuch: command not found\n' });
    const unset = await run('bash', 'set -u; echo $x', { file_name: null });
    expect(unset.exit_code).toBe(127);
  });
});
