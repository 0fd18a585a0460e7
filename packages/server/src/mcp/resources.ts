/**
 * MCP resources: workspace files, the full text of truncated outputs, results of programs, and sections of the documents. A
 * tenant sees only its own files and outputs; a URI that belongs to another tenant gets the same answer as one that does not
 * exist.
 */

import {
  clientError,
  encodeResult,
  formatCount,
  formatItems,
  listDocs,
  mimeType,
  OUTPUT_STREAMS,
  quotePath,
  readDocsUri,
  SandboxError,
  SlicedText,
  toBase64,
  workspaceUri,
} from '@llm-wasm-sandbox/core/internal';
import { type McpServer, ResourceNotFoundError, ResourceTemplate } from '@modelcontextprotocol/server';
import type { MainThreadAllowance } from '../server/main-thread-allowance.ts';
import { jsonText } from '../server/rest-call.ts';
import type { ServerSettings } from '../server/settings.ts';
import type { ServerLog } from '../server/telemetry.ts';
import { DEFAULT_SESSION, type Tenant } from '../server/tenant.ts';

interface ResourceContext {
  readonly tenant: Tenant;
  readonly settings: ServerSettings;
  readonly log: ServerLog;
  readonly mainThread: MainThreadAllowance;
}

const MAX_LISTED = 1000;
/** Limit for the bytes that a listing reads from the store. Sessions beyond it, least recently used, are omitted. */
const MAX_READ_BYTES = 256 * 1024 * 1024;
const MAX_COMPLETIONS = 100;

async function sessionIds(tenant: Tenant): Promise<string[]> {
  return [DEFAULT_SESSION, ...(await tenant.storedSessionIds()).filter((id) => id !== DEFAULT_SESSION)];
}

async function listWorkspaceFiles(tenant: Tenant) {
  const resources: { uri: string; name: string; mimeType?: string; size?: number }[] = [];
  let readBytes = 0;
  for (const id of await sessionIds(tenant)) {
    if (id !== DEFAULT_SESSION) readBytes += await tenant.listingBytes(id);
    if (readBytes > MAX_READ_BYTES) break;
    for (const { path, size_bytes } of await readableFiles(tenant, id)) {
      if (resources.length >= MAX_LISTED) return { resources };
      const mime = mimeType(path);
      const name = `${id}: ${quotePath(path)}`;
      resources.push({
        uri: workspaceUri(id, path),
        name,
        size: size_bytes,
        ...(mime && { mimeType: mime }),
      });
    }
  }
  return { resources };
}

/** Files of a session, or none if it is damaged or was deleted meanwhile: other sessions must still be listed. */
async function readableFiles(tenant: Tenant, session_id: string) {
  try {
    return await tenant.files(session_id);
  } catch {
    return [];
  }
}

async function completePaths(
  tenant: Tenant,
  session_id: string | undefined = DEFAULT_SESSION,
  prefix: string,
): Promise<string[]> {
  return (await readableFiles(tenant, session_id))
    .map(({ path }) => path)
    .filter((path) => path.startsWith(prefix))
    .slice(0, MAX_COMPLETIONS);
}

async function readWorkspace(
  { tenant, settings, mainThread }: ResourceContext,
  uri: string,
  session_id: string,
  path: string,
) {
  const sandbox = await tenant.readableFiles(session_id);
  checkSize(await sandbox.fileSize(path), settings);
  const bytes = await sandbox.fileContents(path);
  const nextSlice = () => mainThread.nextSlice(tenant.id);
  const text = await SlicedText.of(bytes, nextSlice);
  const mime = mimeType(path) ?? (text === undefined ? 'application/octet-stream' : 'text/plain');
  const content =
    text === undefined ? { blob: await toBase64(bytes, nextSlice) } : { text: await text.slice() };
  // The response is serialised in this turn.
  await nextSlice();
  return { contents: [{ uri, mimeType: mime, ...content }] };
}

/** Building a large response takes time in which the server answers no other request. */
function checkSize(bytes: number, { max_body_bytes }: ServerSettings): void {
  if (bytes <= max_body_bytes) return;
  const fact = `The resource has ${formatItems(bytes, 'byte')}, and the limit is ${formatCount(max_body_bytes)}`;
  throw new SandboxError(
    'quota_exceeded',
    `${fact}. Read long text in parts with read_file(offset=…), or process it with execute_code.`,
  );
}

async function readOutput({ tenant, settings }: ResourceContext, uri: string) {
  const text = await tenant.recent.output(uri);
  if (text === undefined)
    throw new ResourceNotFoundError(uri, 'This output does not exist or is no longer cached.');
  checkSize(Buffer.byteLength(text), settings);
  return { contents: [{ uri, mimeType: 'text/plain', text }] };
}

