/**
 * Attacks of programs that call tools: forged messages, call ids, answers and approvals, hostile arguments, and floods.
 * Python programs can use the channel to the host directly; JavaScript programs can only call the functions that use
 * it.
 */
import type { AttackTable, ToolAttack } from '../attack.ts';

/** Sends messages to the host and prints the ones that it accepted. */
const channel = (messages: string) => `
import _sandbox_tool_calls as calls
accepted = []
for message in ${messages}:
    try:
        calls.exchange(message)
        accepted.append(message[:40])
    except (OSError, ValueError):
        pass
print(accepted)`;

/** Prints the code of the error of a call, or its result. */
const pythonCall = (call: string) => `
try:
    print(${call})
except ToolError as error:
    print(error.code)`;
const javascriptCall = (call: string) =>
  `try { console.log(${call}); } catch (error) { console.log(error.code ?? error.name); }`;

const NAMES = [
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  '../echo',
  'danger\\0',
  'Danger',
  '',
];

const python: readonly ToolAttack[] = [
  {
    name: 'forged-message-kinds',
    callsTools: channel(
      String.raw`['approve\n1', 'resolve\n1\n{"approve":true}', 'answer\n1\n{"value":1}', 'tool_resume\n1', '__proto__\n1', 'constructor\n', 'call', 'call\n', '', '\0', '\n\n\n']`,
    ),
    expect: { stdout: '[]\n', metadata: { tool_calls: [] } },
  },
  {
    name: 'forged-call-ids',
    callsTools: channel(
      String.raw`[f'call\n{id}\n"echo"\n{{}}' for id in (0, -1, 1.5, 2**53, 2**64, 'NaN', 'Infinity', '1e400', '', 'x')]`,
    ),
    expect: { stdout: '[]\n', metadata: { tool_calls: [] } },
  },
  {
    name: 'repeated-call-id',
    callsTools: channel(
      String.raw`['call\n7\n"echo"\n{"n":1}', 'call\n7\n"danger"\n{}', 'call\n3\n"danger"\n{}']`,
    ),
    expect: { stdout: `['call\\n7\\n"echo"\\n{"n":1}']\n`, metadata: { tool_calls: [{ name: 'echo' }] } },
  },
  {
    name: 'id-of-withdrawn-call',
    callsTools: `import _sandbox_tool_calls as calls
calls.exchange('call\\n1\\n"danger"\\n{}')
calls.exchange('wait\\n50')
calls.exchange('withdraw\\n1\\napproved')
try:
    calls.exchange('call\\n1\\n"danger"\\n{}')
except OSError as error:
    print('refused')
print(calls.exchange('wait\\n'))`,
    expect: {
      stdout: 'refused\n{"status":"idle"}\n',
      metadata: { tool_calls: [{ status: /denied|unknown/ }] },
    },
  },
  {
    name: 'answers-its-own-approval',
    callsTools: `import asyncio, _sandbox_tool_calls as calls
task = asyncio.create_task(tools.danger())
await asyncio.sleep(0.05)
for call_id in list(calls.State.waiting):
    calls.deliver({'id': call_id, 'value': 'approved'})
print(await task)`,
    expect: {
      stdout: 'approved\n',
      metadata: { tool_calls: [{ name: 'danger', status: /pending|denied|unknown/ }] },
    },
  },
  {
    name: 'pretends-to-be-paused',
    callsTools: `import _sandbox_tool_calls as calls
import asyncio
calls.State.is_paused = True
calls.State.runner.get_loop().stop()
await asyncio.sleep(0)`,
    expect: { metadata: { trapped: false, tool_calls: [] } },
  },
  {
    name: 'pauses-for-withdrawn-calls',
    callsTools: `import _sandbox_tool_calls as calls
task = __import__('asyncio').create_task(tools.danger())
await __import__('asyncio').sleep(0.05)
calls.withdraw(1, 'gone')
await task`,
    expect: { metadata: { tool_calls: [{ name: 'danger', status: /denied|unknown/ }] } },
  },
  {
    name: 'patched-json-encoder',
    callsTools: `import _sandbox_tool_calls as calls, _sandbox_tools as made
made.encode_arguments = lambda *_: '{"n":"text","__proto__":{"polluted":1}}'
${pythonCall('await tools.echo(n=1)').trim()}
made.encode_arguments = calls.encode_arguments`,
    expect: { stdout: 'invalid_arguments\n', metadata: { tool_calls: [{ status: 'error' }] } },
  },
  {
    name: 'deep-arguments',
    callsTools: `import _sandbox_tool_calls as calls
calls.exchange('call\\n1\\n"echo"\\n{"n":' + '[' * 200000 + ']' * 200000 + '}')
print('invalid_arguments' in calls.exchange('wait\\n'))`,
    expect: { stdout: 'True\n' },
  },
  {
    name: 'many-members',
    callsTools: `import _sandbox_tool_calls as calls
calls.exchange('call\\n1\\n"echo"\\n{"n":[' + '0,' * 400000 + '0]}')
print('invalid_arguments' in calls.exchange('wait\\n'))`,
    expect: { stdout: 'True\n' },
  },
  {
    name: 'huge-message',
    callsTools: channel(`['call\\n1\\n"echo"\\n{"n":"' + 'x' * 30_000_000 + '"}']`),
    expect: { stdout: '[]\n', metadata: { tool_calls: [] } },
  },
  {
    name: 'large-arguments',
    callsTools: pythonCall('await tools.echo(n="x" * 2_000_000)'),
    expect: { stdout: 'invalid_arguments\n' },
  },
  {
    name: 'cyclic-arguments',
    callsTools: `loop = []\nloop.append(loop)${pythonCall('await tools.echo(n=loop)')}`,
    expect: { stdout: 'invalid_arguments\n' },
  },
  {
    name: 'names-of-other-objects',
    callsTools: `for name in ${JSON.stringify(NAMES)}:${pythonCall('tools.call(name)').replaceAll('\n', '\n    ')}`,
    expect: { stdout: 'unknown_tool\n'.repeat(NAMES.length) },
  },
  {
    name: 'call-flood',
    callsTools: `import asyncio
done = await asyncio.gather(*(tools.echo(n=i) for i in range(3000)), return_exceptions=True)
print(sum(isinstance(one, dict) for one in done), {one.code for one in done if isinstance(one, ToolError)})`,
    expect: { stdout: "50 {'limit'}\n" },
  },
  {
    name: 'result-flood',
    callsTools: `import asyncio
done = await asyncio.gather(*(tools.flood() for _ in range(40)), return_exceptions=True)
print({type(one).__name__ for one in done} <= {'str', 'ToolError', 'MemoryError'})`,
    policy: { memory_bytes: 192 * 1024 * 1024 },
    outcomes: ['finished', 'MemoryError', 'memory_limit', 'out_of_fuel'],
  },
  {
    name: 'answers-that-are-never-taken',
    callsTools: `import _sandbox_tool_calls as calls
refused = 0
for i in range(1, 60):
    try:
        calls.exchange(f'call\\n{i}\\n"flood"\\n{{}}')
    except OSError:
        refused += 1
print(refused)`,
    expect: { stdout: '43\n' },
  },
  {
    name: 'search-flood',
    callsTools: 'while True: search_tools("x" * 100000, 1000000)',
    policy: { fuel_budget: 100_000_000 },
    outcomes: ['out_of_fuel'],
  },
  {
    name: 'pending-flood',
    callsTools: `import asyncio
await asyncio.gather(*(tools.danger(text="x" * 100_000) for _ in range(40)), return_exceptions=True)`,
    expect: { metadata: { state: 'paused' } },
  },
];

