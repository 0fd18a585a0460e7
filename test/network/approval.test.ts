/** Requests that no rule permits, about which a person is asked. A recording answers them, so nothing is sent. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ApprovalRequest, createSandbox, diskStore, type OnApproval } from 'llm-wasm-sandbox';
import { beforeAll, describe, expect, test } from 'vitest';
import type { SandboxResult } from '../../packages/core/src/schema.ts';
import { folderOfFile } from '../support/folders.ts';

const folder = folderOfFile();
const replay = join(folder, 'answers.har');
const ORIGIN = 'https://api.example';

const entry = (method: string, path: string, text?: string) => ({
  startedDateTime: '2026-01-01T00:00:00Z',
  time: 1,
  request: {
    method,
    url: `${ORIGIN}${path}`,
    headers: [],
    ...(text !== undefined && { postData: { text } }),
  },
  response: {
    status: 200,
    statusText: 'OK',
    headers: [],
    content: { size: 2, mimeType: 'text/plain', text: `answer to ${path}` },
  },
});

beforeAll(() => {
  const entries = ['/a', '/b', '/c'].flatMap((path) => [entry('GET', path), entry('GET', path)]);
  const moved = entry('GET', '/moved');
  Object.assign(moved.response, { status: 302, headers: [{ name: 'location', value: '/c' }] });
  writeFileSync(
    replay,
    JSON.stringify({ log: { version: '1.2', entries: [...entries, entry('POST', '/a', 'hello'), moved] } }),
  );
});

const policy = (more: object = {}) => ({ network: { ask: true, replay, ...more } });

/** A program that prints what it receives, or why it does not. */
const fetching = (...paths: string[]) =>
  paths
    .map(
      (path) =>
        `try { console.log(await (await fetch('${path.startsWith('/') ? ORIGIN : ''}${path}')).text()); } catch (error) { console.log(error.cause?.code, error.message); }`,
    )
    .join('\n');

async function run(code: string, onApproval?: OnApproval, more: object = {}): Promise<SandboxResult> {
  await using sandbox = await createSandbox({ runtime: 'javascript', policy: policy(more), onApproval });
  return await sandbox.execute(code);
}

