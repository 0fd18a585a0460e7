/** Programs that call tools of the caller, to completion. One sandbox per language serves all tests. */

import { createSandbox, type Sandbox } from 'llm-wasm-sandbox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const aborted: string[] = [];
/** Called when the tool `never` starts. */
let onNever = () => {};
let running = 0;
let peak = 0;
let onSixteen = () => {};
const sixteen = new Promise<void>((resolve) => {
  onSixteen = resolve;
});
const tools = {
  weather: {
    description: 'The weather in a city.',
    inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    execute: async ({ city }: { city: string }) => ({ city, celsius: 21 }),
  },
  github: {
    'create-issue': async ({ title }: { title: string }) => ({ number: 7, title }),
    fail: async () => {
      throw new Error('no access to /home/user/key');
    },
  },
  echo: async (args: object) => args,
  'x-y': async () => ({ n: 1 }),
  /** Counts the calls that run at the same time. None ends before 16 of them have run at once. */
  busy: async () => {
    peak = Math.max(peak, ++running);
    if (running === 16) onSixteen();
    await sixteen;
    await new Promise((done) => setImmediate(done));
    running--;
  },
  value: async ({ kind }: { kind: string }) => VALUES[kind]!(),
  never: (_: object, { signal }: { signal: AbortSignal }) =>
    new Promise(() => {
      signal.addEventListener('abort', () => aborted.push('never'));
      onNever();
    }),
  ask: { needsApproval: true, execute: async () => 'done' },
};

const VALUES: Record<string, () => unknown> = {
  proto: () => JSON.parse('{"__proto__": {"polluted": 1}, "constructor": 2}'),
  surrogate: () => 'a\ud800b',
  deep: () => {
    let value: unknown = 1;
    for (let i = 0; i < 10_000; i++) value = [value];
    return value;
  },
  cyclic: () => {
    const value: { self?: unknown } = {};
    value.self = value;
    return value;
  },
  huge: () => 'x'.repeat(5 * 1024 * 1024),
  nan: () => Number.NaN,
};

let python: Sandbox;
let javascript: Sandbox;
beforeAll(async () => {
  python = await createSandbox({ runtime: 'python', tools });
  javascript = await createSandbox({ runtime: 'javascript', tools });
}, 60_000);
afterAll(async () => {
  await python.close();
  await javascript.close();
});

const output = async (sandbox: Sandbox, code: string, options = {}) => {
  const result = await sandbox.execute(code, options);
  return result.stdout + result.stderr;
};

const PYTHON: readonly (readonly [string, string, string])[] = [
  ['top-level await', `print((await tools.weather(city="Rome"))["celsius"])`, '21\n'],
  ['one dict as arguments', `print(await tools.echo({"a": 1}))`, "{'a': 1}\n"],
  [
    'namespaces and original names',
    `print((await tools.github.create_issue(title="x"))["number"], (await tools["github.create-issue"](title="y"))["title"])`,
    '7 y\n',
  ],
  [
    'asyncio.run with gather beyond the limit of calls in flight',
    `import asyncio
async def main():
    return await asyncio.gather(*(tools.echo(n=n) for n in range(40)))
print(sum(r["n"] for r in asyncio.run(main())))`,
    '780\n',
  ],
  [
    'TaskGroup',
    `import asyncio
async with asyncio.TaskGroup() as group:
    a = group.create_task(tools.echo(n=1)); b = group.create_task(tools.echo(n=2))
print(a.result()["n"] + b.result()["n"])`,
    '3\n',
  ],
  ['blocking calls', `def f(): return tools.call("weather", city="Oslo")\nprint(f()["city"])`, 'Oslo\n'],
  [
    'import',
    `import tools as host
from tools import weather, ToolError
print((await weather(city="Bern"))["city"], (await host["x-y"]())["n"], host is tools)`,
    'Bern 1 True\n',
  ],
  [
    'asyncio.run in a function and wait_for',
    `import asyncio
async def inner(): return await tools.echo(n=3)
def sync(): return asyncio.run(inner())
try:
    await asyncio.wait_for(tools.never(), 0.02)
except TimeoutError:
    print(sync()["n"])`,
    '3\n',
  ],
];

