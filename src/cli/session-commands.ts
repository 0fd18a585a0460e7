/** What the commands of `session …` do, each to one answer. None of them runs a program, `show` excepted. */
import { randomUUID } from 'node:crypto';
import { SandboxError } from '../errors.ts';
import { formatBytes, formatFuel } from '../quantities.ts';
import type { Variable } from '../runtimes/language.ts';
import { describeFiles, Workspace, workspacePath } from '../sandbox/workspace.ts';
import { describeCheckpoint } from '../session/checkpoint.ts';
import { Session } from '../session/timeline.ts';
import type { StoredSession } from '../stores/store.ts';
import { copyOut, readInput, writeOutput } from './file-transfer.ts';
import { UsageError } from './flags.ts';
import type { Answer, SessionCommand, SessionFlags } from './session.ts';
import { type Desk, noSuchSession } from './session-context.ts';
import { checkpointTable, fileTable, recordText } from './session-text.ts';
import { ageOf, plain, table } from './text-table.ts';

type Work = (desk: Desk, given: readonly (string | undefined)[], flags: SessionFlags) => Promise<Answer>;

/** An exported session holds everything its programs had, so it is for its owner alone. */
const EXPORT_MODE = 0o600;

async function list({ store, dir }: Desk): Promise<Answer> {
  const { records, damaged } = await store.list();
  const sized = async (id: string) => ({ stored_bytes: await store.size(id) });
  const newestFirst = [...records].reverse();
  const sessions = await Promise.all(
    newestFirst.map(async (record) => ({ ...record, ...(await sized(record.session_id)) })),
  );
  const broken = await Promise.all(damaged.map(async (id) => ({ session_id: id, ...(await sized(id)) })));
  const rows = [
    ...sessions.map((one) => [
      one.session_id,
      one.runtime,
      String(one.calls),
      formatFuel(one.fuel_consumed),
      formatBytes(one.stored_bytes),
      ageOf(one.last_used_at),
    ]),
    ...broken.map((one) => [one.session_id, 'DAMAGED', '', '', formatBytes(one.stored_bytes), '']),
  ];
  const head = ['SESSION', 'LANGUAGE', 'CALLS', 'FUEL', 'SIZE', 'LAST USED'];
  const advice =
    'Save what you need of a damaged session with "session files ID --out DIR", then "session rm ID".';
  return {
    json: { sessions, damaged: broken },
    text: rows.length > 0 ? table(head, rows) : `There are no sessions in ${plain(dir)}.`,
    notes: broken.length > 0 ? [advice] : [],
  };
}

async function read(desk: Desk, id: string): Promise<StoredSession> {
  const stored = await desk.store.read(id);
  if (stored === undefined) throw noSuchSession(desk, id);
  return stored;
}

/** The variables of a session, or why they cannot be had: it takes a guest to tell, and nobody else at work in it. */
async function variablesOf({ sessions }: Desk, id: string): Promise<Variable[] | string> {
  try {
    const sandbox = await sessions.get(id);
    return await sandbox.variables();
  } catch (cause) {
    if (cause instanceof SandboxError) return cause.message;
    throw cause;
  }
}

async function show(desk: Desk, [id]: readonly (string | undefined)[]): Promise<Answer> {
  const { record, state, checkpoints } = await read(desk, id!);
  const stored_bytes = await desk.store.size(id!);
  const found = await desk.store.readWorkspace(id!);
  const files = describeFiles((found?.workspace ?? state.workspace).values());
  const marks = checkpoints.map(describeCheckpoint);
  const told = await variablesOf(desk, id!);
  const variables = typeof told === 'string' ? null : told;
  const sections = [
    recordText(record, stored_bytes, desk.dir),
    variables?.length &&
      table(
        ['VARIABLE', 'TYPE', 'VALUE'],
        variables.map(({ name, type, repr }) => [name, type, repr]),
      ),
    files.length > 0 && fileTable(files),
    marks.length > 0 && checkpointTable(marks),
  ];
  return {
    json: { ...record, stored_bytes, variables, files, checkpoints: marks },
    text: sections.filter(Boolean).join('\n\n'),
    notes: typeof told === 'string' ? [`Its variables cannot be told now. ${told}`] : [],
  };
}

const files: Work = async (desk, [id, path], { out }) => {
  const found = await desk.store.readWorkspace(id!);
  if (found === undefined) throw noSuchSession(desk, id!);
  const { workspace, damage } = found;
  const notes =
    damage === undefined ? [] : [`The session is damaged: ${damage} These are the files it still has.`];
  const listed = describeFiles(workspace.values());
  if (path === undefined) {
    const text = listed.length > 0 ? fileTable(listed) : 'There are no files.';
    if (out === undefined) return { json: { files: listed, damage: damage ?? null }, text, notes };
    const read = async (name: string) => workspace.get(name)!.data!;
    const names = listed.map((file) => file.path);
    const copied = await copyOut(names, read, out);
    return { json: { copied }, text: `${copied.length} files copied to ${plain(out)}`, notes };
  }
  const name = workspacePath(path);
  const facts = listed.find((file) => file.path === name);
  if (facts === undefined) {
    const advice = `See "llm-wasm-sandbox session files ${id}" for those there are`;
    throw new SandboxError('file_not_found', `The session has no file ${JSON.stringify(path)}. ${advice}.`);
  }
  // Shared memory is not what files and pipes are written from.
  const content = Buffer.from(workspace.get(name)!.data!);
  if (out !== undefined) {
    writeOutput(out, content);
    return { json: { copied: [name] }, text: `${plain(name)} copied to ${plain(out)}`, notes };
  }
  return { json: { ...facts, content_base64: content.toString('base64') }, text: content, notes };
};

