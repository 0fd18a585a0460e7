/** The memory that the sessions of a server hold, and its limit per tenant. */
import { describe, expect, test } from 'vitest';
import { folderOfTest } from '../support/folders.ts';
import { call, httpClient, startHttp } from '../support/mcp.ts';

const MB = 1_000_000;
const FILE = `{ const f = std.open('f', 'w'); f.puts('x'.repeat(${MB})); f.close(); }`;
const TOKENS = { a: 'a-secret-of-tenant-a', b: 'b-secret-of-tenant-b' };
const LIMITS = { max_held_bytes: 5 * MB };

async function start(data_dir?: string) {
  const tokens = Object.entries(TOKENS).map(([name, secret]) => `${name}=${secret}`);
  const server = await startHttp({ ...LIMITS, tokens, ...(data_dir && { store: data_dir }) });
  const [a, b] = await Promise.all(Object.values(TOKENS).map((token) => httpClient(server, 'modern', token)));
  const run = async (client: typeof a, session_id: string) => {
    const session = { language: 'javascript', session_id };
    const created = await call(client!, 'create_session', session);
    if (created.isError) return created;
    return call(client!, 'execute_code', { ...session, code: FILE });
  };
  const close = async () => {
    await Promise.all([a!.close(), b!.close()]);
    await server.close();
  };
  return { server, a: a!, b: b!, run, close };
}

describe('the memory that sessions of a server hold', () => {
  // guarantee: memory-limit
  // proves: Without a store, the memory that the sessions of a tenant hold is limited, and other tenants are not affected.
  test('is limited per tenant without a store; other tenants are not affected', async () => {
    const { server, a, b, run, close } = await start();
    expect((await run(a, 'one')).isError).toBe(false);
    expect((await run(a, 'two')).isError).toBe(false);
    const refused = await run(a, 'three');
    expect(refused).toMatchObject({
      isError: true,
      text: expect.stringContaining('in memory, and the limit is'),
    });
    expect((await run(b, 'one')).isError).toBe(false);
    expect(server.state.pool.heldBytes).toBeLessThan(LIMITS.max_held_bytes);
    expect(await server.state.metrics.registry.metrics()).toMatch(/llm_wasm_sandbox_held_bytes [1-9]\d{6}/);
    expect((await call(a, 'destroy_session', { session_id: 'one' })).isError).toBe(false);
    const code = { language: 'javascript', session_id: 'three', code: FILE };
    expect((await call(a, 'execute_code', code)).isError).toBe(false);
    await close();
  });

  // guarantee: memory-limit
  // proves: Calls without a session share one workspace per tenant, with a quota, and do not count as memory of sessions.
  test('does not include calls without a session, which share one workspace per tenant with a quota', {
    tags: 'full',
  }, async () => {
    const { server, a, b, close } = await start();
    // The quota is 64 MiB.
    const write = (client: typeof a, name: string) => {
      const block = 'new Uint8Array(30e6).buffer, 0, 30e6';
      const code = `const fd = os.open('${name}', os.O_WRONLY | os.O_CREAT); os.write(fd, ${block})`;
      return call(client, 'execute_code', { language: 'javascript', code });
    };
    const results = [];
    for (const name of ['x', 'y', 'z']) results.push((await write(a, name)).structured['result']);
    results.push((await write(b, 'x')).structured['result']);
    expect(results).toEqual([30e6, 30e6, -28, 30e6]);
    expect(server.state.pool.heldBytes).toBe(0);
    await close();
  });

  // guarantee: memory-limit
  // proves: With a store, memory does not limit the number of sessions, because idle sessions are unloaded.
  test('does not limit the number of sessions with a store, because idle ones are unloaded', {
    tags: 'full',
  }, async () => {
    const data_dir = folderOfTest();
    const { server, a, run, close } = await start(data_dir);
    for (const id of ['one', 'two', 'three', 'four']) expect((await run(a, id)).isError).toBe(false);
    expect(server.state.pool.heldBytes).toBeLessThan(LIMITS.max_held_bytes / 2);
    const { structured } = await call(a, 'list_files', { session_id: 'one' });
    expect(structured).toMatchObject({ files: [{ path: 'f', size_bytes: MB }] });
    await close();
  });
});
