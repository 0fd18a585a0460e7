/** Deterministic mode: the same code and input give the same output and fuel, whatever the load of the machine. */
import { createSandbox, type PolicyInput, type RuntimeName } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import { runCliHere } from '../support/cli.ts';

const PROGRAMS: Record<RuntimeName, string> = {
  python: `
import datetime, os, random, secrets, tempfile, time, uuid
for name in ('c', 'a', 'b'): open(name, 'w').close()
print(random.random(), os.urandom(4).hex(), open('/dev/random', 'rb', 0).read(4).hex(), uuid.uuid4(), secrets.token_hex(4), hash('x'))
print(datetime.datetime.now().isoformat(), time.time(), time.monotonic(), time.perf_counter())
start = time.time(); time.sleep(3600); print(round(time.time() - start, 3))
print(os.listdir('.'), os.stat('a').st_mtime, tempfile.mktemp(), id(object()))
sum(range(100000))
print(time.time())
`,
  javascript: `
import * as os from 'os';
import * as std from 'std';
const random = std.open('/dev/urandom', 'r');
const bytes = new Uint8Array(2);
random.read(bytes.buffer, 0, 2);
console.log(bytes.join());
for (const name of ['c', 'a', 'b']) os.close(os.open(name, os.O_CREAT | os.O_WRONLY, 0o644));
console.log(Math.random(), Date.now(), new Date().toISOString(), os.readdir('.')[0].join(), os.stat('a')[0].mtime);
const start = Date.now(); os.sleep(3600000); console.log(Date.now() - start);
await new Promise((done) => setTimeout(done, 5000));
let n = 0; for (let i = 0; i < 100000; i++) n += i;
console.log(Date.now(), performance.now());
`,
  bash: `
touch c a b
echo $RANDOM $SRANDOM $EPOCHREALTIME $$ $(date +%s) $(head -c 4 /dev/urandom | od -An -tx1)
sleep 3600; date +%s; stat -c %y a
for i in 1 2 3; do (echo $i $RANDOM $BASHPID) & done; wait
python3 -c 'import random, time; print(random.random(), time.time())'
seq 1000 | sort -rn | md5sum; mktemp -u
`,
};

async function twice(runtime: RuntimeName, first: PolicyInput, second: PolicyInput = first) {
  const results = [];
  for (const policy of [first, second]) {
    await using sandbox = await createSandbox({ runtime, policy });
    results.push(await sandbox.execute(PROGRAMS[runtime]));
  }
  return results.map(({ stdout, stderr, fuel_consumed, exit_code, files_created }) => ({
    stdout,
    stderr,
    fuel_consumed,
    exit_code,
    files_created,
  }));
}

describe.each(['python', 'javascript'] as const)('deterministic mode: %s', (runtime) => {
  // guarantee: determinism
  test('repeats output and fuel exactly', async () => {
    const [one, two] = await twice(runtime, { deterministic: true });
    expect(one).toMatchObject({ exit_code: 0, stderr: '' });
    expect(two).toEqual(one);
    expect(one!.stdout).toMatch(/2026-01-01T0[0-9]/);
  });

  test('varies random values with the seed and starts the clock at start_time', async () => {
    const start_time = '2030-06-01T12:00:00Z';
    const [one, two] = await twice(
      runtime,
      { deterministic: { seed: 1, start_time } },
      { deterministic: { seed: 2, start_time } },
    );
    expect(two!.stdout).not.toBe(one!.stdout);
    expect(one!.stdout).toContain('2030-06-01T12:00:00');
    const again = await twice(runtime, { deterministic: { seed: 1, start_time } });
    expect(again[0]).toEqual(one);
  });

  test('is off by default', async () => {
    const program = { python: 'import os\nos.urandom(8).hex()', javascript: 'Math.random()' }[runtime];
    await using sandbox = await createSandbox({ runtime });
    const values = [await sandbox.execute(program), await sandbox.execute(program)].map(
      ({ metadata }) => metadata.result,
    );
    expect(values[0]).not.toEqual(values[1]);
  });

  test('advances the clock instead of sleeping, within the time limit', async () => {
    const forever = {
      python: 'import select\nselect.poll().poll()\nopen("f", "w").write("x")',
      javascript:
        "import * as os from 'os'; os.sleep(1e300); os.close(os.open('f', os.O_CREAT | os.O_WRONLY, 0o644));",
    }[runtime];
    await using sandbox = await createSandbox({ runtime, policy: { deterministic: true } });
    const result = await sandbox.execute(forever);
    expect([null, 'timeout']).toContain(result.metadata.trap_reason);
    for (const { modified_at } of await sandbox.listFiles()) expect(modified_at).toMatch(/^\d{4}-/);
    expect(await sandbox.execute('6 * 7')).toMatchObject({ metadata: { result: 42 } });
  });
});