/** Does something to a session as its only writer, and sees to it that it is written. */
async function withSession<T>(
  desk: Desk,
  id: string,
  work: (session: Session) => Promise<T> | T,
): Promise<T> {
  const session = await Session.resume(desk.store, id).catch((cause) => {
    throw cause instanceof SandboxError && cause.code === 'session_not_found'
      ? noSuchSession(desk, id)
      : cause;
  });
  let done: T;
  try {
    done = await work(session);
  } catch (cause) {
    await session.release();
    throw cause;
  }
  await session.close();
  return done;
}

/** Has a session see what a person did to its files, as its next call would. */
async function takeIn(session: Session): Promise<void> {
  const { workspace_max_bytes: maxBytes, workspace_max_files: maxFiles } = session.record.policy;
  const workspace = new Workspace(Date.now, { maxBytes, maxFiles });
  workspace.replace(session.state.workspace);
  await session.takeIn(workspace);
}

const checkpoint: Work = async (desk, [id, name], flags) => {
  if (flags.list) {
    const marks = (await read(desk, id!)).checkpoints.map(describeCheckpoint);
    const text = marks.length > 0 ? checkpointTable(marks) : 'There are no checkpoints.';
    return { json: { checkpoints: marks }, text };
  }
  if (flags.delete) {
    if (name === undefined)
      throw new UsageError('Say which checkpoint to delete: session checkpoint ID NAME --delete.');
    await withSession(desk, id!, (session) => session.deleteCheckpoint(name));
    return { json: { deleted: name }, text: `checkpoint ${plain(name)} deleted` };
  }
  const made = await withSession(desk, id!, async (session) => {
    await takeIn(session);
    return session.checkpoint(name);
  });
  return { json: made, text: `checkpoint ${made.name} made (${formatBytes(made.size_bytes)})` };
};

const rollback: Work = async (desk, [id, name]) => {
  await withSession(desk, id!, (session) => session.rollback(name));
  const where = name === undefined ? 'before its last call' : `at checkpoint ${plain(name)}`;
  return { json: { session_id: id, checkpoint: name ?? null }, text: `${id} is now as it was ${where}` };
};

const fork: Work = async (desk, [id, newId = randomUUID()]) => {
  await desk.sessions.checkRoom();
  const { record } = await withSession(desk, id!, async (session) => {
    await takeIn(session);
    const made = await session.fork(newId);
    await made.close();
    return made;
  });
  return { json: record, text: record.session_id };
};

const exportTo: Work = async (desk, [id, file], { force, json: asJson }) => {
  if (file === '-' && asJson)
    throw new UsageError('Standard output cannot take both the session and --json: give a FILE.');
  await read(desk, id!);
  const bytes = await desk.sessions.export(id!);
  const json = { session_id: id, file, bytes: bytes.length };
  if (file === '-') return { json, text: bytes };
  writeOutput(file!, bytes, { flag: force ? 'w' : 'wx', mode: EXPORT_MODE });
  return { json, text: `${id} written to ${plain(file!)} (${formatBytes(bytes.length)})` };
};

const importFrom: Work = async (desk, [file], { session }) => {
  const bytes = readInput(file!);
  const record = await desk.sessions
    .import(bytes, session === undefined ? {} : { session_id: session })
    .catch(explain);
  return { json: record, text: recordText(record, await desk.store.size(record.session_id), desk.dir) };
};

function explain(cause: unknown): never {
  if (!(cause instanceof SandboxError) || cause.code !== 'session_mismatch') throw cause;
  const advice = 'Add --session with another name, or delete that one with "session rm"';
  throw new SandboxError(cause.code, `${cause.message.split('.')[0]}. ${advice}.`);
}

const prune: Work = async ({ sessions }, _, { olderThan, dryRun = false }) => {
  const report = await sessions.prune({ older_than_hours: olderThan!, dry_run: dryRun });
  const verb = dryRun ? 'would be' : 'were';
  const rows = report.pruned.map(({ session_id, bytes }) => [session_id, formatBytes(bytes)]);
  const sum = `${rows.length} sessions ${verb} deleted, ${formatBytes(report.reclaimed_bytes)}`;
  return {
    json: report,
    text: rows.length > 0 ? `${table(['SESSION', 'SIZE'], rows)}\n${sum}` : sum,
    problems: report.errors.map(({ session_id, error }) => `${session_id}: ${error}`),
  };
};

const rm: Work = async (desk, ids) => {
  const deleted: { session_id: string; bytes: number }[] = [];
  const errors: { session_id: string; error: string }[] = [];
  for (const session_id of ids as readonly string[]) {
    try {
      deleted.push({ session_id, bytes: await desk.sessions.delete(session_id) });
    } catch (cause) {
      if (!(cause instanceof SandboxError)) throw cause;
      const known = cause.code === 'session_not_found' ? noSuchSession(desk, session_id) : cause;
      errors.push({ session_id, error: known.message });
    }
  }
  const reclaimed_bytes = deleted.reduce((sum, { bytes }) => sum + bytes, 0);
  return {
    json: { deleted, reclaimed_bytes, errors },
    text: deleted.map(({ session_id, bytes }) => `${session_id} deleted (${formatBytes(bytes)})`).join('\n'),
    problems: errors.map(({ error }) => error),
  };
};

export const COMMANDS: Record<SessionCommand, Work> = {
  list,
  show,
  files,
  checkpoint,
  rollback,
  fork,
  export: exportTo,
  import: importFrom,
  prune,
  rm,
};
