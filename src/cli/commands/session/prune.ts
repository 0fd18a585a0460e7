/** `session prune`: deletes sessions that have not been used for some time. */
import { formatBytes, formatItems } from '../../../quantities.ts';
import { formatTable } from '../../format-table.ts';
import type { SessionAction } from './subcommand.ts';

export const sessionPrune: SessionAction = async ({ sessions }, _, flags) => {
  const { olderThan, dryRun = false, includeVeryOld = false } = flags;
  const options = { older_than_hours: olderThan!, dry_run: dryRun, include_very_old: includeVeryOld };
  const report = await sessions.prune(options);
  const rows = report.pruned.map(({ session_id, bytes }) => [session_id, formatBytes(bytes)]);
  const count = formatItems(rows.length, 'session');
  const summary = `${dryRun ? 'Would delete' : 'Deleted'} ${count} (${formatBytes(report.reclaimed_bytes)})`;
  return {
    json: report,
    text: rows.length > 0 ? `${formatTable(['SESSION', 'SIZE'], rows)}\n${summary}` : summary,
    problems: report.errors.map(({ session_id, error }) => `${session_id}: ${error}`),
  };
};
