import { describe, expect, test } from 'vitest';
import { code, python } from '../support/sandbox.ts';

describe('Python standard library', () => {
  test('reads standard input', async () => {
    const { stdout } = await python("import sys\nprint(input('? '))\nprint(sys.stdin.read())", {
      stdin: 'one\ntwo\nthree',
    });
    expect(stdout).toBe('? one\ntwo\nthree\n');
  });

  test('raises EOFError at the end of standard input', async () => {
    expect((await python('input()')).metadata.error?.type).toBe('EOFError');
  });

  test('creates temporary files and folders', async () => {
    const result = await python(code`
      import os, tempfile
      with tempfile.NamedTemporaryFile('w+') as f:
          f.write('hi'); f.flush(); f.seek(0)
          print(f.read(), os.path.dirname(f.name))
      with tempfile.TemporaryFile() as f:
          f.write(b'zz'); f.seek(0)
          print(f.read())
      with tempfile.TemporaryDirectory() as d:
          open(os.path.join(d, 'x'), 'w').close()
          print(os.listdir(d))
    `);
    expect(result.stderr).toBe('');
    expect(result.stdout).toBe("hi /tmp\nb'zz'\n['x']\n");
  });

  test('runs the functions of executors', async () => {
    const result = await python(code`
      import asyncio
      from concurrent.futures import ThreadPoolExecutor, as_completed
      def fail(): raise ValueError('x')
      with ThreadPoolExecutor(max_workers=4) as pool:
          print(list(pool.map(lambda n: n * n, range(4))))
          print(sorted(f.result() for f in as_completed([pool.submit(pow, 2, n) for n in range(3)])))
          print(repr(pool.submit(fail).exception()), pool.submit(len, 'abc').done())
      try: pool.submit(print)
      except RuntimeError as error: print(error)
      async def main():
          loop = asyncio.get_running_loop()
          print(await asyncio.to_thread(sum, [1, 2]), await loop.run_in_executor(None, len, 'ab'))
          print(await asyncio.gather(*(asyncio.to_thread(abs, n) for n in (-1, 2))))
          try: await asyncio.to_thread(fail)
          except ValueError as error: print('caught', error)
      asyncio.run(main())
    `);
    expect(result.stderr).toBe('');
    expect(result.stdout.split('\n')).toEqual([
      '[0, 1, 4, 9]',
      '[1, 2, 4]',
      "ValueError('x') True",
      'cannot schedule new futures after shutdown',
      '3 2',
      '[1, 2]',
      'caught x',
      '',
    ]);
  });

  test('stops a function of an executor at the fuel limit', async () => {
    const endless = code`
      from concurrent.futures import ThreadPoolExecutor
      def endless():
          while True: pass
      with ThreadPoolExecutor() as pool: pool.submit(endless)
    `;
    const { metadata } = await python(endless, { fuel_budget: 200_000_000 });
    expect(metadata.trap_reason).toBe('out_of_fuel');
  });

  test('derives keys with PBKDF2', async () => {
    // The first two are test vectors of RFC 6070 and RFC 7914.
    const result = await python(code`
      import hashlib
      print(hashlib.pbkdf2_hmac('sha1', b'password', b'salt', 2).hex())
      print(hashlib.pbkdf2_hmac('sha256', b'passwd', b'salt', 1, 64).hex())
      print(hashlib.pbkdf2_hmac('sha512', b'x' * 200, bytearray(b's'), 3, 5).hex())
    `);
    expect(result.stdout.split('\n')).toEqual([
      'ea6c014dc72d6f8ccd1ed92ace1d41f0d8de8957',
      '55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc49ca9cccf179b645991664b39d77ef317c71b845b1e30bd509112041d3a19783',
      '192f65e89d',
      '',
    ]);
  });

  test('computes RIPEMD-160', async () => {
    // The first two are test vectors of its authors.
    const result = await python(code`
      import hashlib, hmac
      print(hashlib.new('ripemd160').hexdigest())
      h = hashlib.new('ripemd160', b'1234567890' * 4)
      copy = h.copy()
      h.update(memoryview(b'1234567890' * 4))
      print(h.hexdigest(), h.name, h.digest_size, h.block_size)
      print(copy.hexdigest())
      print(hmac.new(b'key', b'x' * 200, 'ripemd160').hexdigest(), 'ripemd160' in hashlib.algorithms_available)
    `);
    expect(result.stdout.split('\n')).toEqual([
      '9c1185a5c5e9fc54612808977ee8f548b2258d31',
      '9b752e45573d4b39f4dbd3323cab82bf63326bfb ripemd160 20 64',
      '514332292c97bff45b044ac8b073e1b5dc14b773',
      'fd11fe44e5baf7fdf4e25d4b60a578d349a1cb4c True',
      '',
    ]);
  });

  test('allows as many nested calls as the recursion limit says, also in processes', async () => {
    const program = code`
      import sys
      def depth(n=1):
          try:
              return depth(n + 1)
          except RecursionError:
              return n
      print(depth(), end=' ')
      for limit in (50, 3000):
          sys.setrecursionlimit(limit)
          print(depth(), sys.getrecursionlimit(), end=' ')
    `;
    const expected = '999 49 50 2999 3000 ';
    expect((await python(program)).stdout).toBe(expected);
    const nested = 'import subprocess, sys; subprocess.run([sys.executable, "depth.py"])';
    expect((await python(nested, { files: { 'depth.py': program } })).stdout).toBe(expected);
  });

  test('stores a SQLite database in the workspace', async () => {
    const result = await python(code`
      import sqlite3
      with sqlite3.connect('data.db') as db:
          db.execute('create table t (n)')
          db.executemany('insert into t values (?)', [(n,) for n in range(5)])
      print(sqlite3.connect('data.db').execute('select sum(n) from t').fetchone())
    `);
    expect(result.stdout).toBe('(10,)\n');
    expect(result.files_created).toEqual(['data.db']);
  });

  test('knows all time zones and uses UTC as local time', async () => {
    const { stdout } = await python(code`
      from datetime import datetime
      from zoneinfo import ZoneInfo
      import time
      print(datetime(2026, 7, 1, 12, tzinfo=ZoneInfo('Europe/Berlin')).isoformat())
      print(time.tzname, time.localtime(0)[:6], time.mktime((2026, 1, 1, 0, 0, 0, 0, 0, 0)))
    `);
    expect(stdout).toBe("2026-07-01T12:00:00+02:00\n('UTC', 'UTC') (1970, 1, 1, 0, 0, 0) 1767225600.0\n");
  });

  test('returns the current time', async () => {
    const before = Date.now() / 1000;
    const { metadata } = await python(
      'import time, os\nopen("f", "w").close()\n[time.time(), os.stat("f").st_mtime]',
    );
    const [now, mtime] = metadata.result as [number, number];
    expect(now).toBeGreaterThanOrEqual(before - 1);
    expect(now).toBeLessThan(Date.now() / 1000 + 1);
    expect(Math.abs(mtime - now)).toBeLessThan(2);
  });

  test('sleeps without consuming fuel', async () => {
    const asleep = await python('import time\ntime.sleep(0.2)');
    const awake = await python('import time\ntime.sleep(0)');
    expect(asleep.duration_ms).toBeGreaterThanOrEqual(199);
    expect(asleep.fuel_consumed - awake.fuel_consumed).toBeLessThan(10_000);
  });

  test('writes and reads zip archives', async () => {
    const { stdout } = await python(code`
      import zipfile
      with zipfile.ZipFile('a.zip', 'w', zipfile.ZIP_DEFLATED) as z:
          z.writestr('x.txt', 'hello ' * 100)
      print(zipfile.ZipFile('a.zip').read('x.txt')[:5])
    `);
    expect(stdout).toBe("b'hello'\n");
  });

  test('compresses, hashes and computes', async () => {
    const { stdout, stderr } = await python(code`
      import bz2, decimal, fractions, hashlib, lzma, statistics, struct, zlib
      data = b'abc' * 1000
      print(all(m.decompress(m.compress(data)) == data for m in (bz2, lzma, zlib)))
      print(hashlib.sha256(b'').hexdigest()[:8], decimal.Decimal(1) / 3, fractions.Fraction(1, 3), statistics.mean([1, 2]))
    `);
    expect(stderr).toBe('');
    expect(stdout).toBe('True\ne3b0c442 0.3333333333333333333333333333 1/3 1.5\n');
  });

  test('delivers signals that a program sends to itself', async () => {
    const { stdout } = await python(code`
      import signal
      signal.signal(signal.SIGUSR1, lambda number, frame: print('got', number))
      signal.raise_signal(signal.SIGUSR1)
    `);
    expect(stdout).toBe('got 10\n');
  });

  test('has a null device', async () => {
    expect(
      (await python('import os\nopen(os.devnull, "w").write("x")\nopen(os.devnull).read()')).metadata.result,
    ).toBe('');
  });

  test('has devices with zeros and with random bytes, and a device that is full', async () => {
    const program = `
import os, stat
def read(path):
    with open(path, 'r+b', 0) as file:
        return file.read(4)
try:
    open('/dev/full', 'wb', 0).write(b'x')
    problem = None
except OSError as error:
    problem = error.errno
random = {read('/dev/random'), read('/dev/urandom'), os.urandom(4)}
[read('/dev/zero').hex(), read('/dev/full').hex(), len(random), problem,
 stat.S_ISCHR(os.stat('/dev/urandom').st_mode), os.access('/dev/zero', os.R_OK | os.W_OK)]`;
    expect((await python(program)).metadata.result).toEqual(['00000000', '00000000', 3, 51, true, true]);
  });
});