const JAVASCRIPT: typeof PYTHON = [
  ['top-level await', `console.log((await tools.weather({ city: 'Rome' })).celsius)`, '21\n'],
  [
    'namespaces and original names',
    `console.log((await tools.github.create_issue({ title: 'x' })).number, (await tools.github['create-issue']({ title: 'y' })).title)`,
    '7 y\n',
  ],
  [
    'Promise.all beyond the limit of calls in flight',
    `const all = await Promise.all(Array.from({ length: 40 }, (_, n) => tools.echo({ n })));
console.log(all.reduce((sum, { n }) => sum + n, 0))`,
    '780\n',
  ],
  [
    'import',
    `import { weather } from 'tools';\nconsole.log((await weather({ city: 'Bern' })).city, (await tools['x-y']({})).n)`,
    'Bern 1\n',
  ],
  ['require', `require('tools').weather({ city: 'Linz' }).then((r) => console.log(r.city))`, 'Linz\n'],
  [
    'timers while a call is unanswered',
    `const call = Promise.race([tools.never({}), new Promise((r) => setTimeout(r, 5, 'timer'))]);
console.log(await call); process.exit(0)`,
    'timer\n',
  ],
];

describe('tools in Python programs', () => {
  it.each(PYTHON)('support %s', async (_, code, expected) => {
    expect(await output(python, code)).toBe(expected);
  });

  it('return data about tools', async () => {
    const code = `print(search_tools("weather city")[0]["call"], describe_tool("weather")["pyi"].splitlines()[-1])`;
    expect(await output(python, code)).toBe('tools.weather async def weather(*, city: str) -> Any: ...\n');
  });

  it('fail with the corrected line if a result is used without await', async () => {
    expect(await output(python, `x = tools.weather(city="Ulm")["celsius"] + 1`)).toContain(
      'Write: x = (await tools.weather(city="Ulm"))["celsius"] + 1',
    );
    expect(await output(python, `def f():\n    return tools.weather(city="Ulm").x\nf()`)).toContain(
      `Write: return tools.call('weather', city="Ulm").x`,
    );
  });

  it('fail if a call is never awaited', async () => {
    const result = await python.execute(`tools.echo(a=1)`);
    expect(result.success).toBe(false);
    expect(result.stderr).toContain('Write: await tools.echo(a=1)');
    expect(result.metadata.tool_calls).toEqual([]);
  });

  it('reject arguments that JSON would change', async () => {
    const code = `cyclic = []; cyclic.append(cyclic)
for value in (float("nan"), 2**60, {1: 2}, {1, 2}, cyclic, object()):
    try:
        tools.echo(value=value)
    except ToolError as error:
        print(error.code, end=" ")`;
    expect(await output(python, code)).toBe('invalid_arguments '.repeat(6));
  });

  it('name the argument that JSON would change', async () => {
    const code = `for value in (float("nan"), [1, {"x": float("-inf")}], 2**53, {"deep": [10**5000]}, {1: 2}):
    try:
        tools.echo(value=value)
    except ToolError as error:
        print(error)`;
    const integer =
      'is an integer beyond 2**53, which JSON numbers cannot represent exactly; pass it as a string';
    expect((await output(python, code)).split('\n')).toEqual([
      "the argument 'value' is nan, which is not JSON data; pass a number, a string or None",
      "the argument 'value.1.x' is -inf, which is not JSON data; pass a number, a string or None",
      `the argument 'value' ${integer}`,
      `the argument 'value.deep.0' ${integer}`,
      "the argument 'value' has the key 1, which is not a string",
      '',
    ]);
  });

  it('reject positional arguments', async () => {
    const code = `try:
    await tools.echo(7)
except ToolError as error:
    print(error.code, error)`;
    expect(await output(python, code)).toBe(
      'invalid_arguments echo takes keyword arguments, as in tools.echo(name=value), or one dict\n',
    );
  });
});

