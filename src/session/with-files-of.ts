/**
 * Sessions that share the files of a sandbox, the owner. Before a program runs in another session, that
 * session gets the files of the owner. Afterwards, what the program has changed is applied to the files of the owner, as
 * others have left them. Only differences are copied.
 */
import type { Sandbox } from '../sandbox/sandbox.ts';
import type { Session } from './session.ts';

/** Runs a program in a session with the files of the owner. Programs of one session must run one after another. */
export async function withFilesOf<T>(
  owner: Sandbox,
  session: Session,
  execute: (session: Session) => Promise<T>,
): Promise<T> {
  if (session === owner) return execute(session);
  const before = await owner.fileTree();
  await session.editFiles((tree) => tree.difference(before));
  const result = await execute(session);
  const after = await session.fileTree();
  await owner.editFiles(() => before.difference(after));
  return result;
}
