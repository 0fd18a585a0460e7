/** Deterministic sessions: equal seeds and equal calls give equal output and fuel, also when the session is reopened between calls. */
import { createSandbox, diskStore, type RuntimeName, type Sandbox } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import { folderOfTest } from '../support/folders.ts';

const CALLS: Record<RuntimeName, readonly string[]> = {
  python: [
    'import os, random, time, uuid\nprint(time.time(), time.monotonic(), random.random(), os.urandom(5).hex())',
    "print(uuid.uuid4(), os.urandom(3).hex(), random.random())\nfor name in 'cab': open(name, 'w').close()",
    "time.sleep(3600)\nprint(time.time(), [os.stat(p).st_mtime for p in ('a', '/app', '/tmp')], os.listdir('.'))",
    'print(time.time(), time.perf_counter(), os.urandom(17).hex(), id(object()))\n1/0',
    'print(sum(range(10000)), time.time(), random.random(), uuid.uuid4())',
  ],
  javascript: [
    'console.log(Date.now(), Math.random(), crypto.randomUUID())',
    "for (const name of 'cab') std.open(name, 'w').close();\nconsole.log(Date.now(), Math.random())",
    "os.sleep(3600000); console.log(Date.now(), os.readdir('.')[0].join(), os.stat('a')[0].mtime, os.stat('/app')[0].mtime)",
    'console.log(Date.now(), crypto.randomUUID()); throw new Error("no")',
    'let n = 0; for (let i = 0; i < 10000; i++) n += i;\nconsole.log(n, Date.now(), Math.random())',
  ],
  bash: [
    'echo $EPOCHREALTIME $RANDOM $SRANDOM $SECONDS $$',
    'for name in c a b; do touch $name; done; echo $(date +%s) $RANDOM $(head -c 5 /dev/urandom | base64)',
    'sleep 3600; date +%s; ls -l; ls -ld /app /tmp; f() { echo $1 $RANDOM; }; x=(1 2 3)',
    'echo $EPOCHREALTIME $SECONDS $(f a) "$x"; false',
    'for ((i = 0; i < 100; i++)); do n=$((n + i)); done; echo $n $EPOCHREALTIME $(f b)',
  ],
};
const TIME: Record<Exclude<RuntimeName, 'bash'>, string> = {
  python: 'time.time() * 1000',
  javascript: '(os.sleep(1), Date.now())',
};
const CHANCE: Record<Exclude<RuntimeName, 'bash'>, string> = {
  python: 'os.urandom(8).hex() + str(random.random())',
  javascript: 'crypto.randomUUID() + Math.random()',
};

async function told(sandbox: Sandbox, code: string) {
  const { stdout, stderr, exit_code, fuel_consumed } = await sandbox.execute(code);
  return { stdout, stderr, exit_code, fuel_consumed };
}

describe.each(['python', 'javascript', 'bash'] as const)('a deterministic session: %s', (runtime) => {
  const policy = { deterministic: { seed: 7 } };
  const begin = () => createSandbox({ runtime, auto_persist_globals: true, policy });

  // guarantee: determinism
  test('repeats output and fuel call by call, even when it is closed and reopened between calls', async () => {
    await using live = await begin();
    await using twin = await begin();
    const options = { runtime, session_id: 'put-away', store: diskStore(folderOfTest()) };
    for (const code of CALLS[runtime]) {
      const expected = await told(live, code);
      expect(await told(twin, code)).toEqual(expected);
      // Only the first call passes the policy; the session stores it.
      await using resumed = await createSandbox({
        ...options,
        ...(code === CALLS[runtime][0] && { policy }),
      });
      expect(await told(resumed, code)).toEqual(expected);
    }
  });
});

describe.each(['python', 'javascript'] as const)('the clock of a deterministic session: %s', (runtime) => {
  const policy = { deterministic: { seed: 7 } };
  const begin = () => createSandbox({ runtime, auto_persist_globals: true, policy });

  test('advances its clock from call to call and never repeats random values', async () => {
    await using session = await begin();
    await session.execute(CALLS[runtime][0]!);
    let time = Date.parse('2026-01-01T00:00:00Z');
    const drawn = new Set<unknown>();
    for (let call = 0; call < 5; call++) {
      const result = (await session.execute(TIME[runtime])).metadata.result as number;
      expect(result).toBeGreaterThan(time);
      time = result;
      drawn.add((await session.execute(CHANCE[runtime])).metadata.result);
    }
    expect(drawn.size).toBe(5);
  });

  test('restores clock and random state on rollback and copies both to a fork', async () => {
    await using session = await begin();
    await session.execute(CALLS[runtime][0]!);
    await session.checkpoint('here');
    const look = runtime === 'python' ? 'print' : 'console.log';
    const code = `${look}(${TIME[runtime]}, ${CHANCE[runtime]})`;
    const first = await told(session, code);
    expect(await told(session, code)).not.toEqual(first);
    await session.rollback('here');
    await using fork = await session.fork();
    expect((await told(session, code)).stdout).toBe(first.stdout);
    expect((await told(fork, code)).stdout).toBe(first.stdout);
  });
});

test('the monotonic clock of a session never goes backwards across reopening', { tags: 'full' }, async () => {
  const options = { runtime: 'python', session_id: 'clock', store: diskStore(folderOfTest()) } as const;
  let time = Number.NEGATIVE_INFINITY;
  for (let call = 0; call < 4; call++) {
    await using sandbox = await createSandbox(options);
    const { metadata } = await sandbox.execute('import time\ntime.monotonic()');
    expect(metadata.result).toBeGreaterThan(time);
    time = metadata.result as number;
  }
});
