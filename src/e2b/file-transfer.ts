/** Uploads and downloads of files: `/files` of E2B, with access tokens or signed URLs. */
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { finishInSlices, Slices } from '../concurrency/slices.ts';
import { HttpError } from '../http/http-error.ts';
import { sendFile, sendJson } from '../http/rest-call.ts';
import { entryAt } from '../session/workspace-edits.ts';
import type { E2bCall, E2bHandler, E2bRoute } from './e2b-call.ts';
import { behindLinks, checkUser, homePath, nameOf, relativePath } from './file-paths.ts';
import { formFiles } from './form-files.ts';

const unzip = promisify(gunzip);

const download: E2bHandler = async ({ tenant, sandboxes, caller, query, response }) => {
  checkUser(query.get('username'));
  const given = query.get('path') ?? '';
  const path = relativePath(given, 404);
  const record = await sandboxes.running(tenant, caller.sandbox_id!);
  const session = await sandboxes.owner(tenant, record);
  const tree = await session.fileTree();
  const entry = entryAt(tree, behindLinks(tree, path));
  if (entry?.kind === 'dir') throw new HttpError(400, `${homePath(path)} is a folder`);
  if (entry?.kind !== 'file') throw new HttpError(404, `There is no file ${homePath(path)}`);
  sendFile(response, entry.data!);
};

const upload: E2bHandler = async (call) => {
  const { tenant, sandboxes, caller, query, request, response } = call;
  checkUser(query.get('username'));
  if (Object.keys(request.headers).some((name) => name.startsWith('x-metadata-')))
    throw new HttpError(400, 'Files have no metadata');
  const record = await sandboxes.running(tenant, caller.sandbox_id!);
  const session = await sandboxes.owner(tenant, record);
  const files = await uploadedFiles(call, session.policy.workspace_max_bytes);
  if (files.length === 0) throw new HttpError(400, 'The request has no file');
  const tree = await session.fileTree();
  const slices = new Slices();
  const contents: [path: string, bytes: Uint8Array][] = [];
  for (const { path, bytes } of files) {
    contents.push([behindLinks(tree, path), bytes]);
    await slices.pause();
  }
  await session.writeFiles(Object.fromEntries(contents));
  sendJson(
    response,
    200,
    files.map(({ path }) => ({ name: nameOf(path), type: 'file', path: homePath(path) })),
  );
};

interface UploadedFile {
  readonly path: string;
  readonly bytes: Uint8Array;
}

/** The files of a form, or the body as one file. */
async function uploadedFiles(call: E2bCall, maxBytes: number): Promise<UploadedFile[]> {
  const { query, request } = call;
  const { 'content-type': type = '', 'content-encoding': encoding } = request.headers;
  const given = query.get('path');
  const target = (path: string) => {
    const relative = relativePath(path, 400);
    if (relative === '' || path.endsWith('/')) throw new HttpError(400, `${homePath(relative)} is a folder`);
    return relative;
  };
  if (given !== null) target(given);
  const bytes = await decoded(await call.readBytes(), encoding, maxBytes);
  if (!type.startsWith('multipart/form-data')) {
    if (given === null) throw new HttpError(400, 'path: the name of the file is missing');
    return [{ path: target(given), bytes }];
  }
  const files: UploadedFile[] = [];
  const slices = new Slices();
  for (const part of await finishInSlices(formFiles(bytes, type))) {
    // With a path in the query, the name of the only part is ignored.
    files.push({ path: target(given ?? part.name), bytes: part.bytes });
    await slices.pause();
  }
  if (given !== null && files.length > 1)
    throw new HttpError(400, 'path: the request has several files. Name each in its part of the form');
  return files;
}

async function decoded(
  bytes: Uint8Array,
  encoding: string | undefined,
  maxBytes: number,
): Promise<Uint8Array> {
  if (encoding === undefined || encoding === 'identity') return bytes;
  if (encoding !== 'gzip') throw new HttpError(400, 'content-encoding: only gzip is supported');
  try {
    return await unzip(bytes, { maxOutputLength: Math.max(1, maxBytes) });
  } catch (cause) {
    const isTooLarge = (cause as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE';
    if (isTooLarge)
      throw new HttpError(507, `The file is larger than the workspace may be: ${maxBytes} bytes`);
    throw new HttpError(400, 'The body is not valid gzip data');
  }
}

export const FILE_ROUTES: readonly E2bRoute[] = [
  { method: 'GET', path: 'files', handle: download },
  { method: 'POST', path: 'files', handle: upload },
];
