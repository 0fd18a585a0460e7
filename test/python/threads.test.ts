/** Threads of a Python program take turns in one interpreter. */
import { createSandbox, type ExecuteOptions, memoryStore } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import { code, python } from '../support/sandbox.ts';

async function lines(program: string): Promise<string[]> {
  const result = await python(program);
  expect(result.stderr).toBe('');
  return result.stdout.trimEnd().split('\n');
}

describe('threads', () => {
  test('run when they start, until they wait, and the result says so', async () => {
    const { stdout, metadata } = await python(code`
      import threading
      def work(): print(threading.current_thread().name)
      thread = threading.Thread(target=work)
      thread.start()
      print('main')
      thread.join()
      print(thread.is_alive())
    `);
    expect(stdout).toBe('Thread-1 (work)\nmain\nFalse\n');
    expect(metadata.notes).toEqual([expect.stringContaining('took turns in one interpreter')]);
    expect((await python('import threading; threading.Lock()')).metadata.notes).toBeUndefined();
  });

  test('of an earlier call are not mentioned in the results of later ones', async () => {
    await using session = await createSandbox({ runtime: 'python', auto_persist_globals: true });
    const threaded =
      'import threading\nthread = threading.Thread(target=print)\nthread.start(); thread.join()';
    expect((await session.execute(threaded)).metadata.notes).toHaveLength(1);
    expect((await session.execute('1')).metadata.notes).toBeUndefined();
  });

  test('pass items through a bounded queue, the consumer first', async () => {
    const program = code`
      import queue, threading
      items, taken = queue.Queue(maxsize=2), []
      def consume():
          while (item := items.get()) is not None:
              taken.append(item)
      def produce():
          for i in range(10): items.put(i)
          items.put(None)
      threads = [threading.Thread(target=one) for one in (consume, produce)]
      for one in threads: one.start()
      for one in threads: one.join()
      print(taken)
    `;
    expect(await lines(program)).toEqual(['[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]']);
  });

  test('that are daemons serve a queue, share the work and end with the program', async () => {
    const program = code`
      import queue, threading, time
      tasks = queue.Queue()
      def work():
          while True:
              task = tasks.get()
              time.sleep(0.001)
              print(threading.current_thread().name[7], task)
              tasks.task_done()
      for _ in range(3): threading.Thread(target=work, daemon=True).start()
      for task in range(5): tasks.put(task)
      tasks.join()
      print('end')
    `;
    expect(await lines(program)).toEqual(['1 0', '2 1', '3 2', '1 3', '2 4', 'end']);
  });

  test('wait for events, conditions, semaphores, barriers and timers, and hold locks while they wait', async () => {
    const program = code`
      import threading, time
      count, lock = 0, threading.Lock()
      def add():
          global count
          for _ in range(20):
              with lock:
                  before = count
                  time.sleep(0)
                  count = before + 1
      def together(*functions):
          threads = [threading.Thread(target=one) for one in functions]
          for one in threads: one.start()
          for one in threads: one.join()
      together(add, add, add)
      print(count)
      event, condition, ready = threading.Event(), threading.Condition(), []
      def wait():
          event.wait()
          with condition:
              condition.wait_for(lambda: ready)
          print('released')
      def release():
          event.set()
          with condition:
              ready.append(1)
              condition.notify_all()
      together(wait, wait, release)
      inside, most, semaphore = 0, 0, threading.Semaphore(2)
      def enter():
          global inside, most
          with semaphore:
              inside += 1
              most = max(most, inside)
              time.sleep(0.001)
              inside -= 1
      together(*[enter] * 5)
      print(most)
      barrier, order = threading.Barrier(3), []
      def meet():
          order.append('before')
          barrier.wait()
          order.append('after')
      together(meet, meet, meet)
      print(order)
      threading.Timer(0.001, print, ['timer']).start()
      print('end')
    `;
    expect(await lines(program)).toEqual([
      '60',
      'released',
      'released',
      '2',
      "['before', 'before', 'before', 'after', 'after', 'after']",
      'end',
      'timer',
    ]);
  });

  test('let others run while they ask for a state again and again', async () => {
    const program = code`
      import queue, threading, time
      stop, flag, items = threading.Event(), False, queue.Queue()
      def ask():
          while not stop.is_set(): pass
      def sleep():
          while not flag: time.sleep(0.001)
      def take():
          while True:
              try: return items.get_nowait()
              except queue.Empty: pass
      threads = [threading.Thread(target=one) for one in (ask, sleep, take)]
      for one in threads: one.start()
      time.sleep(0.002)
      flag = True
      items.put(1)
      stop.set()
      while any(one.is_alive() for one in threads): pass
      print('end')
    `;
    expect(await lines(program)).toEqual(['end']);
  });

  test('have their own variables, context, exceptions and recursion depth', async () => {
    const program = code`
      import contextvars, decimal, sys, threading, time
      local, variable = threading.local(), contextvars.ContextVar('variable', default='none')
      local.name = 'main'
      variable.set('main')
      def depth(n): return 0 if n == 0 else 1 + depth(n - 1)
      def work():
          print(hasattr(local, 'name'), variable.get())
          local.name = variable.set('thread')
          decimal.getcontext().prec = 3
          try:
              raise KeyError('mine')
          except KeyError:
              time.sleep(0.001)
              print(repr(sys.exc_info()[1]), depth(900), decimal.Decimal(1) / 3)
      threads = [threading.Thread(target=work) for _ in range(2)]
      for one in threads: one.start()
      for one in threads: one.join()
      print(local.name, variable.get(), sys.exc_info()[1], decimal.Decimal(1) / 3 == decimal.Decimal('0.333'))
    `;
    const own = ['False none', 'False none', "KeyError('mine') 900 0.333", "KeyError('mine') 900 0.333"];
    expect(await lines(program)).toEqual([...own, 'main main None False']);
  });

  test('report their exceptions through threading.excepthook', async () => {
    const { stdout, stderr, exit_code } = await python(code`
      import threading
      def fail(): raise ValueError('broken')
      thread = threading.Thread(target=fail, name='worker')
      thread.start()
      threading.excepthook = lambda args: print(args.thread.name, repr(args.exc_value))
      thread = threading.Thread(target=fail, name='other')
      thread.start()
    `);
    expect(stdout).toBe("other ValueError('broken')\n");
    expect(stderr).toMatch(
      /^Exception in thread worker:\nTraceback .*\n {2}File "\/app\/main.py", line 2, in fail\n/,
    );
    expect(stderr).not.toContain('_sandbox');
    expect(exit_code).toBe(0);
  });

  test('with impossible durations, or whose exceptions cannot be reported, end alone', async () => {
    expect(
      await lines(code`
        import _thread, sys, threading, time
        def wait(action, seconds):
            try: action(seconds)
            except Exception as error: print(type(error).__name__)
        held = threading.Lock()
        held.acquire()
        for seconds in float('nan'), float('inf'):
            for action in time.sleep, lambda seconds: held.acquire(timeout=seconds):
                threading.Thread(target=wait, args=(action, seconds)).start()
                time.sleep(0.001)
        forever = threading.Thread(target=time.sleep, args=(threading.TIMEOUT_MAX,), daemon=True)
        forever.start()
        threading.Thread(target=forever.join, args=(float('inf'),), daemon=True).start()
        sys.unraisablehook = lambda args: sys.exit(3)
        _thread.start_new_thread(lambda: 1 / 0, ())
        time.sleep(0.001)
        print('main')
      `),
    ).toEqual(['ValueError', 'ValueError', 'OverflowError', 'OverflowError', 'main']);
  });

  test('can wait in functions that C code calls', async () => {
    const program = code`
      import queue, threading, time
      items = queue.Queue()
      def produce():
          for i in (3, 1, 2):
              time.sleep(0.001)
              items.put(i)
      threading.Thread(target=produce).start()
      print(sorted(range(3), key=lambda _: items.get()))
      def numbers():
          for i in range(3):
              time.sleep(0.001)
              yield i
      threads = [threading.Thread(target=lambda: print(sum(numbers()))) for _ in range(3)]
      for one in threads: one.start()
      for one in threads: one.join()
    `;
    expect(await lines(program)).toEqual(['[1, 2, 0]', '3', '3', '3']);
  });

  test('use the memory of threads that have ended', async () => {
    const program = code`
      import threading
      done = 0
      def work():
          global done
          done += 1
      for _ in range(3000):
          thread = threading.Thread(target=work)
          thread.start()
          thread.join()
      event = threading.Event()
      waiting = [threading.Thread(target=event.wait) for _ in range(300)]
      for one in waiting: one.start()
      event.set()
      for one in waiting: one.join()
      print(done, threading.active_count())
    `;
    const result = await python(program);
    expect(result.stdout).toBe('3000 1\n');
    expect(result.memory_used_bytes).toBeLessThan(64 * 1024 * 1024);
  });

  test('let others run while they use a lock again and again, or pass items to each other', async () => {
    const program = code`
      import queue, threading, time
      running, lock, there, back = True, threading.Lock(), queue.Queue(), queue.Queue()
      def use():
          while running:
              with lock: pass
      def send():
          while running:
              there.put(1)
              back.get()
          there.put(None)
      def answer():
          while there.get(): back.put(1)
      threads = [threading.Thread(target=one) for one in (use, send, answer)]
      for one in threads: one.start()
      time.sleep(0.001)
      running = False
      for one in threads: one.join()
      print('end')
    `;
    expect(await lines(program)).toEqual(['end']);
  });

  test('that ask for a state and work are not held up by a timer', async () => {
    const program = code`
      import threading
      stop = threading.Event()
      timer = threading.Timer(1e6, stop.set)
      timer.start()
      count = 0
      while count < 5000 and not stop.is_set(): count += 1
      timer.cancel()
      print(count, stop.is_set())
    `;
    expect(await lines(program)).toEqual(['5000 False']);
  });

  test('are cheap enough for ten thousand of them, also when they sleep', async () => {
    const { stdout, fuel_consumed, memory_used_bytes } = await python(code`
      import threading, time
      done = []
      threads = [threading.Thread(target=lambda n=n: (time.sleep(0.01), done.append(n))) for n in range(1000)]
      for one in threads: one.start()
      for one in threads: one.join()
      print(sorted(done) == list(range(1000)), threading.active_count())
    `);
    expect(stdout).toBe('True 1\n');
    expect(fuel_consumed / 1000).toBeLessThan(600_000);
    expect((memory_used_bytes - 30 * 2 ** 20) / 1000).toBeLessThan(20 * 1024);
  });

  test('interrupt the main thread, and report exceptions as the interpreter does', async () => {
    const { stdout, stderr } = await python(code`
      import _thread, threading, time, warnings
      threading.Timer(0.001, _thread.interrupt_main).start()
      try: time.sleep(1e6)
      except KeyboardInterrupt: print('interrupted')
      def fail(text): raise ValueError(text)
      _thread.start_new_thread(fail, ('broken',))
      time.sleep(0)
      try: type('Lock', (threading.Lock,), {})
      except TypeError as error: print(error)
      with warnings.catch_warnings(record=True) as caught:
          warnings.simplefilter('always')
          threading.Event().isSet()
      print(caught[0].category.__name__)
    `);
    expect(stdout).toBe(
      "interrupted\ntype '_thread.lock' is not an acceptable base type\nDeprecationWarning\n",
    );
    expect(stderr).toMatch(/^Exception ignored in thread started by <function fail at 0x[0-9a-f]+>:\n/);
    expect(stderr).toMatch(/line 5, in fail\n.*\n.*\nValueError: broken\n$/);
  });

  test('take the same turns in every run', async () => {
    const program = code`
      import random, threading, time
      log = []
      def work(name):
          for _ in range(5):
              time.sleep(random.Random(name).random() / 1000)
              log.append(name)
      threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
      for one in threads: one.start()
      for one in threads: one.join()
      log
    `;
    const [one, other] = [await python(program), await python(program)];
    expect(one.metadata.result).toEqual(other.metadata.result);
  });

  test('are stopped by the limits of the program', async () => {
    await using session = await createSandbox({ runtime: 'python', auto_persist_globals: true });
    await session.execute(code`
      import threading
      go, log = threading.Event(), []
      def wait():
          go.wait()
          log.append('continued')
      threading.Thread(target=wait).start()
      def within(function):
          thread = threading.Thread(target=function)
          thread.start()
          thread.join()
      def endless():
          while True: pass
      def sleep():
          import time
          time.sleep(1e6)
      def fill(): log.append(bytearray(2**29))
    `);
    const run = (text: string, options?: ExecuteOptions) => session.execute(text, options);
    const { metadata, stopped_at } = await run('within(endless)', { fuel_budget: 100_000_000 }).then(
      (result) => ({ ...result, ...result.metadata }),
    );
    expect(metadata.trap_reason).toBe('out_of_fuel');
    expect(stopped_at).toMatchObject({ function: 'endless' });
    const { metadata: late } = await run('within(sleep)', { timeout_seconds: 0.1 });
    expect(late.trap_reason).toBe('timeout');
    const filled = await run('within(fill); print("on")');
    expect(filled).toMatchObject({ stdout: 'on\n', exit_code: 0 });
    expect(filled.stderr).toMatch(/^Exception in thread [\s\S]*MemoryError\n$/);
    // The thread of the first call still waits, and no call waits for the thread that sleeps.
    const last = await run('go.set(); within(list); log');
    expect(last).toMatchObject({ exit_code: 0, metadata: { result: ['continued'] } });
  });

  test('repeat their turns and fuel in a deterministic session that is reopened between calls', async () => {
    const calls = [
      code`
        import queue, random, threading, time
        inbox, log = queue.Queue(), []
        def work(name):
            while (item := inbox.get()) is not None:
                time.sleep(random.random())
                log.append((name, item, time.time()))
        threads = [threading.Thread(target=work, args=(name,)) for name in range(3)]
        for one in threads: one.start()
        for item in range(6): inbox.put(item)
      `,
      'for item in range(6): inbox.put(item)\ntime.sleep(1); print(log)',
      'for _ in threads: inbox.put(None)\nfor one in threads: one.join()\nprint(log, threading.active_count())',
    ];
    const policy = { deterministic: { seed: 7 } };
    await using live = await createSandbox({ runtime: 'python', auto_persist_globals: true, policy });
    const store = memoryStore();
    for (const program of calls) {
      const { stdout, stderr, fuel_consumed } = await live.execute(program);
      await using reopened = await createSandbox({ runtime: 'python', session_id: 'one', store, policy });
      expect(await reopened.execute(program)).toMatchObject({ stdout, stderr: '', fuel_consumed });
      expect(stderr).toBe('');
    }
  });

  test('that wait for each other end with an error', async () => {
    const { metadata, stderr } = await python(code`
      import queue, threading
      first, second = queue.Queue(), queue.Queue()
      def work(): second.put(first.get())
      threading.Thread(target=work, daemon=True).start()
      second.get()
    `);
    expect(metadata.error).toMatchObject({ type: 'RuntimeError', line: 5 });
    expect(metadata.error?.message).toBe(
      'deadlock: the wait would never end: all threads wait for each other (MainThread, Thread-1 (work))',
    );
    expect(stderr).not.toContain('_sandbox');
  });

  test('that wait for each other after the program end with one error', async () => {
    const held = code`
      import threading
      lock = threading.Lock()
      lock.acquire()
      threading.Thread(target=lock.acquire, name='waiting').start()
    `;
    const ended = await python(held);
    const text = 'deadlock: the program has ended, but threads wait for each other (waiting)';
    expect(ended.stderr).toBe(`RuntimeError: ${text}\n`);
    expect(ended.metadata.error_guidance?.error_type).toBe('UnsupportedFeature');
    expect(ended.metadata.error).toMatchObject({ type: 'RuntimeError', message: text });
    const failed = await python(`${held}\n1 / 0`);
    expect(failed.metadata.error?.type).toBe('ZeroDivisionError');
    expect(failed.stderr).not.toContain('deadlock');
  });
});

