/** The workspace under another path: `policy.home`. */
import { createSandbox, memoryStore } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';

const policy = { home: '/home/user' };

describe('home', () => {
  test('is the path of the workspace, the working directory and HOME in every language', async () => {
    const programs = {
      python: `import os, subprocess
open('/home' + '/user/x', 'w').write('text')
pwd = subprocess.run('pwd', capture_output=True, text=True).stdout.strip()
' '.join([os.getcwd(), os.path.expanduser('~'), pwd, os.path.realpath('/app'), open('/app/x').read()])`,
      javascript: `const fs = require('fs');
fs.writeFileSync('/home' + '/user/x', 'text');
const pwd = require('child_process').execSync('pwd').toString().trim();
[process.cwd(), require('os').homedir(), pwd, fs.realpathSync('/app'), fs.readFileSync('/app/x')].join(' ')`,
      bash: 'echo text > /home/user/x; cd /tmp; cd; echo "$PWD" ~ $(bash -c pwd) $(realpath /app) $(cat /app/x)',
    };
    const expected = '/home/user /home/user /home/user /home/user text';
    for (const [runtime, code] of Object.entries(programs)) {
      await using sandbox = await createSandbox({ runtime: runtime as 'python', policy });
      const { metadata, stdout, stderr } = await sandbox.execute(code);
      expect(`${metadata.result ?? stdout.trim()}${stderr}`, runtime).toBe(expected);
      expect((await sandbox.listFiles()).map(({ path }) => path)).toEqual(['x']);
      expect(await sandbox.readFile('/app/x', 'utf8')).toMatch(/^text/);
    }
  });

  test('is searched by commands that do not follow links', async () => {
    await using sandbox = await createSandbox({ runtime: 'bash', policy });
    const { stdout } = await sandbox.execute(
      'mkdir d; touch d/f; find /home/user; find ~ -name f; ls -d /home/*',
    );
    expect(stdout.split('\n').sort()).toEqual(
      ['', '/home/user', '/home/user', '/home/user/d', '/home/user/d/f', '/home/user/d/f'].sort(),
    );
  });

  test('cannot be removed, renamed or replaced by a program', async () => {
    await using sandbox = await createSandbox({ runtime: 'python', policy });
    const { metadata } = await sandbox.execute(`import os, errno
def code(call, *args):
    try:
        call(*args)
        return 'ok'
    except OSError as error:
        return errno.errorcode[error.errno]
os.mkdir('d')
os.symlink('loop', 'loop')
[code(os.rmdir, '/home/user'), code(os.unlink, '/app'), code(os.rename, '/home/user', '/tmp/u'),
 code(os.rename, '/app', '/tmp/a'), code(os.rename, '/tmp', '/home/user'), code(os.symlink, '/tmp', '/home/user'),
 code(os.mkdir, '/home/other'), code(os.rmdir, '/home'), code(open, '/home/file', 'w'), code(open, '/home/user', 'w'),
 code(os.rename, '/app/d', '/home/user/d/d'), code(os.rename, '/home/user/d', '/app/d/d'), code(open, '/app/loop')]`);
    const busy = 'EBUSY';
    expect(metadata.result).toEqual([
      busy,
      busy,
      busy,
      busy,
      busy,
      'EEXIST',
      'EROFS',
      'EROFS',
      'EROFS',
      'EISDIR',
      'EINVAL',
      'EINVAL',
      'ELOOP',
    ]);
  });

  test('belongs to a session: a fork and a session that is opened again have it', async () => {
    const store = memoryStore();
    const session = await createSandbox({ runtime: 'bash', session_id: 'first', store, policy });
    await session.execute('mkdir d; cd d; exec 3> open; rm -r ../d/open');
    await session.close();
    const again = await createSandbox({ runtime: 'bash', session_id: 'first', store });
    expect((await again.execute('pwd; echo ~; echo x >&3 && echo open')).stdout).toBe(
      '/home/user/d\n/home/user\nopen\n',
    );
    const fork = await again.fork('second');
    expect((await fork.execute('cd; pwd; ls')).stdout).toBe('/home/user\nd\n');
    await Promise.all([again.close(), fork.close()]);
  });

  test('reads open files and edits of the host in a session that stays alive', async () => {
    await using session = await createSandbox({ runtime: 'python', session_id: 'alive', policy });
    await session.writeFile('in.txt', 'one');
    await session.execute("f = open('/home/user/in.txt')");
    await session.writeFile('/app/in.txt', 'two');
    expect((await session.execute('f.read()')).metadata.result).toBe('two');
  });

  test('is part of the advice about missing files', async () => {
    await using sandbox = await createSandbox({ runtime: 'python', policy });
    const adviceFor = async (path: string) =>
      (await sandbox.execute(`open('${path}')`)).metadata.error_guidance!.error_type;
    expect(await adviceFor('/home/user/none.txt')).toBe('FileNotFoundInWorkspace');
    expect(await adviceFor('/home/other/none.txt')).toBe('PathRestriction');
    await using plain = await createSandbox({ runtime: 'python' });
    const { metadata } = await plain.execute("open('/home/user/none.txt')");
    expect(metadata.error_guidance!.error_type).toBe('PathRestriction');
  });

  test.each([
    '/app',
    '/home',
    '/home/',
    '/home/a/b',
    '/home/..',
    '/home/.',
    '/tmp',
    '/usr',
    'home/user',
    '/home/A b',
  ])('cannot be %j', async (home) => {
    await expect(createSandbox({ runtime: 'python', policy: { home } })).rejects.toMatchObject({
      code: 'invalid_argument',
    });
  });

  test('must not overlap with a mount, also if a stored session has it', async () => {
    const mounts = [{ host_path: import.meta.dirname, guest_path: '/home/user/data' }];
    const refused = {
      code: 'invalid_argument',
      message: expect.stringContaining('collides with /home/user'),
    };
    await expect(createSandbox({ runtime: 'python', policy: { ...policy, mounts } })).rejects.toMatchObject(
      refused,
    );
    const store = memoryStore();
    await (await createSandbox({ runtime: 'python', session_id: 's', store, policy })).close();
    const open = createSandbox({ runtime: 'python', session_id: 's', store, policy: { mounts } });
    await expect(open).rejects.toMatchObject(refused);
  });
});

test('the variables of a call replace those of the policy for that call', async () => {
  await using session = await createSandbox({
    runtime: 'python',
    session_id: 'env',
    policy: { env: { A: '1' } },
  });
  const read = "import os\nos.environ['A'] + os.environ.get('B', '-')";
  expect((await session.execute(read, { env: { A: '2', B: '3' } })).metadata.result).toBe('23');
  expect((await session.execute(read)).metadata.result).toBe('13');
  await expect(session.execute('1', { env: { 'A=B': '1' } })).rejects.toMatchObject({
    code: 'invalid_argument',
  });
});
