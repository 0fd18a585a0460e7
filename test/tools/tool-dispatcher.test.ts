import { describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { ToolDispatcher } from '../../packages/core/src/tools/tool-dispatcher.ts';
import { ToolError } from '../../packages/core/src/tools/tool-error.ts';
import type { ToolDispatcherOptions } from '../../packages/core/src/tools/tool-protocol.ts';
import {
  type ToolContext,
  type ToolDefinition,
  Toolset,
  type ToolsOption,
} from '../../packages/core/src/tools/toolset.ts';

function start(tools: ToolsOption, options: Partial<ToolDispatcherOptions> = {}) {
  const run = new ToolDispatcher(Toolset.from(tools), { cannotPause: 'it has no session', ...options });
  let id = 0;
  const call = (name: string, args: unknown = {}) =>
    run.call({ id: ++id, name, argumentsJson: typeof args === 'string' ? args : JSON.stringify(args) });
  return { run, call };
}

const never = () => new Promise(() => {});
/** Runs until its signal is aborted. */
const untilStopped = (_: unknown, { signal }: ToolContext) =>
  new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });

describe('tool calls', () => {
  // guarantee: tool-calls
  // proves: The arguments of a tool call are validated before the tool is called, and the result is returned as JSON.
  it('validate arguments, call the tool and return its result as JSON', async () => {
    const execute = vi.fn(async ({ n }: { n: number }) => ({
      twice: n * 2,
      when: new Date(0),
      none: undefined,
    }));
    const { run, call } = start(
      { twice: { inputSchema: z.object({ n: z.coerce.number() }), execute } },
      { sessionId: 's' },
    );
    expect(await call('twice', { n: '4' })).toEqual({
      type: 'value',
      json: '{"twice":8,"when":"1970-01-01T00:00:00.000Z"}',
    });
    expect(execute).toHaveBeenCalledWith({ n: 4 }, expect.objectContaining({ seq: 1, session_id: 's' }));
    expect(await call('twice', { n: {} })).toMatchObject({ type: 'error', code: 'invalid_arguments' });
    expect(execute).toHaveBeenCalledTimes(1);
    expect(run.records).toEqual([
      expect.objectContaining({
        seq: 1,
        name: 'twice',
        arguments_preview: '{"n":"4"}',
        status: 'ok',
        bytes_in: 9,
        bytes_out: 45,
      }),
      expect.objectContaining({ seq: 2, status: 'error', bytes_out: 0 }),
    ]);
  });

  // guarantee: tool-calls
  // proves: Tool calls with invalid names or arguments are rejected.
  it.each<[string, string, string, string]>([
    ['an unknown name', 'weathr', '{}', 'There is no tool "weathr". Did you mean weather?'],
    ['text that is not JSON', 'weather', '{', 'not valid JSON'],
    ['a list', 'weather', '[]', 'must be an object with a property for each argument'],
    ['a key that changes prototypes', 'weather', '{"a":[{"__proto__":{"x":1}}]}', 'the key "__proto__"'],
    [
      'a constructor with a prototype',
      'weather',
      '{"constructor":{"prototype":{}}}',
      'the key "constructor"',
    ],
    [
      'an integer that would be rounded',
      'weather',
      '{"id":12345678901234567891}',
      'The number 12345678901234567891 at "id" cannot be represented exactly',
    ],
    [
      'a negative integer in a list',
      'weather',
      '{"x\\"":{"1":2},"list":[1,{"id":[0,-12345678901234567891]}]}',
      'at "list.1.id.1" cannot be represented exactly',
    ],
    ['infinity', 'weather', '{"a":[1,{"amount":1e999}]}', 'The number at "a.1.amount" is too large'],
    ['negative infinity', 'weather', '{"amount":-1e999}', 'The number at "amount" is too large'],
    ['NaN', 'weather', '{"amount":NaN}', 'not valid JSON'],
    ['deep data', 'weather', `{"a":${'['.repeat(100)}${']'.repeat(100)}}`, 'nested more than 64 levels deep'],
    ['many members', 'weather', `{"a":[${'0,'.repeat(50_000)}0]}`, 'more than 50,000 members'],
    ['large arguments', 'weather', `{"a":"${'x'.repeat(1024 * 1024)}"}`, 'the limit is 1 MiB'],
  ])('reject %s', async (_, name, json, message) => {
    const execute = vi.fn();
    const { run, call } = start({ weather: { execute } });
    const answer = await call(name, json);
    expect(answer).toMatchObject({ type: 'error', message: expect.stringContaining(message) });
    expect(execute).not.toHaveBeenCalled();
    expect(run.records).toMatchObject([{ status: 'error' }]);
    expect(run.records[0]!.arguments_preview.length).toBeLessThanOrEqual(200);
  });

  // guarantee: tool-calls
  it('are recorded before the tool is called', async () => {
    const recorded: unknown[] = [];
    const { run, call } = start({ write: async () => void recorded.push(...run.records) });
    await call('write', { id: 7 });
    expect(recorded).toMatchObject([
      { seq: 1, name: 'write', status: 'unknown', arguments_preview: '{"id":7}' },
    ]);
    expect(run.records).toMatchObject([{ status: 'ok' }]);
  });

  it('accept large integers that are exact, and digits in texts', async () => {
    const { call } = start({ echo: async (args: unknown) => args });
    const json = '{"a":100000000000000000000,"b":"12345678901234567891","c":-9007199254740991,"d":1.5e300}';
    expect(await call('echo', json)).toMatchObject({ type: 'value' });
  });

  // guarantee: approval
  // proves: Approval, record and call use the same arguments, whatever the text of the program is.
  it('use one form of the arguments for the approval, the record and the call', async () => {
    const seen: unknown[] = [];
    const execute = async (args: unknown) => void seen.push(args);
    const { run, call } = start(
      { pay: { needsApproval: true, execute } },
      {
        onApproval: ({ arguments: args }) => {
          seen.push(args);
          return true;
        },
      },
    );
    await call('pay', ' {"amount":1, "zero":-0, "amount":1000, "text":"\\u0041", "n":6.02e23} ');
    const args = { amount: 1000, zero: 0, text: 'A', n: 6.02e23 };
    expect(seen).toEqual([args, args]);
    expect(Object.is((seen[1] as { zero: number }).zero, 0)).toBe(true);
    expect(run.records).toMatchObject([
      { arguments_preview: '{"amount":1000,"zero":0,"text":"A","n":6.02e+23}' },
    ]);
  });

  const cyclic: unknown[] = [];
  cyclic.push(cyclic);
  let laughs: unknown = 'ha';
  for (let i = 0; i < 40; i++) laughs = [laughs, laughs];
  // guarantee: tool-calls
  // proves: A result that is not JSON data is rejected.
  it.each<[string, unknown, string]>([
    ['cyclic data', cyclic, 'nested more than 64 levels deep, or cyclic'],
    ['data that multiplies', laughs, 'more than'],
    ['NaN', { a: Number.NaN }, 'contains NaN in "a"'],
    ['a BigInt', 5n, 'a bigint'],
    ['a function', { f: () => 1 }, 'a function in "f"'],
    ['bytes', Buffer.from('x'), 'Return it as base64 text'],
    ['a Map', new Map(), 'a Map or Set'],
    ['too many bytes', 'ä'.repeat(2 * 1024 * 1024 + 1), 'larger than 4 MiB'],
    ['a sparse array', new Array(4_000_000_000), 'more than 200,000'],
  ])('fail for a result that is %s', async (_, value, message) => {
    const { run, call } = start({ bad: async () => value });
    expect(await call('bad')).toMatchObject({
      type: 'error',
      code: 'failed',
      message: expect.stringContaining(message),
    });
    expect(run.records).toMatchObject([{ status: 'error' }]);
  });

  it('fail for a result that does not match the output schema', async () => {
    const outputSchema = { type: 'object', required: ['a'] };
    const { call } = start({ bad: { outputSchema, execute: async () => ({ b: 1 }) } });
    expect(await call('bad')).toMatchObject({
      code: 'failed',
      message: 'The result of bad does not match its schema: a: is required',
    });
  });

  // guarantee: tool-calls
  // proves: A result that is too large, too deep or cyclic is rejected before it is checked against its schema.
  it.each<[string, unknown, string]>([
    ['cyclic data', cyclic, 'nested more than 64 levels deep, or cyclic'],
    ['data that multiplies', laughs, 'more than'],
    ['a long text', 'x'.repeat(5 * 1024 * 1024), '4 MiB'],
    ['a long name', { ['x'.repeat(5 * 1024 * 1024)]: 1 }, '4 MiB'],
    ['bytes', new Uint8Array(5 * 1024 * 1024), '4 MiB'],
    ['a sparse array', new Array(4_000_000_000), 'more than 200,000'],
  ])('do not check the output schema for a result that is %s', async (_, value, message) => {
    let checks = 0;
    const outputSchema = z.unknown().refine(() => ++checks > 0);
    const { call } = start({ bad: { outputSchema, execute: async () => value } });
    expect(await call('bad')).toMatchObject({ code: 'failed', message: expect.stringContaining(message) });
    expect(checks).toBe(0);
  });

  it('return what the output schema converts', async () => {
    const outputSchema = z.map(z.string(), z.bigint()).transform((map) => [...map.keys()]);
    const { call } = start({ names: { outputSchema, execute: async () => new Map([['a', 1n]]) } });
    expect(await call('names')).toEqual({ type: 'value', json: '["a"]' });
  });

  // guarantee: tool-calls
  // proves: Errors of tools are reported without stack traces or host paths.
  it('report errors without stack and paths of the host', async () => {
    const { call } = start({
      plain: async () => {
        throw new Error(`no city\n    at secret (${process.cwd()}/x.ts:1:1)`);
      },
      file: async () => {
        const { readFile } = await import('node:fs/promises');
        return readFile('/root/secrets/token.txt/x');
      },
      url: async () => {
        throw new Error(
          'GET https://api.example/home/user/x failed, see /home/ada/log and C:\\Users\\Ada\\x',
        );
      },
      own: async () => {
        throw new ToolError('The quota /home/x is used up.', 'limit');
      },
      strange: async () => {
        throw {
          get message() {
            throw new Error('trap');
          },
        };
      },
    });
    expect(await call('plain')).toEqual({ type: 'error', code: 'failed', message: 'no city' });
    expect(JSON.stringify(await call('file'))).not.toContain('secrets');
    expect(await call('url')).toMatchObject({
      message: 'GET https://api.example/home/user/x failed, see <path> and <path>',
    });
    expect(await call('own')).toEqual({
      type: 'error',
      code: 'limit',
      message: 'The quota /home/x is used up.',
    });
    expect(await call('strange')).toMatchObject({
      code: 'failed',
      message: 'The tool failed without a message.',
    });
  });

  // guarantee: tool-calls
  // proves: A path of the host is removed from an error completely, and nothing else is.
  it.each<[string, string, string | undefined, string]>([
    [
      'a path below the working directory',
      `open ${process.cwd()}/clients/acme/keys.pem: denied`,
      undefined,
      'open <path>: denied',
    ],
    [
      'a quoted path with blanks',
      `open '${process.cwd()}/My Clients/acme (1).pem' failed`,
      undefined,
      "open '<path>' failed",
    ],
    ['a quoted path in a known folder', 'stat "/home/ada/a b/c" failed', undefined, 'stat "<path>" failed'],
    [
      'a short name',
      "config: the configuration in 'config' is reconfigured",
      'config',
      "<path>: the configuration in '<path>' is reconfigured",
    ],
    ['nothing of a sibling folder', 'see /elsewhere/app-old', '/elsewhere/app', 'see /elsewhere/app-old'],
    ['a URL of a file', 'import file:///home/ada/x.js failed', undefined, 'import <path> failed'],
    ['several paths', 'rename /tmp/a/b -> /var/c d', undefined, 'rename <path> -> <path> d'],
    ['characters of regular expressions', 'open a(b)+[c].txt, failed', 'a(b)+[c].txt', 'open <path>, failed'],
  ])('hide %s in errors', async (_, message, path, expected) => {
    const { call } = start({
      fail: async () => {
        throw Object.assign(new Error(message), { path });
      },
    });
    expect(await call('fail')).toMatchObject({ message: expected });
  });

  it('take the last value of an async iterable', async () => {
    const { call } = start({
      stream: async function* () {
        yield 1;
        yield 2;
      },
    });
    expect(await call('stream')).toEqual({ type: 'value', json: '2' });
  });
});

