/** Requests of child processes: the rules, limits and records are those of the call. */
import { EventEmitter, once } from 'node:events';
import { join } from 'node:path';
import { createSandbox } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import type { PolicyInput, RuntimeName } from '../../packages/core/src/schema.ts';
import { folderOfFile } from '../support/folders.ts';
import { startLoopbackServer } from '../support/loopback-server.ts';
import { sharedByFile } from '../support/shared.ts';

const server = await sharedByFile(startLoopbackServer());
const folder = folderOfFile();

const permitted = (more: object = {}): PolicyInput => ({
  network: { allow: [`${server.origin}/*`], ...more },
});

async function run(runtime: RuntimeName, code: string, policy: PolicyInput = permitted()) {
  await using sandbox = await createSandbox({ runtime, policy });
  return await sandbox.execute(code.replaceAll('ORIGIN', server.origin));
}

const PYTHON = `
import json, sys, urllib.request
try:
    print(json.load(urllib.request.urlopen(sys.argv[1]))['city'])
except OSError as error:
    print(error)
`;
const JAVASCRIPT =
  'fetch(process.argv[1]).then((r) => r.json()).then((v) => console.log(v.city), (e) => console.log(e.message))';

/** A Python program that starts each of these command lines and prints its output. */
const starting = (...commands: string[][]) => `
import subprocess
for command in ${JSON.stringify(commands)}:
    print(subprocess.run(command, capture_output=True, text=True).stdout, end='')
`;

