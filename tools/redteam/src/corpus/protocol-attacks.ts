/** Attacks over the protocols of E2B and Jupyter: work, memory and connections whose size a client chooses. */
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { ScenarioAttack } from '../attack.ts';
import { type Answer, type E2bSandbox, kernelClients, keyOf, newSandbox, sendHttp } from '../clients.ts';
import { withStalls } from '../stalls.ts';
import { TOKENS } from './secret.ts';

const MiB = 1024 * 1024;
/** The clients are part of it. */
const unstalled = (run: () => Promise<readonly string[]>) => withStalls(200, run);

const all = <T>(count: number, make: (i: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, i) => make(i)));

/** The problem with statuses that are not the expected ones. */
const expected = (what: string, found: readonly number[], ...statuses: number[]): string[] => {
  const other = found.filter((status) => !statuses.includes(status));
  return other.length === 0
    ? []
    : [`${what}: ${other.length} of ${found.length} answers have status ${other[0]}`];
};
const statusesOf = (answers: readonly Answer[]) => answers.map(({ status }) => status);

/** Reads a file with a URL that names no sandbox, signed with a token. */
async function readSigned(origin: string, token: string): Promise<number> {
  const digest = createHash('sha256').update(`none:read::${token}`).digest('base64').slice(0, 43);
  const path = `/files?path=none&signature=v1_${encodeURIComponent(digest)}`;
  return (await sendHttp(origin, path, { method: 'GET' })).status;
}

/** A process of a sandbox with a large message. */
const start = (name: string, message: () => string): ScenarioAttack => ({
  name: `e2b-start-with-${name}`,
  attack: async ({ serve }) => {
    const sandbox = await newSandbox(await serve());
    const text = message();
    return unstalled(async () => {
      const answers = await all(3, () => sandbox.stream('process.Process/Start', text));
      const accepted = answers.filter(({ body }) => !body.includes('more than'));
      return accepted.map(({ body }) => `a message was accepted: ${body.toString('utf8', 0, 200)}`);
    });
  },
});

const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`e${i}`, '']));

async function createFiles(sandbox: E2bSandbox): Promise<void> {
  const code = "for i in range(9_500): open(f'f{i}', 'w').write('x')";
  await sandbox.send('/execute', { body: JSON.stringify({ code }) }, 49_999);
}