describe('tools in JavaScript programs', () => {
  it.each(JAVASCRIPT)('support %s', async (_, code, expected) => {
    expect(await output(javascript, code)).toBe(expected);
  });

  it('return data about tools', async () => {
    const code = `console.log(search_tools('weather city')[0].call, describe_tool('weather').name)`;
    expect(await output(javascript, code)).toBe('tools.weather weather\n');
  });

  it.each([
    [
      `const t = tools.weather({ city: 'Ulm' }).celsius;`,
      `const t = (await tools.weather({ city: 'Ulm' })).celsius;`,
    ],
    [`const t = tools.echo({ a: ')' });\nconsole.log('' + t)`, `const t = await tools.echo({ a: ')' });`],
  ])('fail with the corrected line if a result is used without await: %s', async (code, corrected) => {
    expect(await output(javascript, code)).toContain(`Write: ${corrected}`);
  });

  it('reject arguments that JSON would change', async () => {
    const code = `const cyclic = {}; cyclic.self = cyclic;
for (const value of [NaN, 10n, new Map(), () => 1, cyclic])
  await tools.echo({ value }).catch((error) => console.log(error.code));`;
    expect(await output(javascript, code)).toBe('invalid_arguments\n'.repeat(5));
  });

  it('name the argument that JSON would change', async () => {
    const code = `await tools.echo({ list: [1, { amount: NaN }] }).catch((error) => console.log(error.message));`;
    expect(await output(javascript, code)).toBe(
      'the argument "list.1.amount": NaN is not JSON data; pass a string, an array or a plain object\n',
    );
  });
});

describe('errors of tools', () => {
  it('have a code and no details of the host', async () => {
    const code = `for name, args in (("github.fail", {}), ("weather", {}), ("wether", {}), ("ask", {}), ("a\\0b", {}), ("x" * 2000, {})):
    try:
        tools.call(name, args)
    except ToolError as error:
        print(error.code, "/home" in str(error), "weather?" in str(error))`;
    expect((await output(python, code)).split('\n')).toEqual([
      'failed False False',
      'invalid_arguments False False',
      'unknown_tool False True',
      'denied False False',
      'unknown_tool False False',
      'limit False False',
      '',
    ]);
  });

  it.each(['tools.wether(city="x")', 'tools["wether"]', 'tools.call("wether")', 'describe_tool("wether")'])(
    'suggest a name once: %s',
    async (code) => {
      const message = (await output(python, code)).trim().split('\n').at(-1)!;
      expect(message.match(/weather/g), message).toHaveLength(1);
      expect(message).toMatch(/^ToolError: |UnknownToolError: /);
      expect(message).toMatch(/Did you mean weather\?$/);
    },
  );

  it('point to the line of the call if they are not caught', async () => {
    const result = await javascript.execute('\nawait tools.github.fail({})');
    expect(result.metadata.error).toMatchObject({ type: 'ToolError', line: 2 });
    expect(result.metadata.tool_calls).toMatchObject([{ seq: 1, name: 'github.fail', status: 'error' }]);
  });
});

