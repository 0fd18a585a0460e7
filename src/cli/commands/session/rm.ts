/** `session rm`: deletes sessions by name. */
import { SandboxError } from '../../../errors.ts';
import { formatBytes } from '../../../quantities.ts';
import { notInStore } from './context.ts';
import type { SessionAction } from './subcommand.ts';

export const sessionRm: SessionAction = async (context, ids) => {
  const deleted: { session_id: string; bytes: number }[] = [];
  const errors: { session_id: string; error: string }[] = [];
  for (const session_id of ids as readonly string[]) {
    try {
      deleted.push({ session_id, bytes: await context.sessions.delete(session_id) });
    } catch (cause) {
      if (!(cause instanceof SandboxError)) throw cause;
      const error = cause.code === 'session_not_found' ? notInStore(context, session_id) : cause;
      errors.push({ session_id, error: error.message });
    }
  }
  const reclaimed_bytes = deleted.reduce((sum, { bytes }) => sum + bytes, 0);
  return {
    json: { deleted, reclaimed_bytes, errors },
    text: deleted.map(({ session_id, bytes }) => `Deleted ${session_id} (${formatBytes(bytes)})`).join('\n'),
    problems: errors.map(({ error }) => error),
  };
};