describe('limits of tool calls', () => {
  // guarantee: tool-calls
  // proves: The number of tool calls is limited per run and per tool.
  it('count calls per run and per tool', async () => {
    const tools = { a: async () => 1, b: { execute: async () => 1, maxCalls: 1 } };
    const { run, call } = start(tools, { limits: { max_calls: 4 } });
    await call('b');
    expect(await call('b')).toMatchObject({ code: 'limit', message: 'A run may call b at most 1 time.' });
    await call('a');
    await call('missing');
    expect(await call('a')).toMatchObject({
      code: 'limit',
      message: 'The run has reached its limit of 4 tool calls.',
    });
    expect(run.records).toHaveLength(4);
  });

  // guarantee: tool-calls
  // proves: The limits of a resumed execution include the calls from before the pause.
  it.each([
    ['its path', 'get-user', 'get_user'],
    ['a long name', `${'n'.repeat(120)}.${'m'.repeat(120)}`, `${'n'.repeat(120)}.${'m'.repeat(120)}`],
  ])('count calls of a tool by %s in a resumed execution', async (_, name, alias) => {
    const limited = { execute: async () => 1, maxCalls: 2 };
    const [first = '', second] = name.split('.');
    const tools = { [first]: second === undefined ? limited : { [second]: limited } };
    const { run, call } = start(tools);
    expect(await call(alias)).toMatchObject({ type: 'value' });
    expect(run.records).toMatchObject([{ name }]);
    // Records of older executions can contain the name that the program used.
    const records = [...run.records, { ...run.records[0]!, seq: 2, name: alias }];
    const resumed = start(tools, { earlier: { records, pending: [] } });
    expect(await resumed.call(alias)).toMatchObject({ code: 'limit' });
    expect(await resumed.call(name)).toMatchObject({ code: 'limit' });
  });

  // guarantee: tool-calls
  // proves: Tool calls above the limit on concurrent calls are queued.
  it('queue calls above the number in flight', async () => {
    let running = 0;
    let most = 0;
    const slow = async ({ i }: { i: number }) => {
      most = Math.max(most, ++running);
      await new Promise((next) => setTimeout(next, 5));
      running--;
      return i;
    };
    const { call } = start({ slow }, { limits: { max_in_flight: 3 } });
    const answers = await Promise.all(Array.from({ length: 10 }, (_, i) => call('slow', { i })));
    expect(answers).toEqual(Array.from({ length: 10 }, (_, i) => ({ type: 'value', json: String(i) })));
    expect(most).toBe(3);
  });

  // guarantee: tool-calls
  // proves: A call that a program withdraws counts as concurrent until its tool has ended, and its signal is aborted.
  it('count calls that were withdrawn until their tools have ended', async () => {
    const ends: (() => void)[] = [];
    const signals: AbortSignal[] = [];
    const stubborn = (_: unknown, { signal }: ToolContext) => {
      signals.push(signal);
      return new Promise<void>((end) => ends.push(end));
    };
    const turn = () => new Promise((next) => setImmediate(next));
    const { run, call } = start({ stubborn }, { limits: { max_in_flight: 2 } });
    const calls = Array.from({ length: 20 }, () => call('stubborn'));
    for (let id = 1; id <= 19; id++) {
      run.expire([id]);
      await turn();
    }
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
    ends[0]!();
    await turn();
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true, false]);
    for (const end of ends) end();
    expect(await calls[19]).toMatchObject({ type: 'value' });
    expect(await Promise.all(calls.slice(0, 19))).toEqual(
      Array(19).fill(expect.objectContaining({ code: 'timeout' })),
    );
  });

  // guarantee: tool-calls
  // proves: The arguments of a call that a program withdraws are counted until its tool has ended.
  it('count the arguments of withdrawn calls until their tools have ended', async () => {
    const ends: (() => void)[] = [];
    const { run, call } = start({ stubborn: () => new Promise<void>((end) => ends.push(end)) });
    const json = `{"a":[${Array(40_000).fill('{}')}]}`;
    const held = Array.from({ length: 6 }, () => call('stubborn', json));
    await vi.waitFor(() => expect(ends).toHaveLength(6));
    run.expire([1, 2, 3, 4, 5, 6]);
    await Promise.all(held);
    expect(await call('stubborn', json)).toMatchObject({ code: 'limit' });
    ends[0]!();
    const last = call('stubborn', json);
    await vi.waitFor(() => expect(ends).toHaveLength(7));
    ends[6]!();
    expect(await last).toMatchObject({ type: 'value' });
  });

  // guarantee: tool-calls
  // proves: The total size of the arguments of unanswered calls is limited.
  it('bound the arguments that unanswered calls hold', async () => {
    const { run, call } = start({ never }, { limits: { max_in_flight: 1 } });
    const json = `{"a":"${'x'.repeat(1024 * 1024 - 100)}"}`;
    const answers = Array.from({ length: 20 }, () => call('never', json));
    expect(await Promise.race(answers)).toMatchObject({ code: 'limit' });
    run.abort('the test is over');
  });

  // guarantee: tool-calls
  // proves: The arguments of a pending call are released when it is answered, even in a resumed execution.
  it('release the arguments of a pending call when it is answered, even in a resumed execution', async () => {
    const open = { inputSchema: { type: 'object' } };
    const json = `{"a":"${'x'.repeat(1024 * 1024 - 100)}"}`;
    const calls = 20;
    const { run, call } = start({ open }, { cannotPause: undefined });
    for (let id = 1; id <= calls; id++) {
      expect(await call('open', json)).toMatchObject({ type: 'pending' });
      expect(await run.resolve({ id, value: id })).toMatchObject({ type: 'value' });
    }
    const full = start({ open }, { cannotPause: undefined });
    const types: string[] = [];
    for (let i = 0; i < calls; i++) types.push((await full.call('open', json)).type);
    const held = types.filter((type) => type === 'pending').length;
    expect(types).toEqual([...Array(held).fill('pending'), ...Array(calls - held).fill('error')]);
    expect(held).toBeLessThan(calls);
    const earlier = { records: full.run.records, pending: full.run.pending };
    const resumed = new ToolDispatcher(Toolset.from({ open }), { cannotPause: undefined, earlier });
    const next = (id: number) => resumed.call({ id, name: 'open', argumentsJson: json });
    expect(await next(1001)).toMatchObject({ code: 'limit' });
    await resumed.resolve({ id: 1, error: 'gone' });
    expect(await next(1002)).toMatchObject({ type: 'pending' });
    expect(await next(1003)).toMatchObject({ code: 'limit' });
  });

  // guarantee: tool-calls
  // proves: A tool that takes too long is stopped, and its effect is reported as unknown.
  it('stop a tool that takes too long, and do not claim to know its effect', async () => {
    let signal: AbortSignal | undefined;
    const slow = {
      timeoutMs: 20,
      execute: (_: unknown, context: ToolContext) => {
        signal = context.signal;
        return never();
      },
    };
    const { run, call } = start({ slow });
    expect(await call('slow')).toMatchObject({
      code: 'timeout',
      message: expect.stringContaining('may or may not'),
    });
    expect(signal?.aborted).toBe(true);
    expect(run.records).toMatchObject([{ status: 'unknown' }]);
  });

  // guarantee: tool-calls
  // proves: All tool calls are stopped when the run is cancelled.
  it('stop all calls when the run is cancelled', async () => {
    const controller = new AbortController();
    const signals: AbortSignal[] = [];
    const slow = (_: unknown, { signal }: ToolContext) => {
      signals.push(signal);
      return never();
    };
    const { run, call } = start({ slow }, { signal: controller.signal, limits: { max_in_flight: 2 } });
    const calls = Array.from({ length: 4 }, () => call('slow'));
    await vi.waitFor(() => expect(signals).toHaveLength(2), 60_000);
    expect(run.records.map(({ status }) => status)).toEqual(Array(4).fill('unknown'));
    controller.abort();
    for (const answer of await Promise.all(calls)) expect(answer).toMatchObject({ type: 'error' });
    expect(signals.every(({ aborted }) => aborted)).toBe(true);
    expect(signals).toHaveLength(2);
    expect(await call('slow')).toMatchObject({
      type: 'error',
      message: expect.stringContaining('cancelled'),
    });
  });

  it('stop single calls that have expired', async () => {
    const { run, call } = start({ never, quick: async () => 1 });
    const waiting = call('never');
    await call('quick');
    run.expire([1, 99]);
    expect(await waiting).toMatchObject({ code: 'timeout' });
    expect(run.records.map(({ status }) => status)).toEqual(['unknown', 'ok']);
  });

  // guarantee: tool-calls
  // proves: A tool is not run if its call expired while it was waiting for approval or validation.
  it.each<[string, (gate: Promise<boolean>) => [object, Partial<ToolDispatcherOptions>]]>([
    ['approval', (gate) => [{ needsApproval: true }, { onApproval: () => gate }]],
    [
      'the decision whether it needs approval',
      (gate) => [{ needsApproval: () => gate.then(() => false) }, {}],
    ],
    ['validation', (gate) => [{ inputSchema: z.object({}).refine(() => gate) }, {}]],
  ])('keep a tool from running if its call has expired while it waited for %s', async (_, setUp) => {
    let open: (value: boolean) => void = () => {};
    const gate = new Promise<boolean>((resolve) => {
      open = resolve;
    });
    const execute = vi.fn(async () => 1);
    const [definition, options] = setUp(gate);
    const { run, call } = start({ write: { ...definition, execute } }, options);
    const answer = call('write');
    await Promise.resolve();
    run.expire([1]);
    expect(await answer).toMatchObject({ code: 'timeout' });
    open(true);
    await new Promise((next) => setImmediate(next));
    expect(execute).not.toHaveBeenCalled();
    expect(run.records).toMatchObject([{ status: 'error' }]);
  });

  // guarantee: tool-calls
  // proves: A tool is not run if its call expired while it was waiting for other calls.
  it('keep a tool from running if its call has expired while it waited for other calls', async () => {
    const execute = vi.fn(async () => 1);
    const { run, call } = start({ untilStopped, write: execute }, { limits: { max_in_flight: 1 } });
    const [running, waiting, next] = [call('untilStopped'), call('write'), call('write')];
    await new Promise((done) => setImmediate(done));
    run.expire([2]);
    expect(await waiting).toMatchObject({ code: 'timeout' });
    run.expire([1]);
    expect(await running).toMatchObject({ code: 'timeout' });
    expect(await next).toEqual({ type: 'value', json: '1' });
    expect(await call('write')).toEqual({ type: 'value', json: '1' });
    expect(execute).toHaveBeenCalledTimes(2);
    expect(run.records.map(({ status }) => status)).toEqual(['unknown', 'error', 'ok', 'ok']);
  });

  it('keep a tool from running if its call expires after its approval, while it waits for other calls', async () => {
    const execute = vi.fn(async () => 1);
    const tools = { never, write: { execute, needsApproval: true } };
    const { run, call } = start(tools, { cannotPause: undefined, limits: { max_in_flight: 1 } });
    await call('write');
    const running = call('never');
    await new Promise((done) => setImmediate(done));
    const approved = run.resolve({ id: 1, approve: true });
    await new Promise((done) => setImmediate(done));
    run.expire([1]);
    expect(await approved).toMatchObject({ code: 'timeout' });
    run.expire([2]);
    await running;
    expect(execute).not.toHaveBeenCalled();
  });

  it('refuse an id that has already been used', async () => {
    const { run } = start({ a: async () => 1 });
    const request = { id: 7, name: 'a', argumentsJson: '{}' };
    await run.call(request);
    expect(await run.call(request)).toMatchObject({
      type: 'error',
      message: 'The call id 7 has already been used.',
    });
    expect(run.records).toHaveLength(1);
  });
});

