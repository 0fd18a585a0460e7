/** `session export`: writes a session to a file or to standard output. */

import { escapeControls } from '../../../analysis/escape-controls.ts';
import { PRIVATE_FILE } from '../../../host/replace-file.ts';
import { formatBytes } from '../../../quantities.ts';
import { UsageError } from '../../exit-codes.ts';
import { writeLocalFile } from '../../local-files.ts';
import { withProgress } from '../../progress-line.ts';
import { readSession } from './context.ts';
import type { SessionAction } from './subcommand.ts';

export const sessionExport: SessionAction = async (context, [id, file], { force, json: asJson }) => {
  if (file === '-' && asJson)
    throw new UsageError(
      '--json cannot be combined with writing the session to standard output: specify a FILE.',
    );
  await readSession(context, id!);
  const bytes = await withProgress(`Exporting ${id}`, () => context.sessions.export(id!));
  const json = { session_id: id, file, bytes: bytes.length };
  if (file === '-') return { json, text: bytes };
  // An exported session contains all data of its programs, so only its owner may read it.
  writeLocalFile(file!, bytes, { flag: force ? 'w' : 'wx', mode: PRIVATE_FILE });
  return { json, text: `Exported ${id} to ${escapeControls(file!)} (${formatBytes(bytes.length)})` };
};
