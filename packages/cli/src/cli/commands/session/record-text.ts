/** Session records, files and checkpoints as text for a terminal. */

import type { CheckpointInfo, SessionRecord, Variable, WorkspaceFile } from '@llm-wasm-sandbox/core/internal';
import {
  escapeControls,
  formatAge,
  formatBytes,
  formatFuel,
  imageParts,
} from '@llm-wasm-sandbox/core/internal';
import { formatFields, formatTable } from '../../format-table.ts';

/** The age of an ISO 8601 time. */
export const ageOf = (time: string) => formatAge(Date.now() - Date.parse(time));

export function formatRecord(record: SessionRecord, storedBytes: number, location: string): string {
  const { policy, auto_persist_globals, imports, preload } = record;
  const persistence = auto_persist_globals ? 'variables persist between calls' : 'each call starts fresh';
  const limits = [
    `${formatFuel(policy.fuel_budget)} fuel`,
    formatBytes(policy.memory_bytes),
    `${policy.timeout_seconds} s`,
    ...(policy.deterministic === false ? [] : ['deterministic']),
  ];
  const { modules, packages } = imageParts(preload);
  return formatFields([
    ['session', record.session_id],
    ['language', `${record.runtime}, ${persistence}`],
    ['created', `${record.created_at} (${ageOf(record.created_at)})`],
    ['last used', `${record.last_used_at} (${ageOf(record.last_used_at)})`],
    ['calls', `${record.calls}, ${formatFuel(record.fuel_consumed)} fuel`],
    ['limits', `${limits.join(', ')} per call`],
    ...(imports.length > 0 ? [['imported', imports.join(', ')] as const] : []),
    ...(modules.length > 0 ? [['preloaded', modules.join(', ')] as const] : []),
    ...(packages.length > 0 ? [['packages', packages.join(', ')] as const] : []),
    ['stored', `${formatBytes(storedBytes)} in ${location}`],
  ]);
}

export const formatFiles = (files: readonly WorkspaceFile[]) =>
  formatTable(
    ['SIZE', 'MODIFIED', 'FILE'],
    files.map(({ path, size_bytes, modified_at }) => [formatBytes(size_bytes), modified_at, path]),
  );

export const formatCheckpoints = (checkpoints: readonly CheckpointInfo[]) =>
  formatTable(
    ['CHECKPOINT', 'SIZE', 'CREATED'],
    checkpoints.map(({ name, size_bytes, created_at }) => [name, formatBytes(size_bytes), ageOf(created_at)]),
  );

export const formatVariables = (variables: readonly Variable[]) =>
  formatTable(
    ['VARIABLE', 'TYPE', 'VALUE'],
    variables.map(({ name, type, repr }) => [name, type, repr]),
  );

export const createdText = ({ name, size_bytes }: CheckpointInfo) =>
  `Created checkpoint ${escapeControls(name)} (${formatBytes(size_bytes)})`;

export const restoredText = (session_id: string, checkpoint: string | undefined) =>
  checkpoint === undefined
    ? `Undid the last call of ${session_id}`
    : `Restored ${session_id} to checkpoint ${escapeControls(checkpoint)}`;
