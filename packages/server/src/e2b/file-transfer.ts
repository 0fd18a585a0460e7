/** Uploads and downloads of files: `/files` of E2B, with access tokens or signed URLs. */
import {
  allocateShared,
  entryAt,
  finishInSlices,
  type NextSlice,
  SLICE_BYTES,
  Slices,
} from '@llm-wasm-sandbox/core/internal';
import { HttpError } from '../server/http-error.ts';
import { respond, sendFile } from '../server/rest-call.ts';
import type { E2bCall, E2bHandler, E2bRoutes } from './e2b-call.ts';
import { behindLinks, checkUser, homePath, nameOf, relativePath } from './file-paths.ts';
import { formFiles } from './form-files.ts';

const download: E2bHandler = async (call) => {
  const { tenant, sandboxes, caller, query } = call;
  checkUser(query.get('username'));
  const given = query.get('path') ?? '';
  const path = relativePath(given, 404);
  const record = await sandboxes.running(tenant, caller.sandbox_id!);
  const session = await sandboxes.owner(tenant, record);
  const tree = await session.fileTree();
  const entry = entryAt(tree, behindLinks(tree, path));
  if (entry?.kind === 'dir') throw new HttpError(400, `${homePath(path)} is a folder`);
  if (entry?.kind !== 'file') throw new HttpError(404, `There is no file ${homePath(path)}`);
  await sendFile(call, entry.data!);
};

const upload: E2bHandler = async (call) => {
  const { tenant, sandboxes, caller, query, request, nextSlice } = call;
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
    contents.push([behindLinks(tree, path), await sharedCopy(bytes, nextSlice)]);
    await slices.pause(nextSlice);
  }
  // Long paths take time, so uploads that arrive together are written in turns of their own.
  await nextSlice();
  await session.writeFiles(Object.fromEntries(contents));
  await respond(
    call,
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
  const { 'content-type': type = '' } = request.headers;
  const given = query.get('path');
  const target = (path: string) => {
    const relative = relativePath(path, 400);
    if (relative === '' || path.endsWith('/')) throw new HttpError(400, `${homePath(relative)} is a folder`);
    return relative;
  };
  if (given !== null) target(given);
  const bytes = await uploadedBytes(call, maxBytes);
  if (!type.startsWith('multipart/form-data')) {
    if (given === null) throw new HttpError(400, 'path: the name of the file is missing');
    return [{ path: target(given), bytes }];
  }
  const files: UploadedFile[] = [];
  const slices = new Slices();
  for (const part of await finishInSlices(formFiles(bytes, type), call.nextSlice)) {
    // With a path in the query, the name of the only part is ignored.
    files.push({ path: target(given ?? part.name), bytes: part.bytes });
    await slices.pause(call.nextSlice);
  }
  if (given !== null && files.length > 1)
    throw new HttpError(400, 'path: the request has several files. Name each in its part of the form');
  return files;
}

/** The body, which may be compressed. What it expands to counts as bytes of the tenant while it arrives. */
async function uploadedBytes({ request, readBytes }: E2bCall, maxBytes: number): Promise<Uint8Array> {
  try {
    return await readBytes(maxBytes);
  } catch (cause) {
    const isExpanded = request.headers['content-encoding'] !== undefined;
    if (!isExpanded || !(cause instanceof HttpError) || cause.status !== 413) throw cause;
    // Clients report this status as missing space.
    throw new HttpError(507, cause.message);
  }
}

/** The bytes as a workspace keeps them, so that it need not copy them at once. */
async function sharedCopy(bytes: Uint8Array, nextSlice: NextSlice): Promise<Uint8Array> {
  if (bytes.length <= SLICE_BYTES) return bytes;
  const shared = allocateShared(bytes.length);
  const slices = new Slices();
  for (let start = 0; start < bytes.length; start += SLICE_BYTES) {
    shared.set(bytes.subarray(start, start + SLICE_BYTES), start);
    await slices.pause(nextSlice);
  }
  return shared;
}

export const FILE_ROUTES: E2bRoutes = {
  'GET files': download,
  'POST files': upload,
};
