/**
 * The wheels that `packages lock` approved, by their SHA-256. They may be added on demand, as those in Pyodide's list.
 *
 * <packages>/lock.json
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { SandboxError } from '../errors.ts';
import { packagesFolder } from '../host/user-folders.ts';
import { type AddedPackage, writeFileOfPackages } from './added-packages.ts';

const approvedWheel = z.strictObject({
  name: z.string().min(1).max(101),
  version: z.string().min(1).max(100),
  file: z.string().min(1).max(200),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  import_names: z.array(z.string().max(101)).max(1000),
});
const lockFile = z.strictObject({ format: z.literal(1), wheels: z.array(approvedWheel).max(2000) });
const MAX_BYTES = 16 * 1024 * 1024;

export type ApprovedWheel = Readonly<z.infer<typeof approvedWheel>>;

const lockPath = () => join(packagesFolder(), 'lock.json');

/** The approved wheels; none if there is no lock file. */
export function readApprovedWheels(): readonly ApprovedWheel[] {
  let text: string;
  try {
    text = readFileSync(lockPath(), 'utf8');
  } catch {
    return [];
  }
  try {
    if (text.length > MAX_BYTES) throw new RangeError('too large');
    return lockFile.parse(JSON.parse(text)).wheels;
  } catch {
    throw new SandboxError(
      'store_failed',
      `${lockPath()} is damaged. Delete it and approve the packages again with "llm-wasm-sandbox packages lock".`,
    );
  }
}

/** Adds wheels to the lock file. They replace those of the same packages. */
export function approveWheels(packages: readonly Pick<AddedPackage, keyof ApprovedWheel>[]): void {
  const approved = packages.map(({ name, version, file, sha256, import_names }) => ({
    name,
    version,
    file,
    sha256,
    import_names: [...import_names],
  }));
  const names = new Set(approved.map(({ name }) => name));
  const wheels = [...readApprovedWheels().filter(({ name }) => !names.has(name)), ...approved].sort((a, b) =>
    a.name < b.name ? -1 : 1,
  );
  writeFileOfPackages(lockPath(), `${JSON.stringify({ format: 1, wheels }, null, 2)}\n`);
}