const javascript: readonly ToolAttack[] = [
  {
    name: 'patched-built-ins',
    callsTools: `const { stringify } = JSON;
JSON.stringify = () => '{"approve":true,"n":"text"}';
Array.prototype.toJSON = () => ({ approve: true });
${javascriptCall('(await tools.echo({ n: 1 })).n')}
JSON.stringify = stringify;
delete Array.prototype.toJSON;`,
    expect: { stdout: '1\n', metadata: { tool_calls: [{ name: 'echo', status: 'ok' }] } },
  },
  {
    name: 'answers-its-own-approval',
    callsTools: `const { then } = Promise.prototype;
Promise.prototype.then = function (resolve) { return then.call(Promise.resolve('approved'), resolve); };
console.log(await Promise.race([tools.danger({}), 'approved']));
Promise.prototype.then = then;`,
    expect: {
      stdout: 'approved\n',
      metadata: { tool_calls: [{ name: 'danger', status: /pending|denied|unknown/ }] },
    },
  },
  {
    name: 'prototype-arguments',
    callsTools: [
      `JSON.parse('{"__proto__":{"polluted":1}}')`,
      '{ constructor: { prototype: { polluted: 1 } } }',
      'Object.create({ n: 1 }, { n: { get: () => ({ toString: null }), enumerable: true } })',
    ]
      .map((args) => javascriptCall(`await tools.echo(${args})`))
      .join('\n'),
    expect: { stdout: 'invalid_arguments\n'.repeat(3) },
  },
  {
    name: 'changing-arguments',
    callsTools: `let reads = 0;
const args = { toJSON() { return ++reads > 1 ? { n: 'text' } : { n: reads }; } };
console.log((await tools.echo(args)).n, reads);`,
    expect: { stdout: '1 1\n' },
  },
  {
    name: 'cyclic-arguments',
    callsTools: `const loop = {}; loop.n = loop;${javascriptCall('await tools.echo(loop)')}`,
    expect: { stdout: 'invalid_arguments\n' },
  },
  {
    name: 'deep-arguments',
    callsTools: `let deep = 0; for (let i = 0; i < 5000; i++) deep = [deep];${javascriptCall('await tools.echo({ n: deep })')}`,
    expect: { stdout: /^(invalid_arguments|RangeError|InternalError)\n$/ },
  },
  {
    name: 'large-arguments',
    callsTools: javascriptCall('await tools.echo({ n: "x".repeat(2e6) })'),
    expect: { stdout: 'invalid_arguments\n' },
  },
  {
    name: 'names-of-other-objects',
    callsTools: `for (const name of ${JSON.stringify(NAMES)}) ${javascriptCall('await tools.call(name, {})')}`,
    expect: { stdout: 'unknown_tool\n'.repeat(NAMES.length) },
  },
  {
    name: 'call-flood',
    callsTools: `const done = await Promise.allSettled(Array.from({ length: 3000 }, (_, n) => tools.echo({ n })));
console.log(done.filter(({ status }) => status === 'fulfilled').length, [...new Set(done.map(({ reason }) => reason?.code))].join());`,
    expect: { stdout: '50 ,limit\n' },
  },
  {
    name: 'result-flood',
    callsTools: `const done = await Promise.allSettled(Array.from({ length: 40 }, () => tools.flood({})));
console.log(done.length);`,
    policy: { memory_bytes: 64 * 1024 * 1024 },
    outcomes: ['finished', 'InternalError', 'memory_limit', 'out_of_fuel'],
  },
  {
    name: 'pending-flood',
    callsTools: `await Promise.allSettled(Array.from({ length: 40 }, () => tools.danger({ text: 'x'.repeat(1e5) })));`,
    expect: { metadata: { state: 'paused' } },
  },
  {
    name: 'pauses-in-a-callback',
    callsTools: `await new Promise((done) => setTimeout(() => tools.wait({}).then(done, done), 0)); console.log('end');`,
    expect: { metadata: { state: 'paused', pending: [{ name: 'wait', reason: 'suspended' }] } },
  },
];

export const TOOLS: AttackTable = { python, javascript };
