/** Parts of `@e2b/code-interpreter` that this sandbox does not have. Calling one fails with an error that says why. */
import { SandboxError } from '../../errors.ts';

const NO_PROCESSES = 'there are no processes and no shell. Run code with runCode()';
const NO_NETWORK = 'programs have no network and no ports';

/** Members that are not available, and why. */
export const UNSUPPORTED = {
  'commands.run': NO_PROCESSES,
  'commands.list': NO_PROCESSES,
  'commands.kill': NO_PROCESSES,
  'commands.connect': NO_PROCESSES,
  'commands.sendStdin': NO_PROCESSES,
  'pty.create': NO_PROCESSES,
  'files.watchDir': 'programs change files only during runCode(). List them afterwards',
  'files.makeDir':
    'files.list() and files.exists() report only folders that contain files. Write a file to the folder',
  connect: 'a sandbox belongs to the process that created it. Keep the object, or use sessions with a store',
  pause: 'sandboxes are not stored. Use createSandbox() with a session_id and a store',
  createSnapshot: 'sandboxes are not stored. Use createSandbox() and the checkpoints of its session',
  fork: 'use createSandbox() with a session_id, and call fork() on the session',
  getHost: NO_NETWORK,
  getMcpUrl: NO_NETWORK,
  uploadUrl: `${NO_NETWORK}. Use files.write()`,
  downloadUrl: `${NO_NETWORK}. Use files.read()`,
} as const;

export function unsupported(name: keyof typeof UNSUPPORTED): SandboxError {
  return new SandboxError('invalid_argument', `${name} is not available: ${UNSUPPORTED[name]}.`);
}

/** The functions of `group`, each of which rejects. */
export function refuse(group: 'commands' | 'pty'): Readonly<Record<string, () => Promise<never>>> {
  const names = (Object.keys(UNSUPPORTED) as (keyof typeof UNSUPPORTED)[]).filter((name) =>
    name.startsWith(`${group}.`),
  );
  return Object.fromEntries(
    names.map((name) => [name.slice(group.length + 1), () => Promise.reject(unsupported(name))]),
  );
}
