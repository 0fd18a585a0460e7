/** How bash starts commands, and commands that are not C programs: scripts for Python, and what the host does itself. */
import { createSandbox, type SandboxResult } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import type { RuntimeName } from '../../packages/core/src/schema.ts';

const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

async function run(
  code: string,
  runtime: RuntimeName = 'bash',
  files: Record<string, string | Uint8Array> = {},
): Promise<SandboxResult> {
  await using sandbox = await createSandbox({ runtime });
  for (const [name, content] of Object.entries(files)) await sandbox.writeFile(name, content);
  return await sandbox.execute(code);
}

test('yes stops when its pipe is full, at a fraction of the default fuel', async () => {
  const { stdout, fuel_consumed } = await run('yes | head -2; yes a b | head -1');
  expect(stdout).toBe('y\ny\na b\n');
  expect(fuel_consumed).toBeLessThan(300_000_000);
});

describe('pip', () => {
  test.each(['pip install', 'python3 -m pip install -q', 'uv pip install'])(
    'in a shell knows the packages of the sandbox: %s',
    async (command) => {
      const quiet = command.endsWith('-q');
      const { stdout, stderr } = await run(
        `${command} requests; echo $?; ${command} "requests>=2.34"; echo $?; ${command} requests==1.0; echo $?`,
      );
      const said = (name: string) => (quiet ? '' : `Requirement already satisfied: ${name}\n`);
      expect(stdout).toBe(`${said('requests')}0\n${said('requests>=2.34')}0\n1\n`);
      expect(stderr).toMatch(
        /^ERROR: cannot install requests==1\.0: .* The sandbox has requests 2\.[\d.]+\. .*\n$/,
      );
    },
  );

  test('in a shell says how the user can add packages', async () => {
    const message = /the sandbox does not have it\. The user can add it, with: .*packages add numpy\n$/;
    expect((await run('pip install numpy')).stderr).toMatch(message);
    const code = "import subprocess; subprocess.run(['sh', '-c', 'pip install numpy'])";
    expect((await run(code, 'python')).stderr).toMatch(message);
  });

  test('has a version, which it prints', async () => {
    const { stdout } = await run(
      "pip --version | cut -d' ' -f2; python3 -c 'import pip; print(pip.__version__)'",
    );
    const [printed, version] = stdout.split('\n');
    expect(printed).toMatch(/^\d/);
    expect(version).toBe(printed);
  });

  test('fails without the name of a package', async () => {
    const { stdout, stderr } = await run('pip install; echo $?; touch none; pip install -r none; echo $?');
    expect(stdout).toBe('1\n0\n');
    expect(stderr).toBe('ERROR: You must give at least one requirement to install\n');
  });

  test('reads lists of requirements in all notations', async () => {
    const { stdout } = await run(
      'echo requests > r; pip install -r r; pip install -rr; pip install --requirement r; pip install --requirement=r',
    );
    expect(stdout).toBe('Requirement already satisfied: requests\n'.repeat(4));
  });
});

describe('the user', () => {
  const facts = 'whoami; id -un; id -u; echo "$USER $LOGNAME $HOME" ~; stat -c "%U %G" . ';
  const expected = 'root\nroot\n0\nroot root /app /app\nroot root\n';

  test('is the same in the variables, the commands and the files of bash', async () => {
    const inFiles = 'cut -d: -f1,6 /etc/passwd; cut -d: -f1 /etc/group';
    const stdout = `${expected}root:/app\nroot\n`;
    expect(await run(`${facts}; ${inFiles}`)).toMatchObject({ stdout, stderr: '' });
  });

  test('is the same in a shell that Python starts, and in pwd, grp and getpass', async () => {
    const code = `import getpass, grp, os, pathlib, pwd, subprocess
print(subprocess.run(${JSON.stringify(facts)}, shell=True, capture_output=True, text=True).stdout, end='')
user = pwd.getpwuid(os.getuid())
print(user.pw_name, user.pw_dir, grp.getgrgid(user.pw_gid).gr_name, getpass.getuser(), pathlib.Path('.').owner(), os.path.expanduser('~root'))`;
    expect(await run(code, 'python')).toMatchObject({ stdout: `${expected}root /app root root root /app\n` });
  });

  test('is the same in a shell that JavaScript starts, and in os and process', async () => {
    const code = `const os = require('os');
process.stdout.write(require('child_process').execSync(${JSON.stringify(facts)}));
console.log(os.userInfo().username, os.homedir(), process.env.HOME, process.env.USER);`;
    expect(await run(code, 'javascript')).toMatchObject({ stdout: `${expected}root /app /app root\n` });
  });

  test('cannot be changed, and hard links are refused', async () => {
    const { stdout } = await run(
      'echo x >> /etc/passwd || echo read-only; touch a; ln a b || echo no link; ln -s a c && cat c',
    );
    expect(stdout).toBe('read-only\nno link\n');
  });
});

