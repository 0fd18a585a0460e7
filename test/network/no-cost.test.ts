/**
 * What a program without a network pays for it: nothing is loaded, and no fuel is consumed.
 *
 * @module-tag full
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSandbox } from 'llm-wasm-sandbox';
import { expect, test } from 'vitest';
import type { PolicyInput } from '../../packages/core/src/schema.ts';
import { runProcess } from '../support/cli.ts';
import { folderOfFile } from '../support/folders.ts';

const folder = folderOfFile();

/** The modules that a process loads to run a program. */
async function modulesOf(name: string, policy: object): Promise<string[]> {
  const coverage = join(folder, name);
  const entry = new URL('../../packages/core/dist/index.js', import.meta.url).href;
  const script = `const { createSandbox } = await import(${JSON.stringify(entry)});
const sandbox = await createSandbox({ runtime: 'javascript', policy: ${JSON.stringify(policy)} });
const { success } = await sandbox.execute("try { await fetch('http://127.0.0.1:9/'); } catch {}");
await sandbox.close();
if (!success) process.exit(3);`;
  const env = { ...(process.env as Record<string, string>), NODE_V8_COVERAGE: coverage };
  const { status, stderr } = await runProcess('node', ['--input-type=module', '-e', script], { env });
  expect(stderr).toBe('');
  expect(status).toBe(0);
  const reports = readdirSync(coverage).map((file) => JSON.parse(readFileSync(join(coverage, file), 'utf8')));
  return reports.flatMap(({ result }) => result.map(({ url }: { url: string }) => url));
}

const ofNetwork = (urls: readonly string[]) => urls.filter((url) => /dist\/network\/|\/undici\//.test(url));

test('a program without a permission loads neither the broker nor the HTTP client', async () => {
  expect(ofNetwork(await modulesOf('without', {}))).toEqual([]);
  const permitted = ofNetwork(await modulesOf('with', { network: { allow: ['http://127.0.0.1:9/*'] } }));
  expect(permitted.some((url) => url.includes('/undici/'))).toBe(true);
  expect(permitted.some((url) => url.includes('packages/core/dist/network/broker'))).toBe(true);
});

test('a JavaScript program that sends no requests consumes the same fuel with a permission', async () => {
  const fuelOf = async (policy: PolicyInput) => {
    await using sandbox = await createSandbox({ runtime: 'javascript', policy });
    return (await sandbox.execute('console.log(JSON.stringify([...Array(1000).keys()]))')).fuel_consumed;
  };
  expect(await fuelOf({ network: { allow: ['https://api.example/*'] } })).toBe(await fuelOf({}));
});

test('a Python program without a permission imports nothing of the network', async () => {
  const code =
    "import sys, urllib.request\nprint([name for name in sys.modules if name.startswith('_sandbox_') and name != '_sandbox_network'])";
  const modulesWith = async (policy: PolicyInput) => {
    await using sandbox = await createSandbox({ runtime: 'python', policy });
    return (await sandbox.execute(code)).stdout;
  };
  expect(await modulesWith({})).not.toContain('_sandbox_http_client');
  expect(await modulesWith({ network: { allow: ['https://api.example/*'] } })).toContain(
    '_sandbox_http_client',
  );
});