/** The end of the URI of all forms of a result. Ids have no dot. */
const ALL_FORMS = '.json';

/** The richest form of a result, or all of its forms. */
async function readResult(context: ResourceContext, uri: string, session_id: string, name: string) {
  const { tenant, settings, mainThread } = context;
  const wantsAll = name.endsWith(ALL_FORMS);
  const id = wantsAll ? name.slice(0, -ALL_FORMS.length) : name;
  const result = (await tenant.recent.result(session_id, id))?.result;
  if (result === undefined)
    throw new ResourceNotFoundError(uri, 'This result does not exist or is no longer cached.');
  if (wantsAll) {
    const text = await jsonText(encodeResult(result), () => mainThread.nextSlice(tenant.id));
    checkSize(Buffer.byteLength(text), settings);
    return { contents: [{ uri, mimeType: 'application/json', text }] };
  }
  const { mime, png, jpeg, svg, html, markdown, latex, json, text, path } = encodeResult(result);
  checkSize(result.size_bytes, settings);
  const blob = mime === 'image/png' ? png : mime === 'image/jpeg' ? jpeg : undefined;
  if (blob !== undefined) return { contents: [{ uri, mimeType: mime, blob }] };
  if (path !== undefined) {
    const { contents } = await readWorkspace(context, uri, session_id, path);
    return { contents: contents.map((one) => ({ ...one, mimeType: mime })) };
  }
  const form = svg ?? html ?? markdown ?? latex ?? json ?? text;
  if (form === undefined) throw new ResourceNotFoundError(uri, 'This result was too large to store.');
  return { contents: [{ uri, mimeType: mime, text: form }] };
}

function readDocs(uri: string) {
  const text = readDocsUri(uri);
  if (text === undefined)
    throw new ResourceNotFoundError(uri, 'There is no such section. resources/list lists the sections.');
  return { contents: [{ uri, mimeType: 'text/markdown', text }] };
}

/** Runs a request for a resource. Its error is a protocol error that reveals nothing about the host. */
async function answer<T>({ log }: ResourceContext, uri: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof ResourceNotFoundError) throw cause;
    const { message, isHostError } = clientError(cause);
    if (isHostError) log.error({ event: 'resource.error', uri, err: cause }, 'resource failed');
    throw new ResourceNotFoundError(uri, message);
  }
}

/** Decodes the path of a URI; a malformed one is used unchanged. */
function decodePath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

export function registerResources(server: McpServer, context: ResourceContext): void {
  const { tenant } = context;
  const listed = 'workspace://';
  const workspace = new ResourceTemplate('workspace://{session}/{+path}', {
    list: () => answer(context, listed, () => listWorkspaceFiles(tenant)),
    complete: {
      session: (prefix) =>
        answer(context, listed, async () => (await sessionIds(tenant)).filter((id) => id.startsWith(prefix))),
      path: (prefix, request) =>
        answer(context, listed, () => completePaths(tenant, request?.arguments?.['session'], prefix)),
    },
  });
  const fileDescription =
    'A file in a session. The session "default" is the workspace of calls without session_id.';
  server.registerResource(
    'workspace_file',
    workspace,
    { title: 'Workspace file', description: fileDescription },
    (uri, { session, path }) =>
      answer(context, uri.href, () =>
        readWorkspace(context, uri.href, String(session), decodePath(String(path))),
      ),
  );
  const output = new ResourceTemplate('output://{id}/{stream}', {
    list: undefined,
    complete: { stream: () => [...OUTPUT_STREAMS] },
  });
  const outputDescription = 'Full text of an output that was truncated in a tool result.';
  server.registerResource(
    'full_output',
    output,
    { title: 'Full output', description: outputDescription, mimeType: 'text/plain' },
    (uri) => answer(context, uri.href, () => readOutput(context, uri.href)),
  );
  const results = new ResourceTemplate('result://{session}/{id}', { list: undefined });
  server.registerResource(
    'result',
    results,
    { title: 'Result', description: 'A table, image or other result that a program displayed.' },
    (uri, { session, id }) =>
      answer(context, uri.href, () => readResult(context, uri.href, String(session), String(id))),
  );
  const docs = new ResourceTemplate('docs://{document}/{section}', {
    list: () => answer(context, 'docs://', () => ({ resources: listDocs() })),
  });
  server.registerResource(
    'documentation',
    docs,
    {
      title: 'Documentation',
      description: 'A section of the documentation that error_guidance refers to.',
      mimeType: 'text/markdown',
    },
    (uri) => answer(context, uri.href, () => readDocs(uri.href)),
  );
}
