/** Runs attacks by wheels: a sandbox with the wheel must be refused, with an error that says why. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSandbox, NATIVE_TAGS, PYTHON_TAG, SandboxError } from '@llm-wasm-sandbox/core/internal';
import type { Attack, PackageAttack } from './attack.ts';
import type { Surroundings } from './surroundings.ts';

export async function runPackageAttack(
  attack: Attack<PackageAttack>,
  surroundings: Surroundings,
): Promise<string[]> {
  const runtime = attack.runtime!;
  const folder = join(surroundings.folder, `store-${attack.id.replaceAll('/', '-')}`);
  mkdirSync(folder);
  const path = join(folder, `attack-1.0-${PYTHON_TAG}-${NATIVE_TAGS}.whl`);
  writeFileSync(path, attack.wheel());
  const neighbour = surroundings.checkNeighbour(runtime);
  const problems = await createSandbox({ runtime, packages: [path] }).then(
    async (sandbox) => {
      await sandbox.close();
      return ['the wheel was accepted'];
    },
    (cause: unknown) => unexpected(cause, attack.refused),
  );
  return [...problems, ...(await neighbour), ...surroundings.checkHost()];
}

function unexpected(cause: unknown, refused: RegExp): string[] {
  const isExpected =
    cause instanceof SandboxError &&
    (cause.code === 'invalid_argument' || cause.code === 'module_invalid') &&
    refused.test(cause.message);
  return isExpected ? [] : [`refused with ${String(cause)}, expected ${refused}`];
}
