/**
 * Classifies the exports of Node.js modules by running the same probes in Node.js and in the sandbox. `full`: all probes
 * have the same outcome; `partial`: it exists and an outcome differs; `throws`: calling it throws; `exists`: it is not called;
 * `missing`: it does not exist.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createSandbox } from 'llm-wasm-sandbox';

export type Support = 'full' | 'partial' | 'throws' | 'exists' | 'missing';
export type SupportByModule = Record<string, Partial<Record<Support, string[]>>>;

const NAMES = new URL(
  '../../../packages/core/src/runtimes/javascript/guest/node-module-names.js',
  import.meta.url,
).href;
const { IMPLEMENTED, UNAVAILABLE } = (await import(NAMES)) as Record<
  'IMPLEMENTED' | 'UNAVAILABLE',
  readonly string[]
>;
const PROBE = readFileSync(new URL('./probe.cjs', import.meta.url), 'utf8');
const UNAVAILABLE_CODE = 'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM';
const UNIMPLEMENTED_CODE = 'ERR_METHOD_NOT_IMPLEMENTED';
/** Names that begin with an underscore are internal. */
const isPublic = (name: string) => !name.startsWith('_') && name !== 'default';

/**
 * The public exports of the modules, as far as they exist, in a new process of the Node.js that runs the tests, which has no
 * channel to a parent.
 */
export function exportsOfNode(modules: readonly string[]): Record<string, string[]> {
  const program = `const names = (name) => Object.keys(require('node:' + name)).sort();
    console.log(JSON.stringify(Object.fromEntries(${JSON.stringify(modules)}
      .filter((name) => require('node:module').isBuiltin('node:' + name)).map((name) => [name, names(name)]))));`;
  const { stdout } = spawnSync(process.execPath, ['-e', program], { encoding: 'utf8' });
  const found = Object.entries(JSON.parse(stdout) as Record<string, string[]>);
  return Object.fromEntries(found.map(([name, names]) => [name, names.filter(isPublic)]));
}

type Outcomes = Record<string, Record<string, string[]>>;

/** Reports of node:test can follow the line with the outcomes. */
const parse = (output: string): Outcomes =>
  JSON.parse(output.split('\n').findLast((line) => line.startsWith('{"'))!);

function outcomesOfNode(program: string): Outcomes {
  const { stdout, stderr } = spawnSync(process.execPath, ['-e', program], { encoding: 'utf8' });
  if (stdout === '') throw new Error(stderr);
  return parse(stdout);
}

async function outcomesOfSandbox(program: string): Promise<Outcomes> {
  const sandbox = await createSandbox({ runtime: 'javascript', policy: { stdout_max_bytes: 4_000_000 } });
  const result = await sandbox.execute(program);
  await sandbox.close();
  // Tests that the probes declare are cancelled at the end, so the exit code is 1.
  if (!result.stdout.includes('\n{"')) throw new Error(result.stderr);
  return parse(result.stdout);
}

function supportOf(host: readonly string[], guest: readonly string[]): Support {
  if (guest[0] === 'missing') return 'missing';
  if (guest[1] === 'not called') return 'exists';
  if (guest.some((one) => one.includes(UNAVAILABLE_CODE) || one.includes(UNIMPLEMENTED_CODE)))
    return 'throws';
  return JSON.stringify(host) === JSON.stringify(guest) ? 'full' : 'partial';
}

/** Classifies all exports that Node.js has. */
export async function classify(): Promise<SupportByModule> {
  const available = exportsOfNode(IMPLEMENTED);
  const unavailable = exportsOfNode(UNAVAILABLE);
  const program = (exported: object) => `const EXPORTS = ${JSON.stringify(exported)};\n${PROBE}`;
  // The functions of v8 and of unavailable modules are not called in Node.js, where they would start servers and processes or
  // write snapshots.
  const { v8: _, ...called } = available;
  const host = outcomesOfNode(program(called));
  const guest = {
    ...(await outcomesOfSandbox(program(available))),
    ...(await outcomesOfSandbox(program(unavailable))),
  };
  const support: SupportByModule = {};
  for (const [module, names] of Object.entries({ ...available, ...unavailable }).sort()) {
    const rows: Partial<Record<Support, string[]>> = {};
    for (const name of names) {
      const outcomes = guest[module]![name]!;
      const kind = supportOf(host[module]?.[name] ?? outcomes, outcomes);
      rows[kind] ??= [];
      rows[kind].push(name);
    }
    support[module] = rows;
  }
  return support;
}
