/** `session import`: adds an exported session to the store. */
import { SandboxError } from '../../../errors.ts';
import { readLocalFile } from '../../local-files.ts';
import { withProgress } from '../../progress-line.ts';
import { formatRecord } from './record-text.ts';
import type { SessionAction } from './subcommand.ts';

export const sessionImport: SessionAction = async ({ sessions, store, location }, [file], { session }) => {
  const bytes = readLocalFile(file!);
  const options = session === undefined ? {} : { session_id: session };
  const record = await withProgress(`Importing ${file}`, () => sessions.import(bytes, options)).catch(
    adviseOnTakenName,
  );
  return { json: record, text: formatRecord(record, await store.size(record.session_id), location) };
};

/** Replaces the advice for callers of the library with advice for the command line. */
function adviseOnTakenName(cause: unknown): never {
  if (!(cause instanceof SandboxError) || cause.code !== 'session_exists') throw cause;
  const advice =
    'Import it under another name with --session ID, or delete the existing one with "session rm"';
  throw new SandboxError(cause.code, `${cause.message.split('.')[0]}. ${advice}.`);
}
