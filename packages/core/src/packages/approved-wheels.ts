/**
 * The wheels that `packages lock` approved, by their SHA-256. They may be added on demand, as those in Pyodide's list.
 *
 * <packages>/lock.json
 */
import { join } from 'node:path';
import * as z from 'zod';
import { SandboxError } from '../errors.ts';
import { readBoundedFile } from '../host/read-bounded-file.ts';
import { packagesFolder } from '../host/user-folders.ts';
import { type AddedPackage, addedPackage, MAX_LOCK_BYTES, writeFileOfPackages } from './added-packages.ts';
import { parseOnce } from './parse-once.ts';

const approvedWheel = addedPackage
  .pick({ name: true, version: true, file: true, sha256: true, import_names: true })
  .extend({ wheel_bytes: z.number().int().min(0).optional() });
const lockFile = z.strictObject({ format: z.literal(1), wheels: z.array(approvedWheel).max(2000) });

export type ApprovedWheel = Readonly<z.infer<typeof approvedWheel>>;

const lockPath = () => join(packagesFolder(), 'lock.json');

const parseLock = parseOnce((text): readonly ApprovedWheel[] => lockFile.parse(JSON.parse(text)).wheels);

/** The approved wheels; none if there is no lock file. */
export function readApprovedWheels(): readonly ApprovedWheel[] {
  try {
    return parseLock(readBoundedFile(lockPath(), MAX_LOCK_BYTES).toString('utf8'), lockPath());
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw new SandboxError(
      'store_failed',
      `${lockPath()} is damaged. Delete it and approve the packages again with "llm-wasm-sandbox packages lock".`,
    );
  }
}

/** Adds wheels to the lock file. They replace those of the same packages. */
export function approveWheels(packages: readonly Pick<AddedPackage, keyof ApprovedWheel>[]): void {
  const approved = packages.map(({ name, version, file, sha256, import_names, wheel_bytes }) => ({
    name,
    version,
    file,
    sha256,
    import_names: [...import_names],
    wheel_bytes,
  }));
  const names = new Set(approved.map(({ name }) => name));
  const wheels = [...readApprovedWheels().filter(({ name }) => !names.has(name)), ...approved].sort((a, b) =>
    a.name < b.name ? -1 : 1,
  );
  writeLock(wheels);
}

/** Removes the wheels of packages from the lock file. Packages that are already added stay. */
export function withdrawApproval(names: ReadonlySet<string>): void {
  writeLock(readApprovedWheels().filter(({ name }) => !names.has(name)));
}

const writeLock = (wheels: readonly ApprovedWheel[]) =>
  writeFileOfPackages(lockPath(), `${JSON.stringify({ format: 1, wheels }, null, 2)}\n`);
