/** Every public method of the SDKs is called: it works, or is refused with a reason. docs/E2B.md has the table. */
import { readFileSync } from 'node:fs';
import type { HttpServer } from 'llm-wasm-sandbox/mcp';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startHttp } from '../support/mcp.ts';
import { checkDocumented, failureOf, methodsOf } from '../support/sdk-methods.ts';
import { connection, loadSdk, type Sdk } from './load-sdk.ts';

const KEY = 'ann-secret-0123456789';
const TIMEOUT_MS = 300_000;

/** Members that the types of the SDKs declare private or protected. */
const PRIVATE = new Set([
  ...['connectSandbox', 'createSandbox', 'forkSandbox', 'resolveOpts', 'resolveApiOpts', 'fileUrl'],
  ...['getJupyterRequestUrl', 'handleRequestError', 'checkHealth', 'start', 'runGit', 'runShell'],
  ...['getRemoteUrl', 'hasUpstream', 'resolveRemoteName', 'withRemoteCredentials'],
]);

let server: HttpServer;
let e2b: Sdk;
let options: ReturnType<typeof connection>;
let sandbox: Sdk;

/** A call of each method that works, by its name in the table. */
const WORKS: Readonly<Record<string, () => unknown>> = {
  'Sandbox.create': async () => (await e2b.Sandbox.create(options)).kill(),
  'Sandbox.connect': () => e2b.Sandbox.connect(sandbox.sandboxId, options),
  'Sandbox.list': () => e2b.Sandbox.list(options).nextItems(),
  'Sandbox.getInfo': () => e2b.Sandbox.getInfo(sandbox.sandboxId, options),
  'Sandbox.getFullInfo': () => e2b.Sandbox.getFullInfo(sandbox.sandboxId, options),
  'Sandbox.getMetrics': () => e2b.Sandbox.getMetrics(sandbox.sandboxId, options),
  'Sandbox.setTimeout': () => e2b.Sandbox.setTimeout(sandbox.sandboxId, 600_000, options),
  'Sandbox.updateNetwork': () =>
    e2b.Sandbox.updateNetwork(sandbox.sandboxId, { denyOut: ['0.0.0.0/0'] }, options),
  'Sandbox.pause': () => withCopy((copy) => e2b.Sandbox.pause(copy.sandboxId, options)),
  'Sandbox.betaPause': () => withCopy((copy) => e2b.Sandbox.betaPause(copy.sandboxId, options)),
  'Sandbox.fork': () => killAll(e2b.Sandbox.fork(sandbox.sandboxId, options)),
  'Sandbox.kill': () => withCopy((copy) => e2b.Sandbox.kill(copy.sandboxId, options)),
  'Sandbox.createSnapshot': () => withSnapshot(e2b.Sandbox.createSnapshot(sandbox.sandboxId, options)),
  'Sandbox.listSnapshots': () => e2b.Sandbox.listSnapshots(options).nextItems(),
  'Sandbox.deleteSnapshot': () => e2b.Sandbox.deleteSnapshot('missing', options),
  'sandbox.connect': () => sandbox.connect(),
  'sandbox.getInfo': () => sandbox.getInfo(),
  'sandbox.getMetrics': () => sandbox.getMetrics(),
  'sandbox.isRunning': () => sandbox.isRunning(),
  'sandbox.setTimeout': () => sandbox.setTimeout(600_000),
  'sandbox.updateNetwork': () => sandbox.updateNetwork({ allowInternetAccess: false }),
  'sandbox.pause': () => withCopy((copy) => copy.pause()),
  'sandbox.betaPause': () => withCopy((copy) => copy.betaPause()),
  'sandbox.fork': () => killAll(sandbox.fork()),
  'sandbox.kill': () => withCopy((copy) => copy.kill()),
  'sandbox.createSnapshot': () => withSnapshot(sandbox.createSnapshot()),
  'sandbox.listSnapshots': () => sandbox.listSnapshots().nextItems(),
  'sandbox.uploadUrl': async () =>
    expect((await fetch(await sandbox.uploadUrl('u'), { method: 'POST', body: 'x' })).status).toBe(200),
  'sandbox.downloadUrl': async () => {
    await sandbox.files.write('u', 'x');
    expect((await fetch(await sandbox.downloadUrl('u'))).status).toBe(200);
  },
  'sandbox.runCode': () => sandbox.runCode('1'),
  'sandbox.createCodeContext': async () => sandbox.removeCodeContext(await sandbox.createCodeContext()),
  'sandbox.listCodeContexts': () => sandbox.listCodeContexts(),
  'sandbox.restartCodeContext': async () => sandbox.restartCodeContext((await sandbox.listCodeContexts())[0]),
  'sandbox.removeCodeContext': async () => sandbox.removeCodeContext(await sandbox.createCodeContext()),
  'files.read': async () => {
    await sandbox.files.write('r', 'x');
    expect(await sandbox.files.read('r')).toBe('x');
  },
  'files.write': () => sandbox.files.write('w', 'x'),
  'files.writeFiles': () => sandbox.files.writeFiles([{ path: 'w', data: 'x' }]),
  'files.list': () => sandbox.files.list('.'),
  'files.exists': () => sandbox.files.exists('.'),
  'files.getInfo': () => sandbox.files.getInfo('.'),
  'files.makeDir': () => sandbox.files.makeDir('made'),
  'files.rename': async () => {
    await sandbox.files.write('from', 'x');
    return sandbox.files.rename('from', 'to');
  },
  'files.remove': () => sandbox.files.remove('to'),
  'files.watchDir': async () => (await sandbox.files.watchDir('.', () => {})).stop(),
  'commands.run': () => sandbox.commands.run('true'),
  'commands.list': () => sandbox.commands.list(),
  'commands.connect': () => withProcess((pid) => sandbox.commands.connect(pid)),
  'commands.sendStdin': () => withProcess((pid) => sandbox.commands.sendStdin(pid, 'x')),
  'commands.closeStdin': () => withProcess((pid) => sandbox.commands.closeStdin(pid)),
  'commands.kill': () => withProcess((pid) => sandbox.commands.kill(pid)),
  // Each call continues with the repositories of those before it.
  'git.init': async () => {
    await sandbox.git.init('remote', { bare: true, initialBranch: 'main' });
    await sandbox.git.init('repository', { initialBranch: 'main' });
  },
  'git.configureUser': () => sandbox.git.configureUser('Ann', 'ann@example.com'),
  'git.setConfig': () => sandbox.git.setConfig('pull.rebase', 'false'),
  'git.getConfig': async () => expect(await sandbox.git.getConfig('user.name')).toBe('Ann'),
  'git.status': async () => {
    await sandbox.files.write('repository/f', 'x');
    expect((await sandbox.git.status('repository')).fileStatus).toMatchObject([{ name: 'f' }]);
  },
  'git.add': () => sandbox.git.add('repository'),
  'git.commit': async () => {
    await sandbox.git.commit('repository', 'first');
    expect((await sandbox.git.status('repository')).fileStatus).toEqual([]);
  },
  'git.createBranch': () => sandbox.git.createBranch('repository', 'other'),
  'git.checkoutBranch': () => sandbox.git.checkoutBranch('repository', 'main'),
  'git.branches': async () =>
    expect((await sandbox.git.branches('repository')).branches.sort()).toEqual(['main', 'other']),
  'git.deleteBranch': async () => {
    await sandbox.git.deleteBranch('repository', 'other');
    expect((await sandbox.git.branches('repository')).branches).toEqual(['main']);
  },
  'git.restore': async () => {
    await sandbox.files.write('repository/f', 'changed');
    await sandbox.git.restore('repository', { paths: ['f'] });
    expect(await sandbox.files.read('repository/f')).toBe('x');
  },
  'git.reset': async () => {
    await sandbox.files.write('repository/f', 'changed');
    await sandbox.git.reset('repository', { mode: 'hard' });
    expect(await sandbox.files.read('repository/f')).toBe('x');
  },
  'git.remoteAdd': () => sandbox.git.remoteAdd('repository', 'origin', '../remote'),
  'git.remoteGet': async () => expect(await sandbox.git.remoteGet('repository', 'origin')).toBe('../remote'),
  'git.push': () => sandbox.git.push('repository', { remote: 'origin', branch: 'main' }),
  'git.pull': () => sandbox.git.pull('repository', { remote: 'origin', branch: 'main' }),
  'git.clone': async () => {
    await sandbox.git.clone('remote', { path: 'copy' });
    expect(await sandbox.files.read('copy/f')).toBe('x');
  },
  'git.dangerouslyAuthenticate': () =>
    sandbox.git.dangerouslyAuthenticate({ username: 'ann', password: 'secret', host: 'example.com' }),
};