describe('a Python program', () => {
  test.each([
    ['connections', "import socket\nsocket.socket().connect(('127.0.0.1', 80))", 'OSError'],
    ['servers', 'import socket\nsocket.socket().listen()', 'OSError'],
    ['name resolution', "import socket\nsocket.getaddrinfo('localhost', 80)", 'gaierror'],
    ['web pages', "import urllib.request\nurllib.request.urlopen('http://localhost/')", 'URLError'],
    [
      'programs that do not exist',
      "import subprocess\nsubprocess.run(['no-such-program'])",
      'FileNotFoundError',
    ],
    ['fork', 'import os\nos.fork()', 'OSError'],
    ['callbacks of ctypes', 'import ctypes\nctypes.CFUNCTYPE(ctypes.c_int)(lambda: 1)', 'RuntimeError'],
    ['foreign calls of ctypes', 'import ctypes\nctypes.string_at(1024, 4)', 'OSError'],
    [
      'foreign calls of ctypes without the thread state',
      'import ctypes\ntry: ctypes.memset(1024, 0, 1)\nexcept SystemError as e: raise e.__cause__',
      'OSError',
    ],
    [
      'foreign calls of ctypes through an address',
      'import ctypes\ntry: ctypes.CFUNCTYPE(ctypes.c_int)(1)()\nexcept SystemError as e: raise e.__cause__',
      'OSError',
    ],
    ['a bridge to JavaScript', 'import js', 'ModuleNotFoundError'],
    ['a network of JavaScript', 'import pyodide.http', 'ModuleNotFoundError'],
    ['terminals', 'import os\nos.get_terminal_size()', 'OSError'],
  ])('gets an exception that it can catch for %s', async (_, program, type) => {
    const result = await python(
      `try:\n    exec(${JSON.stringify(program)})\nexcept Exception as e:\n    print(type(e).__name__)`,
    );
    expect(result).toMatchObject({ stdout: `${type}\n`, exit_code: 0 });
  });

  test('does not see the environment of the host', async () => {
    process.env['SANDBOX_TEST_SECRET'] = 'secret';
    const { stdout } = await python('import os\nprint(sorted(os.environ))');
    delete process.env['SANDBOX_TEST_SECRET'];
    expect(stdout).toBe(
      "['HOME', 'LANG', 'LOGNAME', 'PATH', 'PYTHONDONTWRITEBYTECODE', 'PYTHONHASHSEED', 'PYTHONHOME', 'PYTHONUTF8', 'SHELL', 'TZ', 'USER']\n",
    );
  });

  test('does not see the files of the host', async () => {
    const { stdout } = await python(
      "import os\nprint(sorted(os.listdir('/')), os.path.exists('/etc/passwd'))",
    );
    expect(stdout).toBe("['app', 'bin', 'data', 'lib', 'tmp', 'usr'] False\n");
  });
});
