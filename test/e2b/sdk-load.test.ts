/** Many clients at once: no call is lost, and each gets its own answers. E2B_LOAD_SECONDS=300 sets the duration. */
import { expect, test } from 'vitest';
import { startHttp } from '../support/mcp.ts';
import { connection, loadSdk, type Sdk } from './load-sdk.ts';

const CLIENTS = 64;
const TENANTS = 4;
const SECONDS = Number(process.env['E2B_LOAD_SECONDS'] ?? 5);

test(`${CLIENTS} clients run programs and commands at the same time`, async () => {
  const { Sandbox } = await loadSdk();
  const keys = Array.from({ length: TENANTS }, (_, i) => `tenant${i}-secret-0123456789`);
  await using server = await startHttp({
    e2b: true,
    tokens: keys.map((key, i) => `tenant${i}=${key}`),
    rate_per_minute: 1_000_000,
    cpu_seconds_per_minute: 60,
  });
  const calls = keys.map(() => 0);
  const client = async (i: number) => {
    const options = { ...connection(server, keys[i % TENANTS]!), timeoutMs: 3_600_000 };
    const sandbox: Sdk = await Sandbox.create({ ...options, requestTimeoutMs: 300_000 });
    await sandbox.runCode(`n = 0; me = ${i}`, { timeoutMs: 300_000 });
    const end = Date.now() + SECONDS * 1000;
    for (let n = 1; n === 1 || Date.now() < end; n++) {
      const { text } = await sandbox.runCode('n += 1; (me, n)', { timeoutMs: 300_000 });
      expect(text).toBe(`(${i}, ${n})`);
      await sandbox.files.write('n.txt', `${i} ${n}`);
      const { stdout } = await sandbox.commands.run('cat n.txt', { timeoutMs: 300_000 });
      expect(stdout).toBe(`${i} ${n}`);
      calls[i % TENANTS]! += 3;
    }
    expect(await sandbox.kill()).toBe(true);
  };
  await Promise.all(Array.from({ length: CLIENTS }, (_, i) => client(i)));
  // Tenants with the same load get similar shares.
  expect(Math.min(...calls) * 4).toBeGreaterThan(Math.max(...calls));
  console.log(`calls per tenant in ${SECONDS} s: ${calls.join(', ')}`);
}, 900_000);
