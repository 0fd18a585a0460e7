/** `session list`: lists the sessions of a store, most recently used first. */

import { escapeControls } from '../../../analysis/escape-controls.ts';
import { formatBytes, formatFuel } from '../../../quantities.ts';
import { formatTable } from '../../format-table.ts';
import { ageOf } from './record-text.ts';
import type { SessionAction } from './subcommand.ts';

const HEADER = ['SESSION', 'LANGUAGE', 'CALLS', 'FUEL', 'SIZE', 'LAST USED'];
const DAMAGED_NOTE =
  'Copy the files of a damaged session with "session files ID --out DIR", then delete it with "session rm ID".';

export const sessionList: SessionAction = async ({ store, location }) => {
  const { records, damaged: damagedIds } = await store.list();
  const sessions = await Promise.all(
    [...records]
      .reverse()
      .map(async (record) => ({ ...record, stored_bytes: await store.size(record.session_id) })),
  );
  const damaged = await Promise.all(
    damagedIds.map(async (id) => ({ session_id: id, stored_bytes: await store.size(id) })),
  );
  const rows = [
    ...sessions.map((session) => [
      session.session_id,
      session.runtime,
      String(session.calls),
      formatFuel(session.fuel_consumed),
      formatBytes(session.stored_bytes),
      ageOf(session.last_used_at),
    ]),
    ...damaged.map((session) => [
      session.session_id,
      'DAMAGED',
      '',
      '',
      formatBytes(session.stored_bytes),
      '',
    ]),
  ];
  return {
    json: { sessions, damaged },
    text: rows.length > 0 ? formatTable(HEADER, rows) : `No sessions in ${escapeControls(location)}.`,
    notes: damaged.length > 0 ? [DAMAGED_NOTE] : [],
  };
};
