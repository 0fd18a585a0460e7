/**
 * The contents interface: files, folders and notebooks of the workspace that the kernels of a tenant share. Paths are relative
 * to it, and none leads out of it. A file has one checkpoint, which is a hidden copy of it.
 */
import { createHash } from 'node:crypto';
import { posix } from 'node:path';
import type { Entry, FileTree, Session } from '@llm-wasm-sandbox/core/internal';
import {
  checkFolder,
  decodeText,
  encodeContent,
  entriesBelow,
  entryAt,
  existingEntry,
  followLinks,
  missingFolders,
  moveEdit,
  type NextSlice,
  parentOf,
  parse,
  pathInside,
  removalEdit,
  SLICE_BYTES,
  Slices,
  toBase64,
} from '@llm-wasm-sandbox/core/internal';
import * as z from 'zod';
import { HttpError, quoted } from '../server/http-error.ts';
import { parseJsonBytes } from '../server/request-body.ts';
import { checkedBody, encodedJson, respond } from '../server/rest-call.ts';
import type { JupyterCall } from './kernels.ts';

/** Notebooks have more members than other requests. */
const NOTEBOOK_LIMITS = { depth: 64, members: 100_000, literalChars: 1_000_000 };
/** A larger file can be downloaded, but not opened. */
const MAX_OPEN_BYTES = 16 * 1024 * 1024;
const MAX_UNTITLED = 1000;
const CHECKPOINTS = '.ipynb_checkpoints';
const CHECKPOINT_ID = 'checkpoint';

const saveBody = z.object({
  type: z.enum(['file', 'notebook', 'directory']).default('file'),
  format: z.enum(['text', 'base64', 'json']).nullish(),
  content: z.unknown().optional(),
  chunk: z.number().int().optional(),
});
const newBody = z.object({
  type: z.enum(['file', 'notebook', 'directory']).optional(),
  ext: z
    .string()
    .max(100)
    .regex(/^[^/\0]*$/, 'must not contain "/"')
    .optional(),
  copy_from: z.string().max(4096).optional(),
});
const renameBody = z.object({ path: z.string().max(4096) });

/** As nbformat writes notebooks: one blank for each level, and a line feed at the end. */
const NOTEBOOK_LAYOUT = { indent: 1, end: '\n' };
const EMPTY_NOTEBOOK = { cells: [], metadata: {}, nbformat: 4, nbformat_minor: 5 };

/** The path relative to the workspace. Throws 404 for paths that lead out of it. */
function workspacePath(given: string): string {
  const path = pathInside(given.replace(/^\/{1,9}/, ''), []);
  if (path !== undefined) return path;
  throw new HttpError(404, `${quoted(given, 200)} is not a path in the workspace`);
}

const typeOf = ({ kind, path }: Entry) =>
  kind === 'dir' ? 'directory' : path.endsWith('.ipynb') ? 'notebook' : 'file';

/** A file or folder as the interface describes it, without its content. */
function modelOf(entry: Entry) {
  const { path, mtimeMs, data, kind } = entry;
  const time = new Date(mtimeMs).toISOString();
  return {
    name: posix.basename(path),
    path,
    type: typeOf(entry),
    created: time,
    last_modified: time,
    size: kind === 'file' ? (data?.length ?? 0) : null,
    writable: true,
    mimetype: null as string | null,
    format: null as string | null,
    content: null as unknown,
  };
}

/** The entry of a path, behind links. Throws `file_not_found`. */
const resolved = (tree: FileTree, path: string): Entry => {
  const entry = existingEntry(tree, path === '' ? '' : followLinks(tree, path));
  return { ...entry, path };
};

/** The bytes of a file. Throws `file_not_found`, or 400 with a reason if the path is that of something else. */
function bytesAt(tree: FileTree, path: string, otherwise: string): Uint8Array {
  const { kind, data } = resolved(tree, path);
  if (kind !== 'file') throw new HttpError(400, otherwise);
  return new Uint8Array(data ?? []);
}

/** What a client asks for when it opens a file or folder. */
interface Opened {
  readonly type: string | null;
  readonly format: string | null;
}

/** A file or folder with its content. */
async function modelWithContent({ nextSlice }: JupyterCall, tree: FileTree, path: string, opened: Opened) {
  const { type, format } = opened;
  const entry = resolved(tree, path);
  if (entry.kind === 'symlink') throw new HttpError(404, `The link ${quoted(path, 200)} leads nowhere`);
  const model = modelOf(entry);
  if (entry.kind === 'dir') {
    if (type !== null && type !== 'directory') throw new HttpError(400, `${quoted(path, 200)} is a folder`);
    return { ...model, format: 'json', mimetype: null, content: await modelsBelow(tree, path, nextSlice) };
  }
  if (type === 'directory') throw new HttpError(400, `${quoted(path, 200)} is not a folder`);
  const data = entry.data ?? new Uint8Array();
  if (data.length > MAX_OPEN_BYTES)
    throw new HttpError(413, `The file is larger than ${MAX_OPEN_BYTES} bytes. Download it instead`);
  if (model.type === 'notebook' && type !== 'file')
    return { ...model, format: 'json', content: await notebookOf(data, nextSlice) };
  return { ...model, type: 'file', ...(await textOrBytes(data, format, nextSlice)) };
}