describe('approval of a request', () => {
  test('shows its method, URL and the size of its body', async () => {
    const asked: ApprovalRequest[] = [];
    const { stdout, metadata } = await run(
      `console.log(await (await fetch('${ORIGIN}/a', { method: 'POST', body: 'hello' })).text())`,
      (request) => {
        asked.push(request);
        return true;
      },
    );
    expect(stdout).toBe('answer to /a\n');
    expect(asked).toMatchObject([
      { name: 'network:request', arguments: { method: 'POST', url: `${ORIGIN}/a`, body_bytes: 5 } },
    ]);
    expect(metadata.network).toMatchObject([{ outcome: 'ok', rule: 'approved', bytes_up: 5 }]);
    expect(metadata.tool_calls).toBeUndefined();
  });

  test('is for one request, for the session, or never', async () => {
    const asked: unknown[] = [];
    const decisions = [true, { approved: true, for: 'session' }, { approved: false, reason: 'no' }] as const;
    const onApproval: OnApproval = ({ arguments: { url } }) => {
      asked.push(url);
      return decisions[asked.length - 1];
    };
    await using sandbox = await createSandbox({ runtime: 'javascript', policy: policy(), onApproval });
    const first = await sandbox.execute(fetching('/a', '/b', '/c'));
    expect(first.stdout).toBe('answer to /a\nanswer to /b\nanswer to /c\n');
    // Later programs of the sandbox are included. Another method is not.
    const later = await sandbox.execute(
      `${fetching('/a')}\nawait fetch('${ORIGIN}/a', { method: 'POST', body: 'hello' }).catch((error) => console.log(error.cause.code, error.message));`,
    );
    expect(later.stdout).toContain(
      'answer to /a\nEACCES fetch failed: POST https://api.example/a is not permitted',
    );
    expect(later.stdout).toContain('The call was not approved. Reason: no. Trying again will not help.');
    expect(later.metadata.network).toMatchObject([{ outcome: 'ok' }, { outcome: 'refused' }]);
    expect(asked).toEqual([`${ORIGIN}/a`, `${ORIGIN}/b`, `${ORIGIN}/a`]);
    const never = { approved: false, for: 'session' } as const;
    let questions = 0;
    const refused = await run(fetching('/a', '/b'), () => {
      questions++;
      return never;
    });
    expect(questions).toBe(1);
    expect(refused.stdout).toContain('a person has refused GET https://api.example for this session');
  });

  // guarantee: network
  test('is not asked about requests that are denied, restricted, invalid or permitted', async () => {
    const asked: unknown[] = [];
    const code = fetching('/a', '/b', '/c', 'https://other.example/', 'file:///etc/passwd');
    const more = { allow: [`${ORIGIN}/a`], deny: [`${ORIGIN}/b`] };
    await using sandbox = await createSandbox({
      runtime: 'javascript',
      policy: { ...policy(more), network_only: [`${ORIGIN}/*`] },
      onApproval: ({ arguments: { url } }) => {
        asked.push(url);
        return true;
      },
    });
    const { stdout } = await sandbox.execute(code);
    expect(asked).toEqual([`${ORIGIN}/c`]);
    expect(stdout).toContain('denies it');
    expect(stdout).toContain('network_only restricts the program');
  });

  test('is denied if nobody can be asked', async () => {
    const { stdout, metadata } = await run(fetching('/a'));
    expect(stdout).toContain('EACCES');
    expect(stdout).toContain('needs the approval of a person');
    expect(metadata.network).toMatchObject([{ outcome: 'refused' }]);
  });

  test('is not asked about private addresses, which are refused', async () => {
    const asked: unknown[] = [];
    await using sandbox = await createSandbox({
      runtime: 'javascript',
      policy: { network: { ask: true } },
      onApproval: (request) => {
        asked.push(request);
        return true;
      },
    });
    const { stdout } = await sandbox.execute(
      fetching('http://127.0.0.1:1/', 'http://169.254.169.254/', 'http://localhost/', 'http://[::1]/'),
    );
    expect(stdout.match(/no rule matches it/g)).toHaveLength(4);
    expect(asked).toEqual([]);
  });
});

