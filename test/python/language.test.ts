import { describe, expect, test } from 'vitest';
import { code, python } from '../support/sandbox.ts';

describe('Python program', () => {
  test('prints and returns the value of its last expression', async () => {
    const result = await python("print('hello')\n6 * 7");
    expect(result).toMatchObject({ success: true, stdout: 'hello\n', stderr: '', exit_code: 0 });
    expect(result.metadata).toMatchObject({ trapped: false, result: 42, result_type: 'int' });
  });

  test.each([
    ['[1, 2.5, "x", None, {"a": True}]', [1, 2.5, 'x', null, { a: true }]],
    ["'☃' * 3", '☃☃☃'],
    ['(1, 2)', '(1, 2)'],
    ['{1: 2}', '{1: 2}'],
    ['2 ** 100', '1267650600228229401496703205376'],
    ["float('nan')", 'nan'],
    ["b'ab'", "b'ab'"],
  ])('returns %s as JSON data or as its repr', async (expression, expected) => {
    expect((await python(expression)).metadata.result).toEqual(expected);
  });

  test('has no result if it ends with None or a statement', async () => {
    expect((await python('print(1)')).metadata).not.toHaveProperty('result');
    expect((await python('x = 1')).metadata).not.toHaveProperty('result');
  });

  test('runs as __main__ from main.py in /app', async () => {
    const { stdout } = await python('import os, sys\nprint(__name__, __file__, sys.argv, os.getcwd())');
    expect(stdout).toBe("__main__ /app/main.py ['/app/main.py'] /app\n");
  });

  test('gets a traceback with its own lines and no frames of the runtime', async () => {
    const result = await python(code`
      def f(x):
          return x.nope

      f(1)
    `);
    expect(result.exit_code).toBe(1);
    expect(result.stderr).toBe(code`
      Traceback (most recent call last):
        File "/app/main.py", line 4, in <module>
          f(1)
          ~^^^
        File "/app/main.py", line 2, in f
          return x.nope
                 ^^^^^^
      AttributeError: 'int' object has no attribute 'nope'
    `);
    expect(result.metadata.error).toMatchObject({ type: 'AttributeError', line: 2 });
  });

  test('gets a SyntaxError with the line if it does not compile', async () => {
    const result = await python('x = 1\ny = = 2');
    expect(result.stderr).toBe(
      '  File "/app/main.py", line 2\n    y = = 2\n        ^\nSyntaxError: invalid syntax\n',
    );
    expect(result.metadata.error).toMatchObject({ type: 'SyntaxError', line: 2 });
  });

  test('can inspect its source, pickle its classes and use dataclasses', async () => {
    const { stdout } = await python(code`
      import inspect, pickle
      from dataclasses import dataclass
      @dataclass
      class Point:
          x: int
          y: int = 2
      def double(n):
          # a comment
          return 2 * n
      print(inspect.getsource(double), end='')
      print(pickle.loads(pickle.dumps(Point(1))) == Point(1))
    `);
    expect(stdout).toBe('def double(n):\n    # a comment\n    return 2 * n\nTrue\n');
  });

  test('supports from __future__ imports', async () => {
    const result = await python(
      'from __future__ import annotations\ndef f(x: Undefined): ...\nf.__annotations__',
    );
    expect(result.metadata.result).toEqual({ x: 'Undefined' });
  });

  test('imports modules from the workspace', async () => {
    const result = await python('import helper\nhelper.value', { files: { 'helper.py': 'value = 5' } });
    expect(result.metadata.result).toBe(5);
    expect(result.files_created).toEqual([]);
  });

  test('runs its exit handlers', async () => {
    const { stdout } = await python("import atexit\natexit.register(lambda: print('bye'))\nprint('main')");
    expect(stdout).toBe('main\nbye\n');
  });
});

