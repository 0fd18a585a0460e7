/**
 * Runs an attack and checks its surroundings: the host is unchanged, a sandbox that ran at the same time saw nothing, and
 * the next run of the attacked sandbox prints the same and spends the same fuel as in a sandbox that was never attacked.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  createSandbox,
  type ExecuteOptions,
  type PolicyInput,
  type RuntimeName,
  type SandboxResult,
} from 'llm-wasm-sandbox';
import { afterAll, beforeAll, expect } from 'vitest';
import { ATTACK_PROGRAMS } from '../../tools/redteam/src/programs/index.ts';
import { NEIGHBOUR_OUTPUT } from '../../tools/redteam/src/surroundings.ts';

/** Stands for a secret of the host. It must never appear in a result. */
const SECRET = 'host-secret-5d1f';

let canary = '';

/** Gives the host a secret file and variable while the tests of a file run. Every file that uses this module calls it. */
export function useCanary(): void {
  beforeAll(() => {
    canary = mkdtempSync(join(tmpdir(), 'canary-'));
    writeFileSync(join(canary, 'secret.txt'), SECRET);
    process.env['CANARY_SECRET'] = SECRET;
  });

  afterAll(() => {
    rmSync(canary, { recursive: true });
    delete process.env['CANARY_SECRET'];
    canary = '';
  });
}

/** The parts of this process and its files that an attack could change. */
function hostState() {
  return {
    env: { ...process.env },
    cwd: process.cwd(),
    globals: Reflect.ownKeys(globalThis).map(String).sort(),
    prototypes: [Object, Array, Function, String, Promise, Map, Uint8Array].map((type) =>
      Reflect.ownKeys(type.prototype).map(String),
    ),
    listeners: process.eventNames().map((name) => [String(name), process.listenerCount(name as string)]),
    canary: readdirSync(canary).map((name) => [name, readFileSync(join(canary, name), 'utf8')]),
  };
}

const baselines = new Map<RuntimeName, Promise<readonly [string, number]>>();

/** Output and fuel of the probe in a sandbox that was never attacked. */
function baseline(runtime: RuntimeName): Promise<readonly [string, number]> {
  let probe = baselines.get(runtime);
  if (probe === undefined) {
    probe = (async () => {
      await using sandbox = await createSandbox({ runtime });
      const { stdout, fuel_consumed, success } = await sandbox.execute(ATTACK_PROGRAMS[runtime].nextRun);
      expect(success).toBe(true);
      return [stdout, fuel_consumed] as const;
    })();
    baselines.set(runtime, probe);
  }
  return probe;
}

interface AttackSetup {
  readonly policy?: PolicyInput;
  readonly options?: ExecuteOptions;
}

/** Runs `code` as an attack, checks the host, the neighbour and the next run, and returns the result of the attack. */
export async function attack(
  runtime: RuntimeName,
  code: string,
  setup: AttackSetup = {},
): Promise<SandboxResult> {
  const expected = await baseline(runtime);
  await using neighbour = await createSandbox({ runtime });
  await neighbour.writeFile('own.txt', 'mine');
  const policy = { fuel_budget: 3_000_000_000, timeout_seconds: 20, ...setup.policy };
  await using sandbox = await createSandbox({ runtime, policy });
  const before = hostState();
  const [result, beside] = await Promise.all([
    sandbox.execute(code, setup.options),
    neighbour.execute(ATTACK_PROGRAMS[runtime].neighbour),
  ]);
  expect(beside).toMatchObject({ success: true, stdout: NEIGHBOUR_OUTPUT, files_created: [], stderr: '' });
  expect(await neighbour.listFiles()).toMatchObject([{ path: 'own.txt', size_bytes: 4 }]);
  expect(result.metadata.trap_reason).not.toBe('worker_lost');
  expect(JSON.stringify(result)).not.toContain(SECRET);
  const next = await sandbox.execute(ATTACK_PROGRAMS[runtime].nextRun, { fuel_budget: 1_000_000_000 });
  expect([next.stdout, next.fuel_consumed]).toEqual(expected);
  expect(hostState()).toEqual(before);
  return result;
}

/** Host path of the file with the secret. */
export const canaryFile = () => join(canary, 'secret.txt');

/** Evaluates Python expressions one by one; returns the value of each as text, or the name of its exception. */
export async function tryPython(
  lines: readonly string[],
  setup?: AttackSetup,
): Promise<Record<string, string>> {
  const result = await attack(
    'python',
    `
import json, os, sys
seen = {}
for line in json.loads(${JSON.stringify(JSON.stringify(lines))}):
    try: seen[line] = ascii(eval(line))[:200]
    except Exception as error: seen[line] = type(error).__name__
    print(json.dumps([line, seen[line]]), flush=True)
`,
    setup,
  );
  expect(result).toMatchObject({ success: true });
  return readPairs(result.stdout);
}

/** Does the same for JavaScript expressions and awaits promises. */
export async function tryJavaScript(
  lines: readonly string[],
  setup?: AttackSetup,
): Promise<Record<string, string>> {
  const result = await attack(
    'javascript',
    `
import * as std from 'std';
import * as os from 'os';
for (const line of ${JSON.stringify(lines)}) {
  let seen;
  try { const value = await eval(line); seen = typeof value === 'function' ? 'function' : String(value).slice(0, 200); }
  catch (error) { seen = error?.name ?? String(error); }
  console.log(JSON.stringify([line, seen]));
}
`,
    setup,
  );
  expect(result).toMatchObject({ success: true });
  return readPairs(result.stdout);
}

function readPairs(stdout: string): Record<string, string> {
  return Object.fromEntries(
    stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as [string, string]),
  );
}