describe('an approval', () => {
  const open = (session_id: string) =>
    createSandbox({
      runtime: 'javascript',
      session_id,
      store: diskStore(join(folder, 'hostile')),
      policy: policy(),
    });
  type Open = Awaited<ReturnType<typeof open>>;

  /** Pauses at a request and returns a function that answers it. */
  async function paused(session: Open, code: string) {
    const { metadata } = await session.execute(code);
    const execution_id = metadata.execution_id!;
    const { id } = metadata.pending![0]!;
    return {
      execution_id,
      id,
      approve: (changes: { execution_id?: string; id?: number } = {}) =>
        session.resume(changes.execution_id ?? execution_id, {
          resolutions: [{ id: changes.id ?? id, approve: true }],
        }),
    };
  }

  // guarantee: network
  // proves: An approval is for the request as it was shown, which the program cannot change afterwards.
  test('is for the request as it was shown: the program cannot change it afterwards', async () => {
    await using session = await open('changing');
    const code = `
const url = new URL('${ORIGIN}/a');
const headers = new Headers({ 'x-a': '1' });
const options = { method: 'GET', headers };
const waiting = fetch(url, options);
url.pathname = '/b';
options.method = 'DELETE';
headers.set('x-a', '2');
URL.prototype.toString = () => '${ORIGIN}/c';
console.log(await (await waiting).text());
${fetching('/b')}`;
    const first = await paused(session, code);
    const seen: unknown[] = [];
    const { stdout, metadata } = await first.approve();
    seen.push(metadata.pending?.map(({ arguments: { url } }) => url));
    expect(stdout).toContain('answer to /a\n');
    expect(stdout).not.toContain('answer to /b');
    // Another request is another question.
    expect(seen).toEqual([[`${ORIGIN}/b`]]);
    expect(metadata.network).toMatchObject([{ method: 'GET', url: `${ORIGIN}/a`, rule: 'approved' }]);
  });

  test('is not for where the response redirects to', async () => {
    await using session = await open('redirected');
    const { metadata } = await (await paused(session, fetching('/moved'))).approve();
    expect(metadata.pending).toMatchObject([{ arguments: { url: `${ORIGIN}/c` } }]);
    expect(metadata.network).toMatchObject([{ url: `${ORIGIN}/moved`, status: 302 }]);
  });

  // guarantee: network
  // proves: An approval is refused for another call, another program or another session.
  test('is refused for another call, another program or another session', async () => {
    await using session = await open('mine');
    await using others = await open('others');
    const mine = await paused(session, fetching('/a'));
    const theirs = await paused(others, fetching('/b'));
    for (const id of [0, -1, mine.id + 1, 1e308, Number.NaN])
      await expect(mine.approve({ id })).rejects.toMatchObject({ code: 'invalid_argument' });
    await expect(mine.approve({ execution_id: theirs.execution_id })).rejects.toMatchObject({
      code: 'execution_not_found',
    });
    for (const resolutions of [
      [
        { id: mine.id, approve: true },
        { id: mine.id, deny: true },
      ],
      [{ id: mine.id, approve: true, for: 'session' }],
      [{ id: mine.id, approve: true, url: `${ORIGIN}/c` }],
      [{ id: mine.id, approve: 'yes' }],
    ])
      await expect(
        session.resume(mine.execution_id, { resolutions: resolutions as never }),
      ).rejects.toMatchObject({ code: 'invalid_argument' });
    expect((await session.paused())?.pending).toHaveLength(1);
    expect((await mine.approve()).stdout).toBe('answer to /a\n');
  });

  // guarantee: network
  // proves: An approval is used once, also if it is given several times at the same time.
  test('is used once, also if it is given twice at the same time', async () => {
    await using session = await open('twice');
    const one = await paused(session, fetching('/a'));
    const answers = await Promise.allSettled([one.approve(), one.approve(), one.approve()]);
    expect(answers.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected', 'rejected']);
    await expect(one.approve()).rejects.toThrow();
  });

  // guarantee: network
  // proves: A request that waits for approval cannot be answered with a response.
  test('cannot be replaced by a response', async () => {
    await using session = await open('forged');
    const one = await paused(session, fetching('/a'));
    const forged = { status: 200, reason: 'OK', headers: [], url: `${ORIGIN}/a`, body: 'Zm9yZ2Vk' };
    const resuming = session.resume(one.execution_id, { resolutions: [{ id: one.id, value: forged }] });
    await expect(resuming).rejects.toMatchObject({ code: 'invalid_argument' });
    expect((await one.approve()).stdout).toBe('answer to /a\n');
  });

  test('is void after the session was rolled back', async () => {
    await using session = await open('void');
    await session.execute('0');
    await session.checkpoint('before');
    const one = await paused(session, fetching('/a'));
    await session.rollback('before');
    await expect(one.approve()).rejects.toMatchObject({ code: 'execution_not_found' });
    const { stdout } = await session.execute('console.log(1)');
    expect(stdout).toBe('1\n');
  });

  // guarantee: network
  // proves: An approval for a session applies neither to its forks nor to the session when it is opened again.
  test('for the session is not for its fork, nor for the session that is opened again', async () => {
    const asked: string[] = [];
    const store = diskStore(join(folder, 'hostile'));
    const onApproval: OnApproval = ({ session_id }) => {
      asked.push(session_id!);
      return { approved: true, for: 'session' };
    };
    const reopen = () =>
      createSandbox({ runtime: 'javascript', session_id: 'origin', store, policy: policy(), onApproval });
    {
      await using session = await reopen();
      await session.execute(fetching('/a', '/b'));
      await session.checkpoint('one');
      await using fork = await session.fork('copy');
      await fork.execute(fetching('/a'));
      await session.rollback('one');
      await session.execute(fetching('/c'));
    }
    await using session = await reopen();
    await session.execute(fetching('/c'));
    expect(asked).toEqual(['origin', 'copy', 'origin']);
  });
});

describe('paused program', () => {
  const open = (more: object = policy(), session_id = 'waiting') =>
    createSandbox({
      runtime: 'javascript',
      session_id,
      store: diskStore(join(folder, 'store')),
      policy: more,
    });

  test('continues in another process when its request is approved, with its restrictions', {
    tags: 'full',
  }, async () => {
    let execution_id: string;
    let id: number;
    {
      await using session = await open();
      const only = { network_only: [`${ORIGIN}/a`, `${ORIGIN}/b`] };
      const { metadata } = await session.execute(fetching('/a', '/c'), only);
      expect(metadata.pending).toMatchObject([{ name: 'network:request', reason: 'approval' }]);
      ({ execution_id } = metadata as { execution_id: string });
      id = metadata.pending![0]!.id;
    }
    {
      await using session = await open({});
      const resuming = session.resume(execution_id, { resolutions: [{ id, approve: true }] });
      await expect(resuming).rejects.toThrow('Open the session with policy.network');
    }
    await using session = await open();
    const { stdout, metadata } = await session.resume(execution_id, { resolutions: [{ id, approve: true }] });
    expect(stdout).toContain('answer to /a\nEACCES');
    expect(stdout).toContain('network_only restricts the program');
    expect(metadata.network).toMatchObject([{ outcome: 'ok', rule: 'approved' }, { outcome: 'refused' }]);
  });

  test('says if an approved request may have been sent before', { tags: 'full' }, async () => {
    await using session = await open(policy(), 'interrupted');
    const { metadata } = await session.execute(fetching('/a'));
    const approve = [{ id: metadata.pending![0]!.id, approve: true as const }];
    const first = await session.resume(metadata.execution_id!, { resolutions: approve });
    expect(first.metadata.network).toEqual([expect.not.objectContaining({ repeated: true })]);
    await session.undo();
    const paused = (await session.paused())!;
    expect(paused.tool_calls).toMatchObject([{ name: 'network:request', status: 'unknown' }]);
    const stale = session.resume(metadata.execution_id!, { resolutions: approve });
    await expect(stale).rejects.toThrow('may have taken effect: 1 (network:request)');
    const second = await session.resume(paused.execution_id, { resolutions: approve });
    expect(second.metadata.network).toMatchObject([{ outcome: 'ok', repeated: true }]);
  });

  test('continues its record and its limits after a pause, and so does its fork', {
    tags: 'full',
  }, async () => {
    const more = { allow: [{ url: `${ORIGIN}/a`, requests: 1 }] };
    const options = { runtime: 'javascript', store: diskStore(join(folder, 'forks')) } as const;
    await using session = await createSandbox({ ...options, session_id: 'one', policy: policy(more) });
    const { metadata } = await session.execute(fetching('/a', '/b', '/a'));
    expect(metadata.network).toMatchObject([{ url: `${ORIGIN}/a`, outcome: 'ok' }]);
    await using fork = await session.fork('two');
    for (const one of [session, fork]) {
      const { execution_id, pending } = (await one.paused())!;
      const { stdout, metadata: seen } = await one.resume(execution_id, {
        resolutions: [{ id: pending[0]!.id, approve: true }],
      });
      expect(stdout).toContain('ENOBUFS');
      expect(seen.network).toMatchObject([
        { url: `${ORIGIN}/a`, outcome: 'ok' },
        { url: `${ORIGIN}/b`, outcome: 'ok', rule: 'approved' },
        { url: `${ORIGIN}/a`, error: expect.stringContaining('permits 1 request per program') },
      ]);
    }
  });

  test('gets an error when its request is denied', { tags: 'full' }, async () => {
    await using session = await open();
    const { metadata } = await session.execute(fetching('/b'));
    const { stdout } = await session.resume(metadata.execution_id!, {
      resolutions: [{ id: metadata.pending![0]!.id, deny: 'not today' }],
    });
    expect(stdout).toContain('EACCES');
    expect(stdout).toContain('Reason: not today');
  });

  test('cannot wait in a blocking call', { tags: 'full' }, async () => {
    await using session = await createSandbox({
      runtime: 'python',
      session_id: 'blocking',
      store: diskStore(join(folder, 'store')),
      policy: policy(),
    });
    const { stdout } = await session.execute(
      `import urllib.request\ntry:\n    urllib.request.urlopen('${ORIGIN}/a')\nexcept OSError as error:\n    print(type(error.reason).__name__, error)`,
    );
    expect(stdout).toContain('PermissionError');
    expect(stdout).toContain('Write `await client.get(...)` with `httpx.AsyncClient` at the top level');
  });
});