describe('results of tools', () => {
  it.each(['python', 'javascript'] as const)('are bounded data in %s', async (runtime) => {
    const python_ = `for kind in ("proto", "surrogate", "deep", "cyclic", "huge", "nan"):
    try:
        print(kind, str(tools.call("value", kind=kind)).encode("ascii", "replace").decode()[:60])
    except ToolError as error:
        print(kind, error.code)`;
    const javascript_ = `for (const kind of ['proto', 'surrogate', 'deep', 'cyclic', 'huge', 'nan'])
  try {
    const value = await tools.value({ kind });
    console.log(kind, Object.keys(Object(value)).slice(0, 2).join(), {}.polluted);
  } catch (error) { console.log(kind, error.code) }`;
    const text = await output(
      runtime === 'python' ? python : javascript,
      runtime === 'python' ? python_ : javascript_,
    );
    for (const kind of ['deep', 'cyclic', 'huge']) expect(text).toContain(`${kind} failed\n`);
    expect(text).toMatch(
      runtime === 'python' ? /^proto \{'__proto__': \{'polluted': 1\}/m : /^proto \S* undefined$/m,
    );
  });
});

describe('limits of tools', () => {
  it('stop waiting after max_wait_seconds, without using fuel or the time limit', async () => {
    const sandbox = await createSandbox({ runtime: 'javascript', tools, policy: { max_wait_seconds: 1.5 } });
    const result = await sandbox.execute('await tools.never({}).catch((e) => console.log(e.code))', {
      timeout_seconds: 1.2,
    });
    await sandbox.close();
    expect(result).toMatchObject({ success: true, stdout: 'timeout\n' });
    expect(result.metadata.tool_calls).toMatchObject([{ name: 'never', status: 'unknown' }]);
  });

  it('stop the calls of a cancelled run', async () => {
    aborted.length = 0;
    const execution = javascript.execute('await tools.never({})');
    onNever = () => execution.cancel();
    const result = await execution;
    onNever = () => {};
    expect(result.metadata.trap_reason).toBe('cancelled');
    expect(result.metadata.tool_calls).toMatchObject([{ status: 'unknown' }]);
    expect(aborted).toEqual(['never']);
  });

  it('apply to the number of calls', async () => {
    const sandbox = await createSandbox({ runtime: 'javascript', tools, policy: { max_tool_calls: 2 } });
    const code = `const codes = {};
for (let i = 0; i < 40; i++) await tools.echo({}).catch((e) => { codes[e.code] = (codes[e.code] ?? 0) + 1; });
console.log(JSON.stringify(codes))`;
    const result = await sandbox.execute(code);
    await sandbox.close();
    expect(result.stdout).toBe('{"limit":38}\n');
    expect(result.metadata.tool_calls!.filter(({ status }) => status === 'ok')).toHaveLength(2);
  });

  it('are 100 calls and 16 at a time by default', async () => {
    peak = 0;
    const code = `const calls = await Promise.allSettled(Array.from({ length: 102 }, () => tools.busy({})));
console.log(calls.map(({ reason }) => reason?.code ?? 'ok').join().replaceAll('ok,', ''))`;
    const result = await javascript.execute(code);
    expect(result.stdout).toBe('limit,limit\n');
    expect(result.metadata.tool_calls!.filter(({ status }) => status === 'ok')).toHaveLength(100);
    expect(peak).toBe(16);
  });

  // guarantee: tool-calls
  // proves: Arguments cost fuel in proportion to their bytes and members, whether they are accepted or not.
  it('include the fuel for arguments', async () => {
    const fuelOf = async (text: string) => {
      const code = `import _sandbox_tool_calls as calls
text = ${text}
calls.exchange('call\\n1\\n"echo"\\n' + text)`;
      return (await python.execute(code)).fuel_consumed;
    };
    const small = await fuelOf(`'{"a":1}'`);
    expect((await fuelOf(`'{"a":"' + 'x' * 1000000 + '"}'`)) - small).toBeGreaterThan(20_000_000);
    expect((await fuelOf(`'{"a":[' + '{},' * 30000 + '{}]}'`)) - small).toBeGreaterThan(30_000_000);
    expect((await fuelOf(`'x' * 1000000`)) - small).toBeGreaterThan(20_000_000);
  });

  // guarantee: tool-calls
  // proves: The worker rejects arguments beyond the limits, and the main thread receives only their beginning.
  it('are checked in the thread of the guest', async () => {
    const code = `import json, _sandbox_tool_calls as calls
calls.exchange('call\\n1\\n"echo"\\n{"a":[' + '{},' * 60000 + '{}]}')
print(json.loads(calls.exchange('wait\\n'))['message'])`;
    const { stdout, metadata } = await python.execute(code);
    expect(stdout).toBe('The arguments have more than 50,000 members and elements.\n');
    expect(metadata.tool_calls).toMatchObject([{ status: 'error', bytes_in: 200 }]);
  });

  it('apply to the size of arguments', async () => {
    const code = `await tools.echo({ text: 'x'.repeat(2 ** 21) }).catch((e) => console.log(e.code))`;
    expect(await output(javascript, code)).toMatch(/^(?:limit|invalid_arguments)\n$/);
  });
});

describe('approval of tool calls', () => {
  it('is decided by onApproval, and denied without it', async () => {
    const code = `console.log(await tools.ask({}).catch((e) => e.code))`;
    const onApproval = ({ name }: { name: string }) => name === 'ask';
    expect(await output(javascript, code, { onApproval })).toBe('done\n');
    expect(await output(javascript, code.replace('e.code', 'e.code + e.message'))).toMatch(
      /^denied.*because it has no session in which it could be stored\.$/m,
    );
    expect(await output(javascript, code, { onApproval: () => false })).toBe('denied\n');
  });
});

describe('metadata.tool_calls', () => {
  it('is absent without tools and lists the calls of a program that was stopped', async () => {
    const sandbox = await createSandbox({ runtime: 'javascript' });
    expect((await sandbox.execute('1')).metadata.tool_calls).toBeUndefined();
    const code = 'await tools.echo({ a: 1 }); for (;;) {}';
    const result = await sandbox.execute(code, { tools, fuel_budget: 20_000_000 });
    await sandbox.close();
    expect(result.metadata.trap_reason).toBe('out_of_fuel');
    expect(result.metadata.tool_calls).toMatchObject([
      { seq: 1, name: 'echo', arguments_preview: '{"a":1}', status: 'ok', bytes_in: 7 },
    ]);
  });
});
