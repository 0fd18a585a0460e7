/** The service `filesystem.Filesystem` of E2B, except watching: each change is one edit of the tree of a sandbox. */

import type { FileTree, Session } from '@llm-wasm-sandbox/core/internal';
import {
  checkFolder,
  entriesBelow,
  entryAt,
  existingEntry,
  missingFolders,
  moveEdit,
  removalEdit,
} from '@llm-wasm-sandbox/core/internal';
import * as z from 'zod';
import { HttpError } from '../server/http-error.ts';
import { unary } from './connect-protocol.ts';
import type { E2bCall, E2bRoutes } from './e2b-call.ts';
import { entryFacts, entryInfo } from './entry-info.ts';
import { behindLinks, checkUser, homePath, namedEntry, relativePath } from './file-paths.ts';

const path = z.string().max(4096);
const onePath = z.object({ path });

/** SDKs name the user of a call as in HTTP basic authentication. */
function checkBasicUser({ request }: Pick<E2bCall, 'request'>): void {
  const encoded = /^Basic (.+)$/.exec(request.headers.authorization ?? '')?.[1];
  // biome-ignore lint/plugin: 200 characters of a header
  if (encoded !== undefined) checkUser(Buffer.from(encoded.slice(0, 200), 'base64').toString().split(':')[0]);
}

/** The session with the files of the sandbox of a call. */
export async function filesOf(call: E2bCall): Promise<Session> {
  checkBasicUser(call);
  const { sandboxes, tenant, caller } = call;
  return sandboxes.owner(tenant, await sandboxes.running(tenant, caller.sandbox_id!));
}

/** Describes entries while the answer is written, so that no list of them takes memory. */
function* infosBelow(tree: FileTree, folder: string, depth: number) {
  for (const entry of entriesBelow(tree, folder, depth)) yield entryInfo(entryFacts(entry));
}

export const FILESYSTEM_ROUTES: E2bRoutes = {
  ...unary('filesystem.Filesystem/Stat', onePath, async (call, message) => {
    const at = relativePath(message.path, 404);
    const tree = await (await filesOf(call)).fileTree();
    const entry = existingEntry(tree, namedEntry(tree, at));
    const led = behindLinks(tree, entry.path);
    return { entry: entryInfo(entryFacts(entry), led === entry.path ? entry.target : homePath(led)) };
  }),
  ...unary(
    'filesystem.Filesystem/ListDir',
    z.object({ path, depth: z.number().int().min(0).max(4096).default(1) }),
    async (call, message) => {
      const given = relativePath(message.path, 404);
      const tree = await (await filesOf(call)).fileTree();
      const at = behindLinks(tree, given);
      checkFolder(tree, at);
      // Requests that arrive together are answered in turns of their own.
      await call.nextSlice();
      return { entries: infosBelow(tree, at, message.depth || 1) };
    },
  ),
  ...unary('filesystem.Filesystem/MakeDir', onePath, async (call, message) => {
    const given = relativePath(message.path, 400);
    const session = await filesOf(call);
    await session.editFiles((tree) => {
      const at = behindLinks(tree, given);
      if (entryAt(tree, at)?.kind === 'dir') throw new HttpError(409, `${homePath(given)} already exists`);
      return { removed: [], entries: missingFolders(tree, at) };
    });
    const tree = await session.fileTree();
    return { entry: entryInfo(entryFacts(existingEntry(tree, behindLinks(tree, given)))) };
  }),
  ...unary(
    'filesystem.Filesystem/Move',
    z.object({ source: path, destination: path }),
    async (call, message) => {
      const [from, to] = [relativePath(message.source, 404), relativePath(message.destination, 400)];
      const session = await filesOf(call);
      await session.editFiles((tree) => moveEdit(tree, namedEntry(tree, from), namedEntry(tree, to)));
      const tree = await session.fileTree();
      return { entry: entryInfo(entryFacts(existingEntry(tree, namedEntry(tree, to)))) };
    },
  ),
  ...unary('filesystem.Filesystem/Remove', onePath, async (call, message) => {
    const at = relativePath(message.path, 404);
    const session = await filesOf(call);
    // As in E2B, something that does not exist counts as removed.
    await session.editFiles((tree) => removalEdit(tree, namedEntry(tree, at)));
    return {};
  }),
};
