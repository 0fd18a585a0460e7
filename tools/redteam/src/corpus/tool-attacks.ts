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

/** Calls tools with texts of arguments that no encoder of the guest would write, and prints the codes or values. */
const rawCalls = (tool: string, texts: string) => `import json, _sandbox_tool_calls as calls
for number, text in enumerate(${texts}, 1):
    calls.exchange(f'call\\n{number}\\n"${tool}"\\n{text}')
    answer = json.loads(calls.exchange('wait\\n'))
    print(answer.get('code') or answer['value'])`;

/** Arguments that must be refused. */
const refusedTexts: readonly (readonly [name: string, text: string])[] = [
  ['infinity', `['{"n":1e999}']`],
  ['negative-infinity', `['{"n":-1e999}']`],
  ['nested-infinity', `['{"a":[1,{"n":1e400}]}']`],
  ['infinity-in-digits', `['{"n":' + '9' * 400 + '}']`],
  [
    'literals-of-other-languages',
    `['{"n":NaN}', '{"n":Infinity}', '{"n":-Infinity}', '{"n":0x10}', '{"n":1_000}', '{"n":1n}']`,
  ],
  [
    'integer-beyond-2-53',
    `['{"n":9007199254740993}', '{"n":-9007199254740993}', '{"n":12345678901234567891}']`,
  ],
  ['integer-beyond-2-53-in-a-list', `['{"a":[[1,12345678901234567891]]}']`],
  ['integer-beyond-2-53-after-a-text', `['{"t":"' + chr(92) * 2 + '","n":12345678901234567891}']`],
  ['too-many-empty-objects', `['{"a":[' + '{},' * 50000 + '{}]}']`],
  ['too-many-empty-lists', `['{"a":[' + '[],' * 50000 + '[]]}']`],
  ['too-many-keys', `['{' + ','.join(f'"{i}":0' for i in range(50001)) + '}']`],
  ['one-level-too-deep', `['{"a":' * 65 + '1' + '}' * 65]`],
  ['one-byte-too-long', `['{"a":"' + 'x' * (1024 * 1024 - 7) + '"}']`],
  ['bytes-instead-of-characters', `['{"a":"' + chr(0x20ac) * 400000 + '"}']`],
  [
    'prototypes-in-lists',
    `['{"a":[{"__proto__":1}]}', '{"a":[{"' + chr(92) + 'u005f_proto__":1}]}', '{"a":[{"constructor":{"prototype":1}}]}']`,
  ],
  ['not-an-object', `['null', '[]', '5', '"x"', '', '{} {}', '{"a":1,}']`],
];

/** Arguments of which a person must see exactly what the tool receives. */
const approvedTexts: readonly (readonly [name: string, text: string, shown: string])[] = [
  ['duplicate-keys', `'{"amount":1,"amount":1000}'`, '{"amount":1000}'],
  ['negative-zero', `'{"amount":-0}'`, '{"amount":0}'],
  ['escaped-keys', `'{"' + chr(92) + 'u0061mount":2}'`, '{"amount":2}'],
  ['blanks', `' ' * 5000 + '{"amount":3}'`, '{"amount":3}'],
  ['keys-in-another-order', `'{"b":1,"2":2,"1":3}'`, '{"1":3,"2":2,"b":1}'],
  ['digits-beyond-precision', `'{"amount":0.1000000000000000055}'`, '{"amount":0.1}'],
];

const refusedRows: ToolAttack[] = refusedTexts.map(([name, texts]) => ({
  name: `arguments-${name}`,
  callsTools: `texts = ${texts}\n${rawCalls('pay', 'texts')}\nprint(len(texts))`,
  expect: { stdout: /^(invalid_arguments\n)+\d+\n$/ },
}));
const approvedRows: ToolAttack[] = approvedTexts.map(([name, text, shown]) => ({
  name: `approval-shows-${name}`,
  callsTools: rawCalls('pay', `[${text}]`),
  expect: { stdout: `${shown}\n`, metadata: { tool_calls: [{ status: 'ok', arguments_preview: shown }] } },
}));

const python: readonly ToolAttack[] = [
  ...refusedRows,
  ...approvedRows,
  {
    name: 'values-that-json-would-change',
    callsTools: `for value in (float('nan'), float('inf'), [1, {'x': float('-inf')}], 2**53, -2**64, 10**5000, {1: 2}, b'x', {1, 2}):${pythonCall('await tools.pay(amount=value)').replaceAll('\n', '\n    ')}`,
    expect: { stdout: 'invalid_arguments\n'.repeat(9), metadata: { tool_calls: [] } },
  },
  {
    name: 'arguments-cost-fuel',
    callsTools: `import _sandbox_tool_calls as calls
text = '{"n":[' + '{},' * 40000 + '{}]}'
for i in range(1, 40):
    calls.exchange(f'call\\n{i}\\n"echo"\\n{text}')
    calls.exchange('wait\\n')`,
    policy: { fuel_budget: 150_000_000 },
    outcomes: ['out_of_fuel'],
  },
  {
    name: 'rejected-arguments-cost-fuel',
    callsTools: `import _sandbox_tool_calls as calls
text = 'x' * 1000000
for i in range(1, 40):
    calls.exchange(f'call\\n{i}\\n"echo"\\n{text}')
    calls.exchange('wait\\n')`,
    policy: { fuel_budget: 150_000_000 },
    outcomes: ['out_of_fuel'],
  },
  {
    name: 'large-arguments-side-by-side',
    callsTools: `import asyncio
done = await asyncio.gather(*(tools.pay(text="x" * 900_000) for _ in range(16)), return_exceptions=True)
print({type(one).__name__ for one in done})`,
    policy: { fuel_budget: 5_000_000_000 },
    expect: { stdout: "{'str'}\n" },
  },
  {
    name: 'withdrawn-calls-still-count',
    callsTools: `import asyncio
for _ in range(3):
    tasks = [asyncio.create_task(tools.slow()) for _ in range(16)]
    await asyncio.sleep(0.005)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)`,
    expect: { metadata: { trapped: false } },
  },
  {
    name: 'withdrawn-messages-still-count',
    callsTools: `import _sandbox_tool_calls as calls
for number in range(1, 49):
    calls.exchange(f'call\\n{number}\\n"slow"\\n{{}}')
    calls.exchange('wait\\n1')
    calls.exchange(f'withdraw\\n{number}\\nno')`,
    expect: { metadata: { trapped: false } },
  },
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
    name: 'values-that-json-would-change',
    callsTools: [
      'NaN',
      '-Infinity',
      '[1, { x: NaN }]',
      '{ toJSON: () => NaN }',
      '10n',
      'Symbol()',
      'new Map()',
    ]
      .map((value) => javascriptCall(`await tools.pay({ amount: ${value} })`))
      .join('\n'),
    expect: { stdout: 'invalid_arguments\n'.repeat(7), metadata: { tool_calls: [] } },
  },
  {
    name: 'approval-shows-what-the-tool-receives',
    callsTools: `console.log(await tools.pay({ zero: -0, none: undefined, big: 2 ** 60, text: '\\ud800', get amount() { return 7; } }));`,
    expect: { stdout: '{"zero":0,"big":1152921504606847000,"text":"\\ud800","amount":7}\n' },
  },
  {
    name: 'large-arguments-side-by-side',
    callsTools: `const done = await Promise.allSettled(Array.from({ length: 12 }, () => tools.pay({ list: new Array(15000).fill(0) })));
console.log([...new Set(done.map(({ status }) => status))].join());`,
    policy: { fuel_budget: 5_000_000_000 },
    expect: { stdout: 'fulfilled\n' },
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
