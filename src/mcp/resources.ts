/**
 * MCP resources: workspace files and the full text of truncated outputs. A tenant sees only its own; a URI that belongs to
 * another tenant gets the same answer as one that does not exist.
 */
import { type McpServer, ResourceNotFoundError, ResourceTemplate } from '@modelcontextprotocol/server';
import { SandboxError } from '../errors.ts';
import { OUTPUT_STREAMS } from './output-cache.ts';
import { mimeType, workspaceUri } from './resource-links.ts';
import { DEFAULT_SESSION, type Tenant } from './tenant.ts';
import { asText } from './tools/files.ts';

const MAX_LISTED = 1000;
/** Limit for the bytes that a listing reads from the store. Sessions beyond it, least recently used, are omitted. */
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

/** Files of a session, or none if it is damaged or was deleted meanwhile: other sessions must still be listed. */
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

/** Decodes the path of a URI; a malformed one is used unchanged. */
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
  const fileDescription =
    'A file of a session. The session "default" is the workspace of calls without session_id.';
  server.registerResource(
    'workspace_file',
    workspace,
    { title: 'Workspace file', description: fileDescription },
    (uri, { session, path }) => readWorkspace(tenant, uri.href, String(session), decodePath(String(path))),
  );
  const output = new ResourceTemplate('output://{id}/{stream}', {
    list: undefined,
    complete: { stream: () => [...OUTPUT_STREAMS] },
  });
  const outputDescription = 'Full text of an output that a tool result shows truncated.';
  server.registerResource(
    'full_output',
    output,
    { title: 'Full output', description: outputDescription, mimeType: 'text/plain' },
    (uri) => {
      const text = tenant.outputs.get(uri.href);
      if (text === undefined)
        throw new ResourceNotFoundError(uri.href, 'This output does not exist or is no longer cached.');
      return { contents: [{ uri: uri.href, mimeType: 'text/plain', text }] };
    },
  );
}