describe('approval of tool calls', () => {
  const execute = vi.fn(async () => 'done');
  const write = { execute, needsApproval: ({ path }: { path: string }) => path !== '/tmp' };

  // guarantee: approval
  // proves: A tool that needs approval is called only if the decision approves the call.
  it.each<[string, ToolDispatcherOptions['onApproval'], object]>([
    ['approved', async () => true, { type: 'value', json: '"done"' }],
    [
      'denied',
      () => ({ approved: false, reason: 'not today' }),
      { code: 'denied', message: 'The call was not approved. Reason: not today.' },
    ],
    [
      'left open',
      () => undefined,
      { code: 'denied', message: expect.stringContaining('cannot pause, because it has no session') },
    ],
    [
      'null',
      () => null as unknown as undefined,
      { code: 'denied', message: expect.stringContaining('cannot pause, because it has no session') },
    ],
    [
      'failing',
      () => {
        throw new Error('x');
      },
      { code: 'denied', message: expect.stringContaining('onApproval failed') },
    ],
    ['absent', undefined, { code: 'denied' }],
  ])('obeys a decision that is %s', async (_, onApproval, expected) => {
    execute.mockClear();
    const { run, call } = start({ write }, { onApproval });
    const answer = await call('write', { path: '/etc' });
    expect(answer).toMatchObject(expected);
    expect(execute).toHaveBeenCalledTimes(answer.type === 'value' ? 1 : 0);
    expect(run.records[0]!.status).toBe(answer.type === 'value' ? 'ok' : 'denied');
  });

  it('is not asked for calls that do not need it', async () => {
    const onApproval = vi.fn();
    const { call } = start({ write }, { onApproval });
    expect(await call('write', { path: '/tmp' })).toMatchObject({ type: 'value' });
    expect(onApproval).not.toHaveBeenCalled();
  });

  // guarantee: approval
  it('cannot change the arguments that the tool receives', async () => {
    const seen = vi.fn(async (args: unknown) => args);
    const onApproval: ToolDispatcherOptions['onApproval'] = (request) => {
      (request.arguments as Record<string, unknown>)['path'] = 'changed';
      return true;
    };
    const { call } = start({ write: { ...write, execute: seen } }, { onApproval });
    await call('write', { path: '/etc' });
    expect(seen).toHaveBeenCalledWith({ path: '/etc' }, expect.anything());
  });

  // guarantee: approval
  // proves: If the run can pause, a call that needs approval stays pending and is executed once after it is approved.
  it('leaves the call pending if the run can pause, and executes it once after an approval', async () => {
    execute.mockClear();
    const { run, call } = start({ write }, { cannotPause: undefined });
    expect(await call('write', { path: '/a' })).toEqual({ type: 'pending', reason: 'approval' });
    expect(run.pending).toEqual([
      { id: 1, seq: 1, name: 'write', arguments: { path: '/a' }, reason: 'approval' },
    ]);
    expect(run.records).toMatchObject([{ status: 'pending' }]);
    const [first, second] = await Promise.all([
      run.resolve({ id: 1, approve: true }),
      run.resolve({ id: 1, approve: true }),
    ]);
    expect(first).toEqual({ type: 'value', json: '"done"' });
    expect(second).toMatchObject({ type: 'error' });
    expect(execute).toHaveBeenCalledTimes(1);
    expect(run.records).toMatchObject([{ status: 'ok' }]);
  });

  it('has the call_id that the tool gets, which is the same only for the same call of the same execution', async () => {
    const ids: string[] = [];
    const onApproval: ToolDispatcherOptions['onApproval'] = ({ call_id }) => void ids.push(call_id);
    const record: ToolDefinition = {
      needsApproval: true,
      execute: (_: object, context: ToolContext) => ids.push(context.call_id, context.toolCallId),
    };
    const tools = { record, other: record };
    const attempt = async (runId: string, ...calls: [name: string, args: object][]) => {
      const { run, call } = start(tools, { cannotPause: undefined, onApproval, runId });
      for (const [name, args] of calls) await call(name, args);
      const earlier = JSON.parse(JSON.stringify({ records: run.records, pending: run.pending }));
      const resumed = new ToolDispatcher(Toolset.from(tools), { cannotPause: undefined, runId, earlier });
      for (const { id } of run.pending) await resumed.resolve({ id, approve: true });
      return ids.splice(0);
    };
    const [first] = await attempt('a', ['record', { n: 1 }]);
    expect(first).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/);
    const [second] = (await attempt('a', ['record', { n: 1 }], ['record', { n: 1 }])).slice(1);
    expect(await attempt('a', ['record', { n: 1 }])).toEqual([first, first, first]);
    const others = [
      await attempt('b', ['record', { n: 1 }]),
      await attempt('a', ['record', { n: 2 }]),
      await attempt('a', ['other', { n: 1 }]),
    ].map(([id]) => id);
    expect(new Set([first, second, ...others]).size).toBe(5);
  });

  it('continues in another process with the records of the first', async () => {
    execute.mockClear();
    const tools = { write: { ...write, maxCalls: 3 } };
    const { run, call } = start(tools, { cannotPause: undefined });
    await Promise.all([call('write', { path: '/a' }), call('write', { path: '/b' })]);
    const earlier = JSON.parse(JSON.stringify({ records: run.records, pending: run.pending }));
    const resumed = new ToolDispatcher(Toolset.from(tools), { cannotPause: undefined, earlier });
    expect(await resumed.resolve({ id: 2, deny: 'no' })).toMatchObject({ code: 'denied' });
    expect(await resumed.resolve({ id: 1, approve: true })).toMatchObject({ type: 'value' });
    expect(await resumed.call({ id: 1, name: 'write', argumentsJson: '{}' })).toMatchObject({
      code: 'failed',
    });
    expect(await resumed.call({ id: 3, name: 'write', argumentsJson: '{"path":"/tmp"}' })).toMatchObject({
      type: 'value',
    });
    expect(await resumed.call({ id: 4, name: 'write', argumentsJson: '{"path":"/tmp"}' })).toMatchObject({
      code: 'limit',
    });
    expect(resumed.records.map(({ seq, status }) => [seq, status])).toEqual([
      [1, 'ok'],
      [2, 'denied'],
      [3, 'ok'],
      [4, 'error'],
    ]);
  });
});