describe('exit of a Python program', () => {
  test.each([
    ['import sys; sys.exit()', 0, ''],
    ['import sys; sys.exit(3)', 3, ''],
    ['import sys; sys.exit(-1)', 255, ''],
    ['import sys; sys.exit(2**70)', 255, ''],
    ["import sys; sys.exit('reason')", 1, 'reason\n'],
    ['import os; os._exit(7)', 7, ''],
    ['raise SystemExit(4)', 4, ''],
  ])('%s returns exit code %i', async (program, exitCode, stderr) => {
    const result = await python(program);
    expect(result).toMatchObject({ exit_code: exitCode, stderr, success: exitCode === 0 });
    expect(result.metadata.trapped).toBe(false);
  });

  test('os.abort is a trap', async () => {
    const result = await python("print('before')\nimport os; os.abort()");
    expect(result).toMatchObject({ success: false, exit_code: 134, stdout: 'before\n' });
    expect(result.metadata).toMatchObject({ trapped: true, trap_reason: 'unreachable' });
  });

  test('reports an uncaught exception in an exit handler', async () => {
    const result = await python('import atexit\natexit.register(lambda: 1/0)');
    expect(result.stderr).toContain('ZeroDivisionError');
  });
});

describe('asynchronous Python', () => {
  test('awaits at the top level', async () => {
    const result = await python("import asyncio\nx = await asyncio.sleep(0.01, 'v')\nx");
    expect(result.metadata.result).toBe('v');
  });

  test('runs asyncio.run, gather and timeouts', async () => {
    const { stdout, stderr } = await python(code`
      import asyncio
      async def one(n):
          await asyncio.sleep(0.01 * n)
          return n
      async def main():
          print(await asyncio.gather(one(2), one(1)))
          try:
              await asyncio.wait_for(one(1000), 0.02)
          except TimeoutError:
              print('timed out')
          queue = asyncio.Queue()
          asyncio.get_running_loop().call_later(0.01, queue.put_nowait, 'item')
          print(await queue.get())
      asyncio.run(main())
    `);
    expect(stderr).toBe('');
    expect(stdout).toBe('[2, 1]\ntimed out\nitem\n');
  });

  test('raises RuntimeError if nothing can wake the event loop', async () => {
    const result = await python('import asyncio\nawait asyncio.Event().wait()');
    expect(result.stderr).toContain('would wait forever');
  });

  test('names the tasks that wait if nothing can wake the event loop', async () => {
    const { stderr } = await python(
      'import asyncio\nasync def take(q):\n    await q.get()\nasync def main():\n    await take(asyncio.Queue())\nasyncio.run(main())',
    );
    expect(stderr).toContain('waiting: take (line 3)');
  });

  test('raises RuntimeError for a wait that only another thread could end', async () => {
    const { stdout, stderr, metadata } = await python(code`
      import queue, threading
      from concurrent.futures import Future
      held = threading.Lock()
      held.acquire()
      tasks = queue.Queue()
      tasks.put(1)
      for wait in (
          threading.Event().wait, queue.Queue().get, queue.SimpleQueue().get, tasks.join, held.acquire,
          threading.Semaphore(0).acquire, threading.Barrier(2).wait, Future().result,
      ):
          try:
              wait()
          except RuntimeError as error:
              print(error)
      held.acquire()
    `);
    expect(new Set(stdout.trim().split('\n')).size).toBe(1);
    expect(stdout.match(/deadlock: the wait would never end: there are no threads/g)).toHaveLength(8);
    expect(stderr).not.toContain('_sandbox');
    expect(metadata.error).toMatchObject({ type: 'RuntimeError', line: 15, raised: false });
  });

  test('waits for a lock, an event and a queue without using fuel', async () => {
    const waiting = await python(code`
      import queue, threading, time
      start = time.monotonic()
      held = threading.Lock()
      held.acquire()
      print(held.acquire(timeout=0.05), threading.Event().wait(0.05))
      for source in (queue.Queue(), queue.SimpleQueue()):
          try:
              source.get(timeout=0.05)
          except queue.Empty:
              print('empty')
      print(time.monotonic() - start >= 0.2)
    `);
    expect(waiting.stdout).toBe('False False\nempty\nempty\nTrue\n');
    expect(waiting.fuel_consumed).toBeLessThan(20_000_000);
  });

  test('gets tracebacks of awaited functions without frames of the runtime', async () => {
    const result = await python('async def f():\n    raise ValueError("z")\nawait f()');
    expect(result.stderr).not.toContain('asyncio');
    expect(result.metadata.error).toMatchObject({ type: 'ValueError', line: 2 });
  });
});
