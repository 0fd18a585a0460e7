/**
 * Files of workspaces and whole outputs, as resources. A tenant sees its own and no others; an address that does not
 * exist and one that belongs to somebody else get the same answer.
 */
import { type McpServer, ResourceNotFoundError, ResourceTemplate } from '@modelcontextprotocol/server';
import { SandboxError } from '../errors.ts';
import { OUTPUT_STREAMS } from './output-cache.ts';
import { mimeType, workspaceUri } from './reply.ts';
import { DEFAULT_SESSION, type Tenant } from './tenant.ts';
import { asText } from './tools/files.ts';

const MAX_LISTED = 1000;
/** What a listing may read from the store; sessions used longest ago are left out first. */
const MAX_READ_BYTES = 256 * 1024 * 1024;
const MAX_COMPLETIONS = 100;

async function sessionIds(tenant: Tenant): Promise<string[]> {
  return [DEFAULT_SESSION, ...(await tenant.sessions.list()).map(({ session_id }) => session_id)];
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
      const name = `${id}: ${path}`;
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

/** Files of a session as far as they can be told; one that is damaged or gone does not spoil the list of the others. */
async function readableFiles(tenant: Tenant, session_id: string) {
  try {
    return await tenant.files(session_id);
  } catch (cause) {
    if (cause instanceof SandboxError) return [];
    throw cause;
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

async function readWorkspace(tenant: Tenant, uri: string, session_id: string, path: string) {
  try {
    const bytes = await (await tenant.open(session_id)).readFile(path);
    const text = asText(bytes);
    const mime = mimeType(path) ?? (text === undefined ? 'application/octet-stream' : 'text/plain');
    const content = text === undefined ? { blob: Buffer.from(bytes).toString('base64') } : { text };
    return { contents: [{ uri, mimeType: mime, ...content }] };
  } catch (cause) {
    if (cause instanceof SandboxError) throw new ResourceNotFoundError(uri, cause.message);
    throw cause;
  }
}

/** The path in an address, as it was before it was encoded; one that cannot be decoded is taken as it is. */
function decodePath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

export function registerResources(server: McpServer, tenant: Tenant): void {
  const workspace = new ResourceTemplate('workspace://{session}/{+path}', {
    list: () => listWorkspaceFiles(tenant),
    complete: {
      session: async (prefix) => (await sessionIds(tenant)).filter((id) => id.startsWith(prefix)),
      path: (prefix, context) => completePaths(tenant, context?.arguments?.['session'], prefix),
    },
  });
  const about = 'Files of a session; "default" is the workspace of calls without one.';
  server.registerResource(
    'workspace_file',
    workspace,
    { title: 'Workspace file', description: about },
    (uri, { session, path }) => readWorkspace(tenant, uri.href, String(session), decodePath(String(path))),
  );
  const output = new ResourceTemplate('output://{id}/{stream}', {
    list: undefined,
    complete: { stream: () => [...OUTPUT_STREAMS] },
  });
  const what = 'The whole of an output that an answer shows only head and tail of.';
  server.registerResource(
    'whole_output',
    output,
    { title: 'Whole output', description: what, mimeType: 'text/plain' },
    (uri) => {
      const kept = tenant.outputs.get(uri.href);
      if (kept === undefined) throw new ResourceNotFoundError(uri.href, 'The output is no longer kept.');
      return { contents: [{ uri: uri.href, mimeType: 'text/plain', text: kept.text }] };
    },
  );
}
