/** What is known of a session, as text for people. */
import { formatBytes, formatFuel } from '../quantities.ts';
import type { WorkspaceFile } from '../sandbox/workspace.ts';
import type { CheckpointInfo } from '../session/checkpoint.ts';
import type { SessionRecord } from '../stores/store.ts';
import { ageOf, facts, table } from './text-table.ts';

/** A session's record, a fact a line. */
export function recordText(record: SessionRecord, bytes: number, dir: string): string {
  const { policy, auto_persist_globals, imports, preload } = record;
  const kept = auto_persist_globals ? 'variables stay between calls' : 'each call starts afresh';
  const limits = [
    `${formatFuel(policy.fuel_budget)} fuel`,
    formatBytes(policy.memory_bytes),
    `${policy.timeout_seconds} s`,
    ...(policy.deterministic === false ? [] : ['deterministic']),
  ];
  return facts([
    ['session', record.session_id],
    ['language', `${record.runtime}, ${kept}`],
    ['made', `${record.created_at} (${ageOf(record.created_at)})`],
    ['last used', `${record.last_used_at} (${ageOf(record.last_used_at)})`],
    ['calls', `${record.calls}, ${formatFuel(record.fuel_consumed)} fuel`],
    ['limits', `${limits.join(', ')} a call`],
    ...(imports.length > 0 ? [['imported', imports.join(', ')] as [string, string]] : []),
    ...(preload.length > 0 ? [['preloaded', preload.join(', ')] as [string, string]] : []),
    ['stored', `${formatBytes(bytes)} in ${dir}`],
  ]);
}

export const fileTable = (files: readonly WorkspaceFile[]) =>
  table(
    ['SIZE', 'MODIFIED', 'FILE'],
    files.map(({ path, size_bytes, modified_at }) => [formatBytes(size_bytes), modified_at, path]),
  );

export const checkpointTable = (checkpoints: readonly CheckpointInfo[]) =>
  table(
    ['CHECKPOINT', 'SIZE', 'MADE'],
    checkpoints.map(({ name, size_bytes, created_at }) => [name, formatBytes(size_bytes), ageOf(created_at)]),
  );
