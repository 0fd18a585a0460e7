/**
 * The permissions of a process that runs guests, in terms of Node's permission model: it may read the files of this
 * installation that workers load, and nothing else. Child processes, native addons, WASI, the inspector and, where the
 * version of Node.js restricts it, the network are denied because no flag allows them.
 */
import { join } from 'node:path';
import { SandboxError } from '../../errors.ts';
import { installedFile } from '../../host/install-folder.ts';
import { nodeModuleFolders } from '../../host/node-module-folders.ts';
import { optionalPackages } from '../../runtimes/programs/program-folders.ts';

/** Names of the flag that enables the permission model, newest first. */
const PERMISSION_FLAGS = ['--permission', '--experimental-permission'] as const;
/** The package that workers import. It has no dependencies. */
const IMPORTED_PACKAGE = 'pako';

/**
 * Resolving a symbolic link would need permission to read every folder above it. The only warnings are about the flags.
 */
const OTHER_FLAGS = ['--preserve-symlinks', '--no-warnings'] as const;

/** Permissions that a process or thread with guests must not have. The process itself starts threads. */
const DENIED = {
  process: ['fs.write', 'child'],
  thread: ['fs.write', 'child', 'worker'],
} as const;

interface Permission {
  has(scope: string, reference?: string): boolean;
}
const currentPermission = () => (process as { permission?: Permission }).permission;

/** Command-line flags of Node.js for a process that runs guests and for its threads. */
export interface PermissionFlags {
  readonly process: readonly string[];
  readonly thread: readonly string[];
}

/** Throws `invalid_argument` if this version of Node.js, given by the flags it knows, has no permission model. */
export function permissionFlags(
  knownFlags: { has(flag: string): boolean } = process.allowedNodeEnvironmentFlags,
): PermissionFlags {
  const permission = PERMISSION_FLAGS.find((flag) => knownFlags.has(flag));
  if (permission === undefined || !knownFlags.has('--allow-fs-read'))
    throw new SandboxError(
      'invalid_argument',
      `options.isolation: "process" needs the permission model of Node.js, which ${process.version} does not have. ` +
        'Use Node.js 20.19 or newer, or the isolation "thread".',
    );
  const reads = readablePaths().map((path) => `--allow-fs-read=${path}`);
  const thread = [permission, ...reads, ...OTHER_FLAGS];
  return { process: [...thread, '--allow-worker'], thread };
}

/** The installation as workers read it: compiled sources and guests, `package.json`, and the imported package. */
function readablePaths(): string[] {
  const dist = installedFile('');
  const packages = [IMPORTED_PACKAGE, ...optionalPackages()];
  const folders = [dist, ...packages.flatMap((name) => nodeModuleFolders(name, dist))];
  return [join(dist, '..', 'package.json'), ...folders.map((folder) => join(folder, '*'))];
}

/** Throws unless the restrictions apply here, in this process or thread. */
export function assertRestricted(kind: keyof typeof DENIED): void {
  const permission = currentPermission();
  const isAllowed = (scope: string) => permission === undefined || permission.has(scope);
  // Asks about a file outside the installation: without a path, some versions answer whether anything can be read.
  const readsAll = permission?.has('fs.read', process.execPath);
  const allowed = [...DENIED[kind].filter(isAllowed), ...(readsAll ? ['fs.read'] : [])];
  if (allowed.length === 0) return;
  throw new SandboxError(
    'internal',
    `A worker ${kind} has permissions that it must not have: ${allowed.join(', ')}.`,
  );
}