describe('commands of bash', () => {
  test('get arguments and variables with any bytes', async () => {
    const code = `export V=$'x\\xff\\xc3\\xa9'; printenv V | od -An -tx1; /usr/bin/printf '%s' $'\\x80\\xe9a' é | od -An -tx1
python3 -c 'import os, sys; print(os.fsencode(sys.argv[1]), os.environb[b"V"])' $'\\xfe'`;
    expect(await run(code)).toMatchObject({
      stdout: " 78 ff c3 a9 0a\n 80 e9 61 c3 a9\nb'\\xfe' b'x\\xff\\xc3\\xa9'\n",
      stderr: '',
    });
  });

  test('end with their status after functions that run at their end', async () => {
    const { stdout, stderr } = await run('echo hello | dd bs=1 count=4; echo " $?"');
    expect(stdout).toBe('hell 0\n');
    expect(stderr).toContain('4 bytes');
  });

  test('are found in the standard folders without PATH', async () => {
    expect(await run('PATH=/tmp; command -p seq 1; command -p getconf PATH')).toMatchObject({
      stdout: '1\n/usr/bin:/bin\n',
    });
  });

  test('have the status of a builtin at the end of a pipeline that runs in the shell itself', async () => {
    expect(await run('shopt -s lastpipe; true | false; echo $? "${PIPESTATUS[@]}"')).toMatchObject({
      stdout: '1 0 1\n',
    });
  });
});

describe('scripts in /usr/bin', () => {
  test('nproc and hostname name the only processor and the name of the sandbox', async () => {
    expect(await run('nproc; hostname; uname -n')).toMatchObject({ stdout: '1\nsandbox\nsandbox\n' });
  });

  test('shuf permutes lines, arguments and ranges, and chooses some of them', async () => {
    const { stdout, stderr } = await run(`seq 50 | shuf | sort -n | cmp - <(seq 50) && echo all
shuf -i 1-100 -n 5 | wc -l
shuf -e a b c | sort | paste -sd,
printf 'x\\0y\\0' | shuf -z | tr '\\0' '\\n' | sort | paste -sd,
shuf -r -n 4 -e only -o out.txt; uniq -c out.txt
shuf missing.txt; echo $?`);
    expect(stdout).toBe('all\n5\na,b,c\nx,y\n      4 only\n1\n');
    expect(stderr).toBe('shuf: missing.txt: No such file or directory\n');
  });

  test('shuf prints the same in every run of a deterministic sandbox', async () => {
    const once = async () => {
      const sandbox = await createSandbox({ runtime: 'bash', policy: { deterministic: true } });
      const { stdout } = await sandbox.execute('seq 100 | shuf');
      await sandbox.close();
      return stdout;
    };
    expect(await once()).toBe(await once());
  });

  test('tree draws folders, without what options exclude', async () => {
    const { stdout } =
      await run(`mkdir -p src/lib .git; touch src/a.py src/lib/b.txt .git/config; ln -s src link
tree; tree -a -L 1 --noreport; tree -P '*.py' src; tree nowhere; echo $?`);
    expect(stdout).toBe(`.
├── link -> src
└── src
    ├── a.py
    └── lib
        └── b.txt

4 directories, 2 files
.
├── .git
├── link -> src
└── src
src
├── a.py
└── lib

2 directories, 1 file
nowhere  [error opening dir]

0 directories, 0 files
2
`);
  });
});

describe('display', () => {
  test('shows images and texts as results, from any process', async () => {
    const files = {
      'dot.png': Buffer.from(PNG, 'base64'),
      'page.html': '<b>hi</b>',
      'notes.md': '# Title',
      'data.json': '{"a": [1]}',
      'plain.txt': 'text',
    };
    const { results, stdout, exit_code } = await run(
      'mkdir d; cd d; display ../dot.png ../page.html; (cd ..; display notes.md data.json | cat; bash -c "display plain.txt")',
      'bash',
      files,
    );
    expect({ stdout, exit_code }).toEqual({ stdout: '', exit_code: 0 });
    expect(results).toMatchObject([
      { mime: 'image/png', png: PNG, width: 1, height: 1 },
      { html: '<b>hi</b>' },
      { markdown: '# Title' },
      { json: { a: [1] } },
      { text: 'text' },
    ]);
  });

  test('says why a file cannot be shown', async () => {
    const { stderr, stdout, results } = await run(
      'head -c 9000000 /dev/zero > big; printf "\\xff\\xfe\\x00" > bytes; display nothing big bytes .; echo $?; display; echo $?',
    );
    expect(stderr).toBe(`display: nothing: No such file or directory
display: big: it is larger than 8 MiB
display: bytes: it is neither an image (PNG, JPEG, GIF, WebP) nor text
display: .: Is a directory
Usage: display FILE...
Shows images, SVG, HTML, Markdown, JSON and text files as results of the call.
`);
    expect(stdout).toBe('1\n2\n');
    expect(results).toEqual([]);
  });

  test('costs fuel for what the host reads', async () => {
    const { fuel_consumed } = await run('display x', 'bash', { x: 'a'.repeat(4_000_000) });
    const small = await run('display x', 'bash', { x: 'a' });
    expect(fuel_consumed - small.fuel_consumed).toBeGreaterThan(4_000_000);
  });
});