const E2B: readonly ScenarioAttack[] = [
  {
    name: 'e2b-forged-signatures',
    attack: async ({ serve }) => {
      const origin = await serve({ max_sessions: 100 });
      const sandboxes = await all(70, () => newSandbox(origin));
      const forged: number[] = [];
      for (let i = 0; i < 70; i++) forged.push(await readSigned(origin, `forged ${i}`));
      // A signature is then compared with few sandboxes, which are the latest.
      const found = await Promise.all(
        sandboxes.map(({ envdAccessToken }) => readSigned(origin, envdAccessToken)),
      );
      const compared = found.filter((status) => status === 404).length;
      return [
        ...expected('forged signatures', forged, 401),
        ...(compared === 32 ? [] : [`a signature was compared with ${compared} sandboxes`]),
      ];
    },
  },
  {
    name: 'e2b-signed-urls-displaced',
    attack: async ({ serve }) => {
      const origin = await serve({ max_sessions: 1100 });
      const { envdAccessToken } = await newSandbox(origin, 'ann');
      const { sandboxID } = await newSandbox(origin, 'bob');
      const fork = { headers: keyOf('bob'), body: '{"count":10}' };
      const forks = await all(101, () => sendHttp(origin, `/sandboxes/${sandboxID}/fork`, fork));
      return [
        ...expected('forks', statusesOf(forks), 201),
        ...expected('a signed URL', [await readSigned(origin, envdAccessToken)], 404),
      ];
    },
  },
  {
    name: 'e2b-endless-streams',
    attack: async ({ serve }) => {
      const origin = await serve({ max_connections: 8 });
      const sandbox = await newSandbox(origin, 'ann');
      for (let i = 0; i < 8; i++)
        await sandbox.stream('filesystem.Filesystem/WatchDir', '{"path":"."}', true);
      const others: number[] = [];
      for (let i = 0; i < 10; i++) {
        const headers = keyOf('bob');
        const answer = sendHttp(origin, '/v2/sandboxes', { method: 'GET', headers });
        others.push((await answer.catch(() => ({ status: 0 }))).status);
      }
      return expected('requests of another tenant', others, 200);
    },
  },
  {
    name: 'e2b-compressed-uploads',
    attack: async ({ serve }) => {
      const sandbox = await newSandbox(await serve());
      const body = await promisify(gzip)(Buffer.alloc(32 * MiB));
      const headers = { 'content-type': 'application/octet-stream', 'content-encoding': 'gzip' };
      const answers = await all(80, (i) => sandbox.send(`/files?path=f${i}`, { headers, body }));
      return expected('uploads', statusesOf(answers), 413, 503, 507);
    },
    maxGrowthBytes: 400 * MiB,
  },
  start('many-variables', () => JSON.stringify({ process: { cmd: '/bin/true', envs: many(80_000) } })),
  start('unknown-members', () => JSON.stringify({ process: { cmd: '/bin/true' }, ...many(80_000) })),
  start('nested-arrays', () =>
    JSON.stringify({ process: { cmd: '/bin/true', args: Array(300_000).fill([]) } }),
  ),
  {
    name: 'e2b-polled-watchers',
    attack: async ({ serve }) => {
      const sandbox = await newSandbox(await serve());
      const options = { path: '.', recursive: true };
      const made = await all(32, () => sandbox.call('filesystem.Filesystem/CreateWatcher', options));
      const watchers = made.map(({ body }) => JSON.parse(body.toString()) as object);
      await createFiles(sandbox);
      return unstalled(async () => {
        const polls = watchers.map((one) => sandbox.call('filesystem.Filesystem/GetWatcherEvents', one));
        return expected('polls', statusesOf(await Promise.all(polls)), 200);
      });
    },
  },
  {
    name: 'e2b-lists-of-many-files',
    attack: async ({ serve }) => {
      const sandbox = await newSandbox(await serve());
      await createFiles(sandbox);
      const list = { path: '.', depth: 9 };
      return unstalled(async () => {
        const answers = await all(20, () => sandbox.call('filesystem.Filesystem/ListDir', list));
        return expected('lists', statusesOf(answers), 200);
      });
    },
  },
];

/** Sends messages to a kernel with 16 clients, until each of them has received the answers. */
const messages = (name: string, type: string, contents: () => object[], answer: string): ScenarioAttack => ({
  name: `jupyter-${name}`,
  attack: async ({ serve }) => {
    const clients = await kernelClients(await serve(), 16);
    const sent = contents();
    return unstalled(async () => {
      const ended = clients.received(answer, sent.length);
      for (const content of sent) clients.send(type, content);
      await ended;
      clients.close();
      return [];
    });
  },
});

const JUPYTER: readonly ScenarioAttack[] = [
  messages(
    'many-messages',
    'comm_info_request',
    () => Array(400).fill({ pad: 'x'.repeat(3000) }),
    '"execution_state":"idle"',
  ),
  messages('large-cell', 'execute_request', () => [{ code: `#${'é'.repeat(1.7 * MiB)}` }], '"execute_input"'),
  {
    name: 'jupyter-large-files',
    attack: async ({ serve }) => {
      const origin = await serve();
      const clients = await kernelClients(origin, 1);
      const ended = clients.received('"execute_reply"');
      const code = "open('t', 'w').write('é\\n' * 5_000_000); open('b', 'wb').write(bytes(15_000_000))";
      clients.send('execute_request', { code });
      await ended;
      clients.close();
      const headers = { authorization: `token ${TOKENS.ann}` };
      const read = (path: string) => sendHttp(origin, `/api/contents/${path}`, { method: 'GET', headers });
      return unstalled(async () => {
        const answers: Answer[] = [];
        for (const path of ['t', 't?hash=1', 'b?format=base64']) answers.push(await read(path));
        return expected('files', statusesOf(answers), 200);
      });
    },
  },
];

export const PROTOCOLS: readonly ScenarioAttack[] = [...E2B, ...JUPYTER];
