/** Imports added packages in guests, to find out whether they work and how much fuel their import takes. */
import type { MeasureImport } from '../packages/install-packages.ts';
import { LANGUAGES } from '../runtimes/registry/languages.ts';
import { PACKAGE_RUNTIME } from '../runtimes/registry/program-files.ts';
import { parse, type SandboxResult, sandboxOptions } from '../schema.ts';
import { createParts } from './create-parts.ts';
import { freshSandbox, type Sandbox } from './sandbox.ts';

/** Sufficient to import the largest packages on a slow machine. A package that loops ends after seconds. */
const POLICY = {
  fuel_budget: 40_000_000_000,
  memory_bytes: 2 ** 30,
  timeout_seconds: 120,
  deterministic: true,
};

/** A sandbox with these packages and sufficient limits. */
async function openTestSandbox(packages: readonly string[]): Promise<Sandbox> {
  const options = { runtime: PACKAGE_RUNTIME, packages: [...packages], preload: [], policy: POLICY };
  return freshSandbox(await createParts(parse(sandboxOptions, options, 'options')));
}

/** The last line that a failed run printed to standard error, or the limit that it reached. */
const failureOf = ({ metadata, stderr }: SandboxResult): string =>
  metadata.trap_message ?? stderr.trim().split('\n').at(-1) ?? '';

export const measureImport: MeasureImport = async (module, packages) => {
  await using sandbox = await openTestSandbox(packages);
  const statement = LANGUAGES[PACKAGE_RUNTIME].importStatement(module);
  const nothing = await sandbox.execute('');
  const once = await sandbox.execute(statement);
  if (!once.success) return { failure: failureOf(once) };
  const twice = await sandbox.execute(`${statement}\n${statement}`);
  const difference = (more: SandboxResult, less: SandboxResult) =>
    Math.max(0, more.fuel_consumed - less.fuel_consumed);
  return { fuel_first_import: difference(once, nothing), fuel_cached_import: difference(twice, once) };
};
