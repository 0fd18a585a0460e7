/** The subcommands of `session`. Each returns its output as text and as JSON. */
import { randomUUID } from 'node:crypto';
import type { Variable } from '@llm-wasm-sandbox/core/internal';
import {
  describeCheckpoint,
  describeFiles,
  escapeControls,
  formatBytes,
  formatFuel,
  formatItems,
  PRIVATE_FILE,
  SandboxError,
  SessionPersistence,
  WorkspaceFiles,
  workspacePath,
} from '@llm-wasm-sandbox/core/internal';
import { UsageError } from '../../exit-codes.ts';
import { formatTable } from '../../format-table.ts';
import { copyWorkspaceFiles, readLocalFile, writeLocalFile } from '../../local-files.ts';
import { withProgress } from '../../progress-line.ts';
import type { StoreFlags } from '../../shared-options.ts';
import { notInStore, readSession, type SessionContext } from './context.ts';
import {
  ageOf,
  createdText,
  formatCheckpoints,
  formatFiles,
  formatRecord,
  formatVariables,
  restoredText,
} from './record-text.ts';

export interface SessionFlags extends StoreFlags {
  readonly json?: boolean;
  readonly out?: string;
  readonly hidden?: boolean;
  readonly list?: boolean;
  readonly delete?: boolean;
  readonly session?: string;
  readonly olderThan?: number;
  readonly dryRun?: boolean;
  readonly includeVeryOld?: boolean;
  readonly force?: boolean;
}

interface SessionOutput {
  readonly json: unknown;
  /** Text for standard output. Bytes are written unchanged. */
  readonly text: string | Uint8Array;
  /** Additional information for standard error. */
  readonly notes?: readonly string[];
  /** Parts of the request that failed, for standard error. The exit code is then `EXIT.unavailable`. */
  readonly problems?: readonly string[];
}

/** `args` has the positional arguments in the order of the subcommand's row. */
type SessionAction = (
  context: SessionContext,
  args: readonly (string | undefined)[],
  flags: SessionFlags,
) => Promise<SessionOutput>;

// ---- session list ----

const HEADER = ['SESSION', 'LANGUAGE', 'CALLS', 'FUEL', 'SIZE', 'LAST USED'];
const DAMAGED_NOTE =
  'Copy the files of a damaged session with "session files ID --out DIR", then delete it with "session rm ID".';

const sessionList: SessionAction = async ({ store, location }) => {
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

const sessionShow: SessionAction = async (context, [id]) => {
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

const sessionFiles: SessionAction = async (context, [id, path], { out, hidden = false }) => {
  const salvaged = await context.store.readWorkspace(id!);
  if (salvaged === undefined) throw notInStore(context, id!);
  const { workspace, damage } = salvaged;
  const notes =
    damage === undefined ? [] : [`The session is damaged: ${damage} Only the files that remain are shown.`];
  const files = describeFiles(workspace.values());
  if (path === undefined) {
    if (out === undefined) {
      const text = files.length > 0 ? formatFiles(files) : 'The session has no files.';
      return { json: { files, damage: damage ?? null }, text, notes };
    }
    const paths = files.map((file) => file.path);
    const read = async (name: string) => workspace.get(name)!.data!;
    const { copied, note } = await copyWorkspaceFiles(paths, read, out, { hidden });
    if (note !== undefined) notes.push(note);
    const count = formatItems(copied.length, 'file');
    return { json: { copied }, text: `Copied ${count} to ${escapeControls(out)}`, notes };
  }
  const name = workspacePath(path);
  const file = files.find((one) => one.path === name);
  if (file === undefined) {
    const advice = `Run "llm-wasm-sandbox session files ${id}" to list its files`;
    throw new SandboxError('file_not_found', `The session has no file ${JSON.stringify(path)}. ${advice}.`);
  }
  // The contents are in shared memory, which file and stream functions of Node.js do not accept.
  const content = Buffer.from(workspace.get(name)!.data!);
  if (out !== undefined) {
    writeLocalFile(out, content);
    return {
      json: { copied: [name] },
      text: `Copied ${escapeControls(name)} to ${escapeControls(out)}`,
      notes,
    };
  }
  return { json: { ...file, content_base64: content.toString('base64') }, text: content, notes };
};

const sessionCheckpoint: SessionAction = async (context, [id, name], flags) => {
  if (flags.list) {
    const checkpoints = (await readSession(context, id!)).checkpoints.map(describeCheckpoint);
    const text = checkpoints.length > 0 ? formatCheckpoints(checkpoints) : 'The session has no checkpoints.';
    return { json: { checkpoints }, text };
  }
  if (flags.delete) {
    if (name === undefined)
      throw new UsageError('Specify the checkpoint to delete: session checkpoint ID NAME --delete.');
    await updateSession(context, id!, (session) => session.deleteCheckpoint(name));
    return { json: { deleted: name }, text: `Deleted checkpoint ${escapeControls(name)}` };
  }
  const created = await updateSession(context, id!, async (session) => {
    await syncExternalEdits(session);
    return session.checkpoint(name);
  });
  return { json: created, text: createdText(created) };
};

const sessionRollback: SessionAction = async (context, [id, name]) => {
  await updateSession(context, id!, (session) => session.rollback(name));
  return {
    json: { session_id: id, checkpoint: name ?? null },
    text: restoredText(id!, name),
  };
};

const sessionFork: SessionAction = async (context, [id, newId = randomUUID()]) => {
  const unreserve = await context.sessions.reserve(newId);
  try {
    const { record } = await updateSession(context, id!, async (session) => {
      await syncExternalEdits(session);
      const fork = await session.fork(newId);
      fork.saveIfNew();
      await fork.close();
      return fork;
    });
    return { json: record, text: record.session_id };
  } finally {
    unreserve();
  }
};

const sessionExport: SessionAction = async (context, [id, file], { force, json: asJson }) => {
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

const sessionImport: SessionAction = async ({ sessions, store, location }, [file], { session }) => {
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

const sessionPrune: SessionAction = async ({ sessions }, _, flags) => {
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

const sessionRm: SessionAction = async (context, ids) => {
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

/** Opens a session as its only writer, applies a change, and waits until the change is stored. */
async function updateSession<T>(
  context: SessionContext,
  id: string,
  change: (session: SessionPersistence) => Promise<T> | T,
): Promise<T> {
  const stored = await context.store.read(id);
  if (stored === undefined) throw notInStore(context, id);
  const session = await SessionPersistence.open(context.store, stored.record);
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
async function syncExternalEdits(session: SessionPersistence): Promise<void> {
  const { workspace_max_bytes: maxBytes, workspace_max_files: maxFiles } = session.record.policy;
  const files = new WorkspaceFiles(Date.now, { maxBytes, maxFiles });
  files.replace(session.state.workspace);
  await session.syncExternalEdits(files);
}

/** By the name of the subcommand. */
export const SESSION_ACTIONS = {
  list: sessionList,
  show: sessionShow,
  files: sessionFiles,
  checkpoint: sessionCheckpoint,
  rollback: sessionRollback,
  fork: sessionFork,
  export: sessionExport,
  import: sessionImport,
  prune: sessionPrune,
  rm: sessionRm,
} satisfies Record<string, SessionAction>;