async function modelsBelow(tree: FileTree, folder: string, nextSlice: NextSlice) {
  const slices = new Slices();
  const models: ReturnType<typeof modelOf>[] = [];
  for (const entry of entriesBelow(tree, folder, 1)) {
    if (!entry.path.endsWith(CHECKPOINTS)) models.push(modelOf(entry));
    await slices.pause(nextSlice);
  }
  return models;
}

async function notebookOf(data: Uint8Array, nextSlice: NextSlice): Promise<unknown> {
  try {
    // A copy, because decoders refuse shared memory.
    const value = await parseJsonBytes(data.slice(), NOTEBOOK_LIMITS, nextSlice);
    return parse(z.object({ nbformat: z.number(), cells: z.unknown() }).loose(), value, 'notebook');
  } catch (cause) {
    throw new HttpError(400, `The file is not a notebook: ${(cause as Error).message}`);
  }
}

async function textOrBytes(data: Uint8Array, format: string | null, nextSlice: NextSlice) {
  const text = format === 'base64' ? undefined : await decodeText(data, nextSlice);
  if (text !== undefined) return { format: 'text', mimetype: 'text/plain', content: text };
  if (format === 'text') throw new HttpError(400, 'The file is not text in UTF-8. Ask for the format base64');
  const content = await toBase64(data, nextSlice);
  return { format: 'base64', mimetype: 'application/octet-stream', content };
}

/** The bytes that a client saves. */
async function savedBytes(
  { type, format, content }: z.output<typeof saveBody>,
  nextSlice: NextSlice,
): Promise<Uint8Array> {
  if (type === 'notebook') return encodedJson(content ?? EMPTY_NOTEBOOK, nextSlice, NOTEBOOK_LAYOUT);
  const text = content ?? '';
  if (typeof text !== 'string') throw new HttpError(400, 'content: must be a text');
  return encodeContent(text, format === 'base64' ? 'base64' : 'utf8', nextSlice);
}

async function save(call: JupyterCall, session: Session, path: string): Promise<void> {
  const body = parse(saveBody, await call.readJson(NOTEBOOK_LIMITS), 'body');
  if (body.chunk !== undefined)
    throw new HttpError(400, 'Uploads in chunks are not supported: send the file at once');
  if (path === '') throw new HttpError(400, 'The workspace itself cannot be saved');
  const isNew = (await session.fileTree()).get(path) === undefined;
  if (body.type === 'directory') await createFolder(session, path);
  else await session.writeFile(path, await savedBytes(body, call.nextSlice));
  const entry = resolved(await session.fileTree(), path);
  await respond(call, isNew ? 201 : 200, modelOf(entry));
}

const createFolder = (session: Session, path: string) =>
  session.editFiles((tree) => {
    if (entryAt(tree, path) !== undefined && entryAt(tree, path)!.kind !== 'dir')
      throw new HttpError(409, `${quoted(path, 200)} exists and is not a folder`);
    return { removed: [], entries: missingFolders(tree, path) };
  });

/** The first free name: `untitled.txt`, `untitled1.txt` and so on. */
function freePath(tree: FileTree, folder: string, stem: string, ext: string): string {
  for (let i = 0; i < MAX_UNTITLED; i++) {
    const path = posix.join(folder, `${stem}${i === 0 ? '' : i}${ext}`);
    if (tree.get(path) === undefined) return path;
  }
  throw new HttpError(409, `The folder has ${MAX_UNTITLED} files with this name`);
}

/** Creates a file with a new name, or copies one. */
async function create(call: JupyterCall, session: Session, folder: string): Promise<void> {
  const { type, ext = '', copy_from } = await checkedBody(call, newBody);
  const tree = await session.fileTree();
  checkFolder(tree, folder);
  let path: string;
  if (copy_from !== undefined) {
    const source = workspacePath(copy_from);
    const bytes = bytesAt(tree, source, 'Only files can be copied');
    const suffix = posix.extname(source);
    const stem = posix.basename(source, suffix);
    path = freePath(
      tree,
      folder,
      tree.get(posix.join(folder, stem + suffix)) ? `${stem}-Copy` : stem,
      suffix,
    );
    await session.writeFile(path, bytes);
  } else if (type === 'directory') {
    path = freePath(tree, folder, 'Untitled Folder', '');
    await createFolder(session, path);
  } else {
    const isNotebook = type === 'notebook' || ext === '.ipynb';
    path = freePath(tree, folder, isNotebook ? 'Untitled' : 'untitled', isNotebook ? '.ipynb' : ext);
    const empty = { type: isNotebook ? 'notebook' : 'file', content: undefined } as const;
    await session.writeFile(path, await savedBytes(empty, call.nextSlice));
  }
  await respond(call, 201, modelOf(resolved(await session.fileTree(), path)));
}