const NO_TERMINAL = /There are no terminals|There is no running process/;
const NO_VOLUMES = /There are no volumes/;
const NO_SECRETS = /There are no secrets/;
const NO_TEMPLATES = /Templates cannot be built/;

/** A call of each method that is refused, and the reason. */
const REFUSED: Readonly<Record<string, readonly [call: () => unknown, reason: RegExp]>> = {
  'sandbox.getMcpToken': [() => sandbox.getMcpToken(), /There is no user "root"/],
  'pty.create': [() => sandbox.pty.create({ cols: 1, rows: 1, onData: () => {} }), NO_TERMINAL],
  'pty.connect': [() => sandbox.pty.connect(1, { onData: () => {} }), NO_TERMINAL],
  'pty.resize': [() => sandbox.pty.resize(1, { cols: 1, rows: 1 }), NO_TERMINAL],
  'pty.sendInput': [() => sandbox.pty.sendInput(1, new Uint8Array(1)), NO_TERMINAL],
  'Volume.create': [() => e2b.Volume.create('v', options), NO_VOLUMES],
  'Volume.connect': [() => e2b.Volume.connect('v', options), NO_VOLUMES],
  'Volume.list': [() => e2b.Volume.list(options), NO_VOLUMES],
  'Volume.getInfo': [() => e2b.Volume.getInfo('v', options), NO_VOLUMES],
  'Volume.destroy': [() => e2b.Volume.destroy('v', options), NO_VOLUMES],
  'Secret.create': [() => e2b.Secret.create('s', { value: 'x' }, options), NO_SECRETS],
  'Secret.list': [() => e2b.Secret.list(options).nextItems(), NO_SECRETS],
  'Secret.getInfo': [() => e2b.Secret.getInfo('s', options), NO_SECRETS],
  'Secret.destroy': [() => e2b.Secret.destroy('s', options), NO_SECRETS],
  'Template.exists': [() => e2b.Template.exists('t', options), NO_TEMPLATES],
  'Template.aliasExists': [() => e2b.Template.aliasExists('t', options), NO_TEMPLATES],
  'Template.getTags': [() => e2b.Template.getTags('t', options), NO_TEMPLATES],
  'Template.build': [
    () => e2b.Template.build(e2b.Template().fromImage('alpine'), 't', options),
    NO_TEMPLATES,
  ],
};

