/** Every public method of `@jupyterlab/services` is called: it works, or is refused with a reason. docs/JUPYTER.md has the table. */
import { readFileSync } from 'node:fs';
import type { HttpServer } from 'llm-wasm-sandbox/mcp';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { startHttp } from '../support/mcp.ts';
import { checkDocumented, failureOf, methodsOf } from '../support/sdk-methods.ts';
import { connection, loadServices, type Services } from './load-services.ts';

const KEY = 'ann-secret-0123456789';
const TIMEOUT_MS = 300_000;

let server: HttpServer;
let services: Services;
let serverSettings: Services;
let kernels: Services;
let sessions: Services;
let contents: Services;
let kernel: Services;

interface Cell {
  readonly reply: Services;
  readonly outputs: readonly {
    readonly type: string;
    readonly content: Services;
    readonly metadata: Services;
  }[];
}

/** Runs a cell, and returns the reply and what was published. */
async function run(code: string, options: object = {}, on: Services = kernel): Promise<Cell> {
  const future = on.requestExecute({ code, ...options });
  const outputs: Cell['outputs'][number][] = [];
  future.onIOPub = ({ header, content, metadata }: Services) => {
    outputs.push({ type: header.msg_type, content, metadata });
  };
  future.onStdin = () => future.sendInputReply({ status: 'ok', value: 'typed' }, {});
  const { content: reply } = await future.done;
  return { reply, outputs };
}

const stdoutOf = ({ outputs }: Cell) =>
  outputs
    .filter(({ type, content }) => type === 'stream' && content.name === 'stdout')
    .map(({ content }) => content.text)
    .join('');

const withKernel = async (use: (made: Services) => unknown) => {
  const made = await kernels.startNew({ name: 'python3' });
  try {
    return await use(made);
  } finally {
    if (!made.isDisposed) await made.shutdown();
  }
};

const withSession = async (use: (made: Services) => unknown) => {
  const options = { path: 'table.ipynb', name: 'table', type: 'notebook', kernel: { name: 'python3' } };
  const made = await sessions.startNew(options);
  try {
    return await use(made);
  } finally {
    if (!made.isDisposed) await made.shutdown();
  }
};

const save = (path: string, content = 'text') =>
  contents.save(path, { type: 'file', format: 'text', content });

const replyOf = async (sent: Promise<Services>) => (await sent).content;

const disposeReady = async (manager: Services) => {
  await manager.ready;
  manager.dispose();
  expect(manager.isDisposed).toBe(true);
};