describe('deterministic mode', () => {
  // guarantee: determinism
  test('repeats output and fuel of a shell program with its processes', async () => {
    const [one, two] = await twice('bash', { deterministic: { seed: 1 } });
    expect(one).toMatchObject({ exit_code: 0, stderr: '' });
    expect(two).toEqual(one);
    const [other] = await twice('bash', { deterministic: { seed: 2 } });
    expect(other!.stdout).not.toBe(one!.stdout);
  });

  test('decodes text with tables of its own', async () => {
    await using sandbox = await createSandbox({ runtime: 'javascript', policy: { deterministic: true } });
    const { metadata } = await sandbox.execute(`
      const bytes = Uint8Array.from({ length: 128 }, (_, i) => 128 + i);
      const decode = (label) => new TextDecoder(label).decode(bytes);
      const known = ['ibm866', 'koi8-u', 'windows-874', 'windows-1253', 'windows-1255', 'iso-8859-16', 'x-user-defined'];
      const words = { gbk: 'c4e3', gb18030: 'c4e3', big5: 'a741', sjis: '82b1', 'euc-jp': 'a4b3', 'iso-2022-jp': '1b24422433', 'euc-kr': 'c7d1' };
      const decoded = Object.entries(words).map(([label, hex]) => new TextDecoder(label).decode(Buffer.from(hex, 'hex')));
      [require('crypto').createHash('sha256').update(known.map(decode).join('|')).digest('hex'), decoded.join('')]`);
    expect(metadata.result).toEqual([
      // Of the tables in the Encoding Standard.
      'e7f0b0ac95264e0edaabcaba94046239605574e159c41739a878473db1cb930c',
      '你你你こここ한',
    ]);
  });

  const COLLECT: Record<Exclude<RuntimeName, 'bash'>, string> = {
    python: `
import asyncio
order = []
async def call(name):
    order.append(await tools.reply(name=name))
tasks = [asyncio.ensure_future(call(name)) for name in ('slow', 'fast', 'middle')]
while not all(task.done() for task in tasks):
    await asyncio.sleep(0)
order`,
    javascript: `
const order = [];
const calls = ['slow', 'fast', 'middle'].map((name) => tools.reply({ name }).then((value) => order.push(value)));
let isDone = false;
const poll = () => isDone || setImmediate(poll);
poll();
await Promise.all(calls);
isDone = true;
order`,
  };

  test.each(['python', 'javascript'] as const)(
    'delivers the answers of tools in the order of the calls: %s',
    async (runtime) => {
      // The first call is answered last.
      const answered: string[] = [];
      const waiting: (() => void)[] = [];
      const reply = ({ name }: { name: string }) =>
        new Promise((resolve) => {
          const answer = () => {
            answered.push(name);
            resolve(name);
          };
          if (name === 'slow') waiting.push(answer);
          else setImmediate(answer);
          if (name === 'middle') setTimeout(() => waiting.shift()?.(), 20);
        });
      await using sandbox = await createSandbox({
        runtime,
        policy: { deterministic: true },
        tools: { reply },
      });
      const { metadata, stderr } = await sandbox.execute(COLLECT[runtime]);
      expect([stderr, metadata.result]).toEqual(['', ['slow', 'fast', 'middle']]);
      expect(answered).toEqual(['fast', 'middle', 'slow']);
    },
  );
});

describe('run command', () => {
  test('accepts --deterministic and --seed', async () => {
    const result = async (...args: string[]) => {
      const run = ['run', '--json', ...args, '-c', 'import os; os.urandom(4).hex()'];
      const { metadata, fuel_consumed } = JSON.parse((await runCliHere(run, '')).stdout);
      return [metadata.result, fuel_consumed];
    };
    expect(await result('--deterministic')).toEqual(await result('--deterministic'));
    const seeded = await result('--seed', '5');
    expect(await result('--seed', '5')).toEqual(seeded);
    expect((await result('--seed', '6'))[0]).not.toEqual(seeded[0]);
  });
});

describe('performance.now()', () => {
  test('starts at 0 with the interpreter and continues in the next call', async () => {
    const started = performance.now();
    await using sandbox = await createSandbox({ runtime: 'javascript', auto_persist_globals: true });
    const times = [];
    for (let call = 0; call < 3; call++)
      times.push((await sandbox.execute('performance.now()')).metadata.result as number);
    const elapsed = performance.now() - started;
    expect([0, ...times, elapsed]).toEqual([0, ...times, elapsed].sort((a, b) => a - b));
  });

  test('is the virtual time in deterministic mode', async () => {
    await using sandbox = await createSandbox({ runtime: 'javascript', policy: { deterministic: true } });
    const { metadata } = await sandbox.execute(
      'const start = performance.now(); os.sleep(1000);\n[start < 50, Math.round(performance.now() - start), performance.timeOrigin + performance.now() - Date.now() < 1]',
    );
    expect(metadata.result).toEqual([true, 1000, true]);
  });
});