describe('executors and processes', () => {
  test('run functions of executors and of asyncio while others wait', async () => {
    const program = code`
      import asyncio, threading, time
      from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed, wait
      class Worker:
          def square(self, n):
              time.sleep(0.002 * (3 - n))
              return n * n
      square = Worker().square
      with ThreadPoolExecutor(3) as pool:
          futures = [pool.submit(square, n) for n in range(3)]
          print([one.result() for one in as_completed(futures)], len(wait(futures).done))
          print(list(pool.map(square, range(3))))
      with ProcessPoolExecutor() as pool: print(list(pool.map(square, range(3), chunksize=2)))
      async def main():
          loop = asyncio.get_running_loop()
          order = []
          async def call(n): order.append(await asyncio.to_thread(square, n))
          await asyncio.gather(*(call(n) for n in range(3)))
          print(order, await loop.run_in_executor(None, square, 2))
      asyncio.run(main())
      loop = asyncio.new_event_loop()
      thread = threading.Thread(target=loop.run_forever)
      thread.start()
      async def later(n):
          await asyncio.sleep(0.001)
          return n
      print(asyncio.run_coroutine_threadsafe(later(7), loop).result())
      loop.call_soon_threadsafe(loop.stop)
    `;
    expect(await lines(program)).toEqual(['[4, 1, 0] 3', '[0, 1, 4]', '[0, 1, 4]', '[4, 1, 0] 4', '7']);
  });

  test('run the functions of multiprocessing', async () => {
    const program = code`
      import multiprocessing, time
      from multiprocessing import Array, Manager, Pipe, Pool, Process, Queue, Value
      from multiprocessing.pool import ThreadPool
      def square(n): return n * n
      def put(results, n): results.put((n, multiprocessing.current_process().name))
      def answer(end): end.send(end.recv() + 1)
      def add(number, numbers):
          with number.get_lock(): number.value += 1
          numbers[0] += 2
      if __name__ == '__main__':
          with Pool(multiprocessing.cpu_count()) as pool:
              print(pool.map(square, range(4)), pool.starmap(pow, [(2, 3)]), list(pool.imap_unordered(square, [3])))
              print(pool.apply_async(square, (5,)).get(timeout=1))
          with ThreadPool(2) as pool: print(pool.map(square, [1, 2]))
          results = Queue()
          processes = [Process(target=put, args=(results, n)) for n in range(2)]
          for one in processes: one.start()
          for one in processes: one.join()
          print([results.get() for _ in processes], [one.exitcode for one in processes])
          ours, theirs = Pipe()
          process = Process(target=answer, args=(theirs,))
          process.start()
          ours.send(1)
          print(ours.recv())
          number, numbers = Value('i', 0), Array('d', 2)
          process = Process(target=add, args=(number, numbers))
          process.start()
          process.join()
          print(number.value, numbers[:], Manager().dict(a=1))
          process = Process(target=time.sleep, args=(100,))
          process.start()
          process.terminate()
          process.join()
          print(process.exitcode, multiprocessing.active_children())
    `;
    expect(await lines(program)).toEqual([
      '[0, 1, 4, 9] [8] [9]',
      '25',
      '[1, 4]',
      "[(0, 'Process-2'), (1, 'Process-3')] [0, 0]",
      '2',
      "1 [2.0, 0.0] {'a': 1}",
      '-15 []',
    ]);
  });

  test('give pools the results, errors and time limits of CPython', async () => {
    const program = code`
      import multiprocessing, time
      from multiprocessing import Pool
      from multiprocessing.pool import ThreadPool
      def square(n): return n * n
      def fail(n):
          if n == 2: raise ValueError(f'no {n}')
          return n
      def slow(n):
          time.sleep(n)
          return n
      def name(_): return multiprocessing.current_process().name.split('Pool')[-1]
      def prepare(value): globals()['prepared'] = value
      def read(n): return prepared + n
      if __name__ == '__main__':
          with Pool(2) as pool:
              for call in (lambda: pool.map(fail, range(4)), lambda: pool.apply(fail, (2,)), lambda: list(pool.imap(fail, range(4)))):
                  try: print(call())
                  except ValueError as error: print(type(error).__name__, error)
              seen = []
              ok = pool.apply_async(square, (3,), callback=seen.append)
              bad = pool.map_async(fail, range(3), error_callback=lambda error: seen.append(str(error)))
              bad.wait()
              ok.wait()
              print(sorted(map(str, seen)), ok.ready(), ok.successful(), bad.successful())
              print(pool.map(square, []), pool.starmap(pow, [(2, 3), [3, 2]]), list(pool.imap(square, range(3))))
              iterator = pool.imap_unordered(slow, [0.3, 0.01])
              print(next(iterator), next(iterator))
              late = pool.apply_async(slow, (0.5,))
              try: late.get(timeout=0.01)
              except multiprocessing.TimeoutError as error: print('TimeoutError')
              iterator = pool.imap(slow, [0.2])
              try: iterator.next(timeout=0.01)
              except multiprocessing.TimeoutError: print('TimeoutError', next(iterator))
              try: late.successful()
              except ValueError as error: print('not ready')
          with Pool(1, prepare, (10,)) as pool: print(pool.map(read, range(3)), pool.map(name, range(1))[0][:6])
          with ThreadPool(2) as pool: print(pool.map(square, (1, 2)), pool.apply(lambda: multiprocessing.current_process().name))
          pool = Pool(2)
          done = pool.map_async(square, range(3))
          try: pool.join()
          except ValueError as error: print(error)
          pool.close()
          try: pool.apply(square, (1,))
          except ValueError as error: print(error)
          pool.join()
          print(done.get())
          started = time.time()
          with Pool(2) as pool: pool.map_async(slow, [30] * 4)
          left = Pool(1)
          left.apply_async(slow, (30,))
          print(time.time() - started < 10)
          for make in (lambda: Pool(0), lambda: Pool(1, 3)):
              try: make()
              except (ValueError, TypeError) as error: print(error)
          left.terminate()
          left.join()
    `;
    expect(await lines(program)).toEqual([
      'ValueError no 2',
      'ValueError no 2',
      'ValueError no 2',
      "['9', 'no 2'] True True False",
      '[] [8, 9] [0, 1, 4]',
      '0.01 0.3',
      'TimeoutError',
      'TimeoutError 0.2',
      'not ready',
      '[10, 11, 12] Worker',
      '[1, 4] MainProcess',
      'Pool is still running',
      'Pool not running',
      '[0, 1, 4]',
      'True',
      'Number of processes must be at least 1',
      'initializer must be a callable',
    ]);
  });
});