const withCopy = async (use: (copy: Sdk) => unknown) => {
  const copy = await e2b.Sandbox.create(options);
  try {
    return await use(copy);
  } finally {
    await copy.kill();
  }
};

const killAll = async (forks: Promise<Sdk[]>) => {
  for (const fork of await forks) await fork.kill();
};

const withSnapshot = async (made: Promise<{ snapshotId: string }>) =>
  e2b.Sandbox.deleteSnapshot((await made).snapshotId, options);

const withProcess = async (use: (pid: number) => unknown) => {
  const handle = await sandbox.commands.run('sleep 1000', { background: true, stdin: true });
  try {
    return await use(handle.pid);
  } finally {
    await handle.kill();
    await handle.wait().catch(() => {});
  }
};

beforeAll(async () => {
  e2b = await loadSdk();
  server = await startHttp({ e2b: true, tokens: [`ann=${KEY}`], rate_per_minute: 100_000 });
  options = connection(server, KEY);
  sandbox = await e2b.Sandbox.create(options);
}, TIMEOUT_MS);
afterAll(async () => {
  await server?.close();
}, TIMEOUT_MS);

describe('method', { timeout: TIMEOUT_MS }, () => {
  test.each(Object.keys(WORKS))('%s works', async (name) => {
    await WORKS[name]!();
  });

  test.each(Object.keys(REFUSED))('%s is refused with a reason', async (name) => {
    const [call, reason] = REFUSED[name]!;
    expect(await failureOf(call)).toMatch(reason);
  });

  test('all of them are in the tables here and in docs/E2B.md', () => {
    const document = readFileSync(new URL('../../docs/E2B.md', import.meta.url), 'utf8');
    const groups = {
      Sandbox: e2b.Sandbox,
      sandbox: e2b.Sandbox.prototype,
      files: sandbox.files,
      commands: sandbox.commands,
      git: sandbox.git,
    };
    for (const [group, object] of Object.entries(groups)) {
      const called = checkDocumented(document, group, WORKS, REFUSED);
      // These only compute a text.
      const local = group === 'sandbox' ? ['getHost', 'getMcpUrl'] : [];
      expect([...called, ...local].sort()).toEqual(methodsOf(object, (name) => PRIVATE.has(name)));
    }
  });
});
