/** Imports added packages in guests, to find out whether they work and how much fuel their import takes. */
import { LANGUAGES } from '../../../runtimes/languages.ts';
import { PACKAGE_RUNTIME } from '../../../runtimes/program-files.ts';
import type { SandboxResult } from '../../../schema.ts';
import { createSandbox } from '../../../session/create-sandbox.ts';
import type { Session } from '../../../session/session.ts';

/** Sufficient to import the largest packages on a slow machine. */
const POLICY = {
  fuel_budget: 200_000_000_000,
  memory_bytes: 2 ** 30,
  timeout_seconds: 300,
  deterministic: true,
};

interface ImportFuel {
  readonly fuel_first_import: number;
  readonly fuel_cached_import: number;
}

/** A session with these packages, without a store. */
export const openTestSession = (packages: readonly string[]): Promise<Session> =>
  createSandbox({
    runtime: PACKAGE_RUNTIME,
    packages: [...packages],
    policy: POLICY,
    auto_persist_globals: true,
  });

/** The last line that a failed run printed to standard error, or the limit that it reached. */
export const failureOf = ({ metadata, stderr }: SandboxResult): string =>
  metadata.trap_message ?? stderr.trim().split('\n').at(-1) ?? '';

const importStatement = (module: string) => LANGUAGES[PACKAGE_RUNTIME].importStatement(module);

/** The fuel of importing a module in a fresh guest with these packages, or why it cannot be imported. */
export async function measureImport(
  module: string,
  packages: readonly string[],
): Promise<ImportFuel | { readonly failure: string }> {
  await using session = await openTestSession(packages);
  const first = await session.execute(importStatement(module));
  if (!first.success) return { failure: failureOf(first) };
  const again = await session.execute(importStatement(module));
  const nothing = await session.execute('');
  const fuel = ({ fuel_consumed }: SandboxResult) => Math.max(0, fuel_consumed - nothing.fuel_consumed);
  return { fuel_first_import: fuel(first), fuel_cached_import: fuel(again) };
}
