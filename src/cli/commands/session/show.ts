/** `session show`: shows the record, variables, files and checkpoints of a session. */
import { SandboxError } from '../../../errors.ts';
import type { Variable } from '../../../runtimes/variable.ts';
import { describeFiles } from '../../../sandbox/workspace-files.ts';
import { describeCheckpoint } from '../../../session/make-checkpoint.ts';
import { readSession, type SessionContext } from './context.ts';
import { formatCheckpoints, formatFiles, formatRecord, formatVariables } from './record-text.ts';
import type { SessionAction } from './subcommand.ts';

export const sessionShow: SessionAction = async (context, [id]) => {
  const { record, state, checkpoints: stored } = await readSession(context, id!);
  const stored_bytes = await context.store.size(id!);
  const salvaged = await context.store.readWorkspace(id!);
  const files = describeFiles((salvaged?.workspace ?? state.workspace).values());
  const checkpoints = stored.map(describeCheckpoint);
  const { variables, problem } = await readVariables(context, id!);
  const sections = [
    formatRecord(record, stored_bytes, context.location),
    variables !== null && variables.length > 0 && formatVariables(variables),
    files.length > 0 && formatFiles(files),
    checkpoints.length > 0 && formatCheckpoints(checkpoints),
  ];
  return {
    json: { ...record, stored_bytes, variables, files, checkpoints },
    text: sections.filter(Boolean).join('\n\n'),
    notes: problem === undefined ? [] : [`The variables are not available. ${problem}`],
  };
};

/** Reading variables starts a guest, which fails while another process has the session open. */
async function readVariables(
  { sessions }: SessionContext,
  id: string,
): Promise<{ variables: Variable[] | null; problem?: string }> {
  try {
    const session = await sessions.get(id);
    return { variables: await session.variables() };
  } catch (cause) {
    if (cause instanceof SandboxError) return { variables: null, problem: cause.message };
    throw cause;
  }
}