/** A call of each method that works, by its name in the table. */
const WORKS: Readonly<Record<string, () => unknown>> = {
  'KernelManager.startNew': () => withKernel((made) => expect(made.name).toBe('python3')),
  'KernelManager.connectTo': () => kernels.connectTo({ model: kernel.model }).dispose(),
  'KernelManager.findById': async () => expect((await kernels.findById(kernel.id)).id).toBe(kernel.id),
  'KernelManager.refreshRunning': () => kernels.refreshRunning(),
  'KernelManager.requestRunning': () => kernels.requestRunning(),
  'KernelManager.running': () => expect([...kernels.running()].map(({ id }) => id)).toContain(kernel.id),
  'KernelManager.shutdown': () => withKernel(({ id }) => kernels.shutdown(id)),
  'KernelManager.shutdownAll': async () => {
    const other = new services.KernelManager({ serverSettings: connection(services, server, OTHER_KEY) });
    await other.ready;
    await other.startNew({ name: 'python3' });
    await other.shutdownAll();
    await other.refreshRunning();
    expect([...other.running()]).toEqual([]);
    other.dispose();
  },
  'KernelManager.dispose': () => disposeReady(new services.KernelManager({ serverSettings })),
  'KernelConnection.requestExecute': async () => {
    const { reply, outputs } = await run('print("hi")\n6 * 7');
    expect(reply.status).toBe('ok');
    expect(outputs.map(({ type }) => type)).toEqual([
      ...['status', 'execute_input', 'stream', 'execute_result', 'status'],
    ]);
    expect(outputs[3]!.content.data['text/plain']).toBe('42');
  },
  'KernelConnection.interrupt': () =>
    withKernel(async (made) => {
      await run('x = 1', {}, made);
      const running = made.requestExecute({ code: 'x = 2\nprint("started")\nwhile True: pass' });
      // The status of the kernel can still be that of an earlier request.
      await new Promise<void>((resolve) => {
        running.onIOPub = ({ header }: Services) => header.msg_type === 'stream' && resolve();
      });
      await made.interrupt();
      const { content } = await running.done;
      expect(content).toMatchObject({ status: 'error', ename: 'KeyboardInterrupt' });
      // Where the program was interrupted decides which of the two is true.
      const left: Record<string, string> = {
        'The cell was interrupted. Changes to variables and files are kept.': '2\n',
        'The cell was interrupted. Variables and files are as they were before it.': '1\n',
      };
      expect(stdoutOf(await run('print(x)', {}, made))).toBe(left[content.evalue]);
    }),
  'KernelConnection.restart': () =>
    withKernel(async (made) => {
      await run('x = 1', {}, made);
      await made.restart();
      expect((await run('x', {}, made)).reply).toMatchObject({ status: 'error', ename: 'NameError' });
      expect((await run('1', {}, made)).reply.execution_count).toBe(2);
    }),
  'KernelConnection.requestComplete': async () => {
    await run('import math\nvariable_one = 1');
    const complete = (code: string) => replyOf(kernel.requestComplete({ code, cursor_pos: code.length }));
    expect(await complete('ä = math.isq')).toMatchObject({
      status: 'ok',
      matches: ['isqrt'],
      cursor_start: 9,
      cursor_end: 12,
    });
    expect((await complete('variable_')).matches).toEqual(['variable_one']);
  },
  'KernelConnection.requestInspect': async () => {
    const { found, data } = await replyOf(
      kernel.requestInspect({ code: 'sorted(', cursor_pos: 7, detail_level: 0 }),
    );
    expect(found).toBe(true);
    expect(data['text/plain']).toMatch(/Signature: sorted\(iterable[\s\S]*ascending order/);
  },
  'KernelConnection.requestIsComplete': async () => {
    const status = async (code: string) => (await replyOf(kernel.requestIsComplete({ code }))).status;
    expect([await status('x = 1'), await status('for i in x:')]).toEqual(['complete', 'incomplete']);
  },
  'KernelConnection.requestKernelInfo': async () => {
    const { language_info } = await replyOf(kernel.requestKernelInfo());
    expect(language_info).toMatchObject({ name: 'python', file_extension: '.py' });
  },
  'KernelConnection.requestHistory': async () =>
    expect((await replyOf(kernel.requestHistory({ hist_access_type: 'tail', n: 1 }))).history).toEqual([]),
  'KernelConnection.requestCommInfo': async () =>
    expect((await replyOf(kernel.requestCommInfo({}))).comms).toEqual({}),
  'KernelConnection.sendInputReply': async () => {
    const cell = await run('print(input("name: ").upper())', { allow_stdin: true });
    expect(stdoutOf(cell)).toBe('name: TYPED\n');
    const asked = kernel.requestExecute({ code: 'open("typed", "w").write(input())', allow_stdin: true });
    asked.onStdin = ({ parent_header }: Services) =>
      kernel.sendInputReply({ status: 'ok', value: 'by its cell' }, parent_header);
    expect((await asked.done).content.status).toBe('ok');
    expect(stdoutOf(await run('print(open("typed").read())'))).toBe('by its cell\n');
  },
  'KernelConnection.sendShellMessage': () => kernel.requestKernelInfo(),
  'KernelConnection.sendControlMessage': async () => {
    const { KernelMessage } = services;
    const session = kernel.clientId;
    const given = { channel: 'control', content: {}, msgType: 'interrupt_request', session };
    const future = kernel.sendControlMessage(KernelMessage.createMessage(given), true);
    expect((await future.done).content.status).toBe('ok');
  },
  'KernelConnection.clone': async () => {
    const clone = kernel.clone();
    expect(stdoutOf(await run('print(7)', {}, clone))).toBe('7\n');
    clone.dispose();
  },
  'KernelConnection.reconnect': () => kernel.reconnect(),
  'KernelConnection.shutdown': () => withKernel((made) => made.shutdown()),
  'SessionManager.startNew': () => withSession(({ path }) => expect(path).toBe('table.ipynb')),
  'SessionManager.connectTo': () =>
    withSession((made) => sessions.connectTo({ model: made.model, kernelConnectionOptions: {} }).dispose()),
  'SessionManager.findById': () =>
    withSession(async ({ id }) => expect((await sessions.findById(id)).id).toBe(id)),
  'SessionManager.findByPath': () =>
    withSession(async ({ id }) => expect((await sessions.findByPath('table.ipynb')).id).toBe(id)),
  'SessionManager.refreshRunning': () => sessions.refreshRunning(),
  'SessionManager.requestRunning': () => sessions.requestRunning(),
  'SessionManager.running': () =>
    withSession(({ id }) => expect([...sessions.running()].map((one) => one.id)).toEqual([id])),
  'SessionManager.shutdown': () => withSession(({ id }) => sessions.shutdown(id)),
  'SessionManager.shutdownAll': () => sessions.shutdownAll(),
  'SessionManager.stopIfNeeded': () => withSession(() => sessions.stopIfNeeded('table.ipynb')),
  'SessionManager.dispose': () =>
    disposeReady(new services.SessionManager({ kernelManager: kernels, serverSettings })),
  'ContentsManager.save': async () => {
    expect(await save('saved.txt')).toMatchObject({ path: 'saved.txt', type: 'file', size: 4 });
    const cells = Array.from({ length: 300 }, (_, i) => ({
      ...{ cell_type: 'code', id: `c${i}`, metadata: {}, source: `${i}`, outputs: [], execution_count: i },
    }));
    const content = { cells, metadata: {}, nbformat: 4, nbformat_minor: 5 };
    await contents.save('large.ipynb', { type: 'notebook', format: 'json', content });
    expect((await contents.get('large.ipynb')).content).toEqual(content);
    const bytes = Buffer.from([0, 255, 1]).toString('base64');
    await contents.save('bytes', { type: 'file', format: 'base64', content: bytes });
    expect(await contents.get('bytes')).toMatchObject({ format: 'base64', content: bytes });
  },
  'ContentsManager.get': async () => {
    await save('folder-of-get.txt', 'ä');
    expect(await contents.get('folder-of-get.txt')).toMatchObject({ content: 'ä', format: 'text' });
    const { content } = await contents.get('');
    expect(content.map(({ name }: { name: string }) => name)).toContain('folder-of-get.txt');
    expect((await contents.get('folder-of-get.txt', { content: false, hash: true })).hash).toHaveLength(64);
  },
  'ContentsManager.newUntitled': async () => {
    expect(await contents.newUntitled({ type: 'notebook' })).toMatchObject({ name: 'Untitled.ipynb' });
    expect(await contents.newUntitled({ type: 'notebook' })).toMatchObject({ name: 'Untitled1.ipynb' });
    expect(await contents.newUntitled({ type: 'directory' })).toMatchObject({ type: 'directory' });
    expect(await contents.newUntitled({ type: 'file', ext: 'py' })).toMatchObject({ name: 'untitled.py' });
  },
  'ContentsManager.copy': async () => {
    await save('original.txt');
    expect(await contents.copy('original.txt', '')).toMatchObject({ path: 'original-Copy.txt' });
  },
  'ContentsManager.rename': async () => {
    await save('old.txt');
    expect(await contents.rename('old.txt', 'sub/new.txt').catch(String)).toMatchObject({
      path: 'sub/new.txt',
    });
    await save('old.txt');
    await expect(contents.rename('old.txt', 'sub/new.txt')).rejects.toThrow(/already exists/);
  },
  'ContentsManager.delete': async () => {
    await save('gone.txt');
    await contents.delete('gone.txt');
    await expect(contents.get('gone.txt')).rejects.toThrow(/There is no file/);
  },
  'ContentsManager.createCheckpoint': async () => {
    await save('kept.txt', 'first');
    const { id } = await contents.createCheckpoint('kept.txt');
    expect((await contents.listCheckpoints('kept.txt')).map((one: { id: string }) => one.id)).toEqual([id]);
    await save('kept.txt', 'second');
    await contents.restoreCheckpoint('kept.txt', id);
    expect((await contents.get('kept.txt')).content).toBe('first');
    await contents.deleteCheckpoint('kept.txt', id);
    expect(await contents.listCheckpoints('kept.txt')).toEqual([]);
  },
  'ContentsManager.listCheckpoints': async () => {
    await save('listed.txt');
    expect(await contents.listCheckpoints('listed.txt')).toEqual([]);
  },
  'ContentsManager.restoreCheckpoint': () => WORKS['ContentsManager.createCheckpoint']!(),
  'ContentsManager.deleteCheckpoint': () => WORKS['ContentsManager.createCheckpoint']!(),
  'ContentsManager.getDownloadUrl': async () => {
    await save('down load.txt', 'bytes');
    const url = `${await contents.getDownloadUrl('down load.txt')}?token=${KEY}`;
    expect(await (await fetch(url)).text()).toBe('bytes');
  },
};

const NO_COMMS = /comm is closed|Comm/;
/** A call of each method that is refused, and the reason. */
const REFUSED: Readonly<Record<string, readonly [call: () => unknown, reason: RegExp]>> = {
  'KernelConnection.requestDebug': [
    async () => {
      const { content } = await kernel.requestDebug({ seq: 0, type: 'request', command: 'debugInfo' }).done;
      throw new Error(content.evalue);
    },
    /does not support debug_request/,
  ],
  'KernelConnection.requestCreateSubshell': [
    () => kernel.requestCreateSubshell({}),
    /subshells are not supported/,
  ],
  'KernelConnection.requestDeleteSubshell': [
    () => kernel.requestDeleteSubshell({ subshell_id: 'x' }),
    /subshells are not supported/,
  ],
  'KernelConnection.requestListSubshell': [
    () => kernel.requestListSubshell({}),
    /subshells are not supported/,
  ],
  'KernelConnection.createComm': [
    async () => {
      const comm = kernel.createComm('target');
      const closed = new Promise((resolve) => {
        comm.onClose = resolve;
      });
      comm.open({});
      await closed;
      throw new Error('comm is closed');
    },
    NO_COMMS,
  ],
};

/** Methods that only change the state of the client. */
const LOCAL: Readonly<Record<string, readonly string[]>> = {
  KernelManager: [],
  KernelConnection: [
    ...['dispose', 'handleShutdown', 'hasComm', 'registerCommTarget', 'removeCommTarget'],
    ...['registerMessageHook', 'removeMessageHook', 'removeInputGuard'],
  ],
  SessionManager: [],
  ContentsManager: [
    ...['addDrive', 'dispose', 'driveName', 'getSharedModelFactory', 'localPath', 'normalize', 'overwrite'],
    'resolvePath',
  ],
};

const OTHER_KEY = 'bob-secret-0123456789';

beforeAll(async () => {
  // The package reports each connection.
  for (const name of ['debug', 'warn'] as const) vi.spyOn(console, name).mockImplementation(() => {});
  services = loadServices();
  const tokens = [`ann=${KEY}`, `bob=${OTHER_KEY}`];
  server = await startHttp({ jupyter: true, tokens, rate_per_minute: 100_000 });
  serverSettings = connection(services, server, KEY);
  kernels = new services.KernelManager({ serverSettings });
  sessions = new services.SessionManager({ kernelManager: kernels, serverSettings });
  contents = new services.ContentsManager({ serverSettings });
  await Promise.all([kernels.ready, sessions.ready]);
  kernel = await kernels.startNew({ name: 'python3' });
}, TIMEOUT_MS);
afterAll(async () => {
  for (const one of [kernel, sessions, kernels, contents]) one?.dispose();
  await server?.close();
  vi.restoreAllMocks();
}, TIMEOUT_MS);

describe('method', { timeout: TIMEOUT_MS }, () => {
  test.each(Object.keys(WORKS))('%s works', async (name) => {
    await WORKS[name]!();
  });

  test.each(Object.keys(REFUSED))('%s is refused with a reason', async (name) => {
    const [call, reason] = REFUSED[name]!;
    expect(await failureOf(call)).toMatch(reason);
  });

  test('all of them are in the tables here and in docs/JUPYTER.md', () => {
    const document = readFileSync(new URL('../../docs/JUPYTER.md', import.meta.url), 'utf8');
    for (const [group, local] of Object.entries(LOCAL)) {
      const called = checkDocumented(document, group, WORKS, REFUSED);
      const methods = methodsOf(services[group].prototype, (name) => name.startsWith('_'));
      expect([...called, ...local].sort()).toEqual(methods);
    }
  });
});

describe('a cell', { timeout: TIMEOUT_MS }, () => {
  test('displays values, tables, images and charts as MIME bundles', async () => {
    const { outputs } = await run(
      'from IPython.display import display, HTML, Markdown\ndisplay(HTML("<b>x</b>"))\ndisplay(Markdown("*y*"))\nprint("after")\n[1, 2]',
    );
    const shown = outputs.filter(({ type }) => type !== 'status' && type !== 'execute_input');
    expect(shown.map(({ type }) => type)).toEqual([
      ...['display_data', 'display_data', 'stream', 'execute_result'],
    ]);
    expect(shown[0]!.content.data['text/html']).toBe('<b>x</b>');
    expect(shown[1]!.content.data['text/markdown']).toBe('*y*');
    expect(shown[3]!.content).toMatchObject({ data: { 'text/plain': '[1, 2]' } });
  });

  test('that fails reports the exception, the guidance and aborts the cells that wait', async () => {
    const [first, second] = await Promise.all([run('int("x")', { stop_on_error: true }), run('1')]);
    expect(first.reply).toMatchObject({ status: 'error', ename: 'ValueError' });
    expect(second.reply.status).toBe('aborted');
    const error = first.outputs.find(({ type }) => type === 'error')!;
    expect(error.content.traceback.join('\n')).toContain('How to fix it:');
    expect(error.metadata.error_guidance.actionable_guidance.length).toBeGreaterThan(0);
  });

  test('cannot read input that the client does not allow', async () => {
    const { reply } = await run('input()', { allow_stdin: false });
    expect(reply).toMatchObject({ status: 'error', ename: 'EOFError' });
  });

  test('shares the files of the workspace with the contents and with other kernels', async () => {
    await save('shared.txt', 'from the client');
    expect(stdoutOf(await run('print(open("shared.txt").read())'))).toBe('from the client\n');
    await run('open("written.txt", "w").write("from the cell")');
    expect((await contents.get('written.txt')).content).toBe('from the cell');
    const other = await kernels.startNew({ name: 'javascript' });
    expect(stdoutOf(await run('console.log(readText("written.txt"))', {}, other))).toBe('from the cell\n');
    const { content } = await other.requestComplete({ code: 'Math.sq', cursor_pos: 7 });
    expect(content.matches).toEqual(['sqrt']);
    await other.shutdown();
  });

  test('runs magic commands of IPython, and reports those that do not exist', async () => {
    const cell = '%matplotlib inline\n%load_ext autoreload\n%autoreload 2\nx = %env HOME\nprint(x)';
    expect(stdoutOf(await run(cell))).toBe('/app\n');
    expect(stdoutOf(await run('%%time\nprint(1)'))).toMatch(/^1\nCPU times: .*\nWall time: .*\n$/);
    const { reply } = await run('print(1)\n%nosuch');
    expect(reply).toMatchObject({ ename: 'UsageError', evalue: 'Line magic function `%nosuch` not found.' });
  });

  test('makes checkpoints and rolls back with magic commands, except notebooks', async () => {
    await run('x = 1\nopen("state.txt", "w").write("one")');
    expect(stdoutOf(await run('%checkpoint before'))).toContain('%rollback before');
    await run('x = 2\nopen("state.txt", "w").write("two")');
    await contents.save('open.ipynb', { type: 'notebook', format: 'json', content: undefined });
    await run('%rollback before');
    expect(stdoutOf(await run('print(x, open("state.txt").read())'))).toBe('1 one\n');
    expect((await contents.get('state.txt')).content).toBe('one');
    expect((await contents.get('open.ipynb')).type).toBe('notebook');
    await run('x = 3');
    await run('%rollback');
    expect(stdoutOf(await run('print(x)'))).toBe('1\n');
    expect(stdoutOf(await run('%checkpoints'))).toBe('before\n');
    expect((await run('%rollback missing')).reply).toMatchObject({ status: 'error' });
    expect((await run('%checkpoint a b')).reply.evalue).toContain('alone in a cell');
  });
});