describe('suspended tool calls', () => {
  const ask = {
    execute: (_: unknown, { suspend }: ToolContext) => suspend({ question: 'how many?' }),
    outputSchema: z.number(),
  };

  it('wait for a value that matches the output schema', async () => {
    const { run, call } = start({ ask }, { cannotPause: undefined });
    expect(await call('ask')).toEqual({
      type: 'pending',
      reason: 'suspended',
      payload: { question: 'how many?' },
    });
    await call('ask');
    await call('ask');
    expect(await run.resolve({ id: 2, value: 5 })).toEqual({ type: 'value', json: '5' });
    expect(await run.resolve({ id: 1, value: 'x' })).toMatchObject({ code: 'failed' });
    expect(await run.resolve({ id: 3, error: 'gone' })).toEqual({
      type: 'error',
      code: 'failed',
      message: 'gone',
    });
    expect(run.pending).toEqual([]);
  });

  it('cannot be approved', async () => {
    const { run, call } = start({ ask }, { cannotPause: undefined });
    await call('ask');
    expect(await run.resolve({ id: 1, approve: true })).toMatchObject({
      message: expect.stringContaining('is waiting for a value'),
    });
  });

  it('fail if their payload has more than 64 KiB', async () => {
    const flood = (_: unknown, { suspend }: ToolContext) => suspend('x'.repeat(70_000));
    const { call, run } = start({ flood }, { cannotPause: undefined });
    expect(await call('flood')).toMatchObject({ type: 'error' });
    expect(run.pending).toEqual([]);
  });

  it('stay suspended if the tool swallows the exception', async () => {
    const swallow = (_: unknown, { suspend }: ToolContext) => {
      try {
        suspend();
      } catch {
        return 'value';
      }
      return 'never';
    };
    const { call } = start({ swallow }, { cannotPause: undefined });
    expect(await call('swallow')).toEqual({ type: 'pending', reason: 'suspended' });
  });

  it('fail in a run that cannot pause', async () => {
    const { call } = start({ ask, open: { inputSchema: {} } });
    expect(await call('ask')).toMatchObject({
      code: 'failed',
      message: expect.stringContaining('cannot pause, because it has no session'),
    });
    expect(await call('open')).toMatchObject({ code: 'failed' });
  });

  it('include calls of tools without a function', async () => {
    const { run, call } = start({ open: { inputSchema: { type: 'object' } } }, { cannotPause: undefined });
    expect(await call('open', { a: 1 })).toEqual({ type: 'pending', reason: 'suspended' });
    expect(await run.resolve({ id: 1, value: { ok: true } })).toEqual({ type: 'value', json: '{"ok":true}' });
  });
});