describe('child process', () => {
  test('sends requests under the rules of the call, in both languages', async () => {
    const { stdout, stderr, metadata } = await run(
      'python',
      starting(
        ['python3', '-c', PYTHON, 'ORIGIN/weather'],
        ['node', '-e', JAVASCRIPT, 'ORIGIN/weather'],
        ['python3', '-c', PYTHON, 'https://other.example/a'],
        ['node', '-e', JAVASCRIPT, 'https://other.example/b'],
      ),
    );
    expect(stderr).toBe('');
    const lines = stdout.split('\n');
    expect(lines.slice(0, 2)).toEqual(['Berlin', 'Berlin']);
    expect(lines[2]).toContain('GET https://other.example/a is not permitted: no rule matches it.');
    expect(lines[3]).toContain('GET https://other.example/b is not permitted: no rule matches it.');
    expect(metadata.network?.map(({ outcome }) => outcome)).toEqual(['ok', 'ok', 'refused', 'refused']);
  });

  test('sends requests from a shell', { tags: 'full' }, async () => {
    const { stdout } = await run(
      'bash',
      `python3 -c "import urllib.request as u; print(u.urlopen('ORIGIN/csv').read().decode())" | sort | head -2`,
    );
    expect(stdout).toBe('\na,1\n');
  });

  // guarantee: network
  test('gets the same error as its parent without a permission', async () => {
    for (const [command, flag, code] of [
      ['python3', '-c', "import urllib.request\nurllib.request.urlopen('ORIGIN/weather')"],
      [
        'node',
        '-e',
        "fetch('ORIGIN/weather').catch((error) => { console.log(error.message); throw error; })",
      ],
    ] as const) {
      const runtime = command === 'node' ? 'javascript' : 'python';
      const lastLine = (text: string) => text.trim().split('\n').at(-1);
      const parent = await run(runtime, code, {});
      const child = await run(
        'python',
        `import subprocess, sys\nout = subprocess.run(${JSON.stringify([command, flag, code])}, capture_output=True, text=True)\nsys.stdout.write(out.stdout)\nsys.stderr.write(out.stderr)`,
        {},
      );
      expect(child.stdout).toBe(parent.stdout);
      expect(lastLine(child.stderr)).toBe(lastLine(parent.stderr));
    }
  });

  test('counts against the limits of the call', async () => {
    const command = ['python3', '-c', PYTHON, 'ORIGIN/weather'];
    const { stdout, metadata } = await run(
      'python',
      `${starting(command, command)}
import urllib.request
try:
    urllib.request.urlopen('ORIGIN/weather')
except OSError as error:
    print(error)`,
      permitted({ limits: { requests: 2 } }),
    );
    expect(stdout).toMatch(/^Berlin\nBerlin\n.*limit/);
    expect(metadata.network).toHaveLength(2);
  });

  test('has no tools, and no responses of its parent', async () => {
    await using sandbox = await createSandbox({
      runtime: 'python',
      policy: permitted(),
      tools: { add: { description: 'Adds.', execute: () => 'called' } },
    });
    const child = `
from _sandbox_tool_calls import call_blocking, ToolError
for name, text in ('add', '{}'), ('network:read', '1'):
    try:
        print(call_blocking(name, text))
    except ToolError as error:
        print(error.code)
try:
    import tools
except ImportError:
    print('no tools')
`;
    const { stdout, metadata } = await sandbox.execute(
      `
import subprocess, urllib.request
open_response = urllib.request.urlopen('ORIGIN/big')
print(subprocess.run(['python3', '-c', ${JSON.stringify(child)}], capture_output=True, text=True).stdout, end='')
print(len(open_response.read()))`.replaceAll('ORIGIN', server.origin),
    );
    expect(stdout).toBe('limit\nlimit\nno tools\n1048576\n');
    expect(metadata.tool_calls).toEqual([]);
  });

  test('ends its requests and responses with itself', { tags: 'full' }, async () => {
    const command = ['node', '-e', "fetch('ORIGIN/stalled').then(() => process.exit(3))"];
    const { stdout, metadata } = await run(
      'python',
      `
import subprocess
codes = {subprocess.run(${JSON.stringify(command)}).returncode for _ in range(70)}
print(codes)`,
    );
    expect(stdout).toBe('{3}\n');
    expect(metadata.network).toHaveLength(70);
    expect(metadata.network?.every(({ status }) => status === 200)).toBe(true);
  });

  test('waits no longer than its parent waits for it', async () => {
    const code = `
import subprocess
try:
    subprocess.run(['node', '-e', "fetch('ORIGIN/silent')"], timeout=0.2)
except subprocess.TimeoutExpired:
    print('expired')
`;
    expect((await run('python', code)).stdout).toBe('expired\n');
  });

  test('counts its waiting as waiting for tools', { tags: 'full' }, async () => {
    const code = `
import subprocess
for _ in range(2):
    out = subprocess.run(['python3', '-c', "import urllib.request as u\\ntry:\\n    u.urlopen('ORIGIN/silent', timeout=0.7)\\nexcept OSError as error:\\n    print(error)"], capture_output=True, text=True)
    print(out.stdout, end='')
`;
    const { stdout, metadata } = await run('python', code, { ...permitted(), max_wait_seconds: 1 });
    expect(metadata.trap_reason).toBeNull();
    expect(stdout).toMatch(/timed out: the request took longer.*\n.*max_wait_seconds/);
  });

  test('is asked about like its parent, and cannot pause', async () => {
    const asked: string[] = [];
    await using sandbox = await createSandbox({
      runtime: 'javascript',
      policy: { network: { ask: true } },
      session_id: `children-${server.port}`,
      onApproval: ({ arguments: { url } }) => {
        asked.push(String(url));
        return String(url).endsWith('/no') ? false : undefined;
      },
    });
    const { stdout } = await sandbox.execute(`
const { spawnSync } = require('child_process');
for (const path of ['/no', '/later'])
  console.log(spawnSync('node', ['-e', ${JSON.stringify(JAVASCRIPT)}, 'https://other.example' + path]).stdout.toString());
`);
    expect(asked).toEqual(['https://other.example/no', 'https://other.example/later']);
    expect(stdout).toMatch(/not approved.*\n\n.*child process cannot pause/);
  });

  test('ends with a cancelled call', async () => {
    const events = new EventEmitter();
    const received = once(events, 'received');
    const closed = once(events, 'closed');
    await using holding = await startLoopbackServer({
      '/hold': (_, response) => {
        response.once('close', () => events.emit('closed'));
        events.emit('received');
      },
    });
    await using sandbox = await createSandbox({
      runtime: 'python',
      policy: { network: { allow: [`${holding.origin}/*`] } },
    });
    const running = sandbox.execute(
      starting(['node', '-e', "fetch('ORIGIN/hold')"]).replaceAll('ORIGIN', holding.origin),
    );
    await received;
    running.cancel();
    expect((await running).metadata.trap_reason).toBe('cancelled');
    await closed;
  });

  test('is answered from the recording', { tags: 'full' }, async () => {
    const file = join(folder, 'child.har');
    const code = starting(
      ['python3', '-c', PYTHON, 'ORIGIN/weather'],
      ['node', '-e', JAVASCRIPT, 'ORIGIN/weather'],
    );
    const live = await run('python', code, { ...permitted({ record: file }), deterministic: true });
    const replayed = await run('python', code, { ...permitted({ replay: file }), deterministic: true });
    expect(replayed.stdout).toBe('Berlin\nBerlin\n');
    expect(replayed.fuel_consumed).toBe(live.fuel_consumed);
    const other = await run(
      'python',
      starting(['python3', '-c', PYTHON, 'ORIGIN/other']),
      permitted({ replay: file }),
    );
    expect(other.stdout).toContain('not in the recording');
  });
});
