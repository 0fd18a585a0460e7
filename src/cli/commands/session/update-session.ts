/** Changes to a stored session outside of a call: checkpoints, rollback, fork. */
import { WorkspaceFiles } from '../../../sandbox/workspace-files.ts';
import { SessionStates } from '../../../session/session-states.ts';
import { notInStore, type SessionContext } from './context.ts';

/** Opens a session as its only writer, applies a change, and waits until the change is stored. */
export async function updateSession<T>(
  context: SessionContext,
  id: string,
  change: (session: SessionStates) => Promise<T> | T,
): Promise<T> {
  const stored = await context.store.read(id);
  if (stored === undefined) throw notInStore(context, id);
  const session = await SessionStates.open(context.store, stored.record);
  let result: T;
  try {
    result = await change(session);
  } catch (cause) {
    await session.release();
    throw cause;
  }
  await session.close();
  return result;
}

/** Adds the files that the user edited in the session's folder to its state, as its next call would. */
export async function syncExternalEdits(session: SessionStates): Promise<void> {
  const { workspace_max_bytes: maxBytes, workspace_max_files: maxFiles } = session.record.policy;
  const files = new WorkspaceFiles(Date.now, { maxBytes, maxFiles });
  files.replace(session.state.workspace);
  await session.syncExternalEdits(files);
}