async function rename(call: JupyterCall, session: Session, path: string): Promise<void> {
  const to = workspacePath((await checkedBody(call, renameBody)).path);
  await session.editFiles((tree) => {
    if (to !== path && tree.get(to) !== undefined)
      throw new HttpError(409, `${quoted(to, 200)} already exists`);
    return moveEdit(tree, path, to);
  });
  await respond(call, 200, modelOf(resolved(await session.fileTree(), to)));
}

const checkpointPath = (path: string) => posix.join(parentOf(path), CHECKPOINTS, posix.basename(path));

/** The checkpoint of a file: `GET` lists it, `POST` creates or restores it, `DELETE` deletes it. */
async function checkpoints(
  call: JupyterCall,
  session: Session,
  path: string,
  id: string | undefined,
): Promise<void> {
  const { request, response } = call;
  const tree = await session.fileTree();
  const stored = tree.get(checkpointPath(path));
  const models = stored ? [{ id: CHECKPOINT_ID, last_modified: new Date(stored.mtimeMs).toISOString() }] : [];
  if (id === undefined && request.method === 'GET') return respond(call, 200, models);
  if (id !== undefined && (id !== CHECKPOINT_ID || stored?.kind !== 'file'))
    throw new HttpError(404, 'There is no such checkpoint');
  const copy = (from: string, to: string) =>
    session.writeFile(to, bytesAt(tree, from, 'Only files have checkpoints'));
  if (id === undefined && request.method === 'POST') {
    await copy(path, checkpointPath(path));
    return respond(call, 201, { id: CHECKPOINT_ID, last_modified: new Date().toISOString() });
  }
  if (request.method === 'POST') await copy(checkpointPath(path), path);
  else if (request.method === 'DELETE') await session.deleteFile(checkpointPath(path));
  else throw new HttpError(405, 'Checkpoints can be created, restored and deleted');
  response.writeHead(204).end();
}

async function digestOf(data: Uint8Array, nextSlice: NextSlice): Promise<string> {
  const hash = createHash('sha256');
  for (let start = 0; start < data.length; start += SLICE_BYTES) {
    if (start > 0) await nextSlice();
    hash.update(data.slice(start, start + SLICE_BYTES));
  }
  return hash.digest('hex');
}

/** Answers a request to `api/contents/PATH`. `segments` is the path. */
export async function serveContents(call: JupyterCall, segments: readonly string[]): Promise<void> {
  const { request, response, query, tenant, kernels } = call;
  const session = await kernels.files(tenant);
  const at = segments.lastIndexOf('checkpoints');
  const isCheckpoint =
    at > 0 && (at === segments.length - 1 || (at === segments.length - 2 && request.method !== 'GET'));
  if (isCheckpoint)
    return checkpoints(call, session, workspacePath(segments.slice(0, at).join('/')), segments[at + 1]);
  const path = workspacePath(segments.join('/'));
  if (request.method === 'GET') {
    const tree = await session.fileTree();
    const model =
      query.get('content') === '0'
        ? modelOf(resolved(tree, path))
        : await modelWithContent(call, tree, path, { type: query.get('type'), format: query.get('format') });
    const { data } = resolved(tree, path);
    const hash =
      query.get('hash') === '1' && data !== undefined
        ? { hash: await digestOf(data, call.nextSlice), hash_algorithm: 'sha256' }
        : {};
    return respond(call, 200, { ...model, ...hash });
  }
  if (request.method === 'PUT') return save(call, session, path);
  if (request.method === 'POST') return create(call, session, path);
  if (request.method === 'PATCH') return rename(call, session, path);
  if (request.method !== 'DELETE') throw new HttpError(405, 'Use GET, PUT, POST, PATCH or DELETE');
  if (path === '') throw new HttpError(400, 'The workspace itself cannot be deleted');
  existingEntry(await session.fileTree(), path);
  await session.editFiles((tree) => removalEdit(tree, path));
  response.writeHead(204).end();
}

/** The bytes of a file, for downloads. */
export async function fileBytes(
  { tenant, kernels }: JupyterCall,
  segments: readonly string[],
): Promise<Uint8Array> {
  const path = workspacePath(segments.join('/'));
  const tree = await (await kernels.files(tenant)).fileTree();
  return bytesAt(tree, path, `${quoted(path, 200)} is not a file`);
}
