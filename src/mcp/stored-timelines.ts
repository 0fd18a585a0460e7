/**
 * The timelines of the sessions of a tenant, in the store of the server: one session with a single file for each, under the
 * same name but in a separate folder or tenant, so that it is neither listed nor counted as a session of the tenant.
 */

import { SandboxError } from '../errors.ts';
import type { TimelineStorage } from '../playground/saved-timeline.ts';
import type { CreateOptions } from '../session/registry-options.ts';
import type { SessionRegistry } from '../session/session-registry.ts';

const FILE = 'timeline.json';
/** More than a server writes. A larger file was changed in the store, and is ignored. */
const MAX_BYTES = 4 * 1024 * 1024;

export class StoredTimelines implements TimelineStorage {
  constructor(
    readonly registry: SessionRegistry,
    readonly options: CreateOptions,
  ) {}

  async read(session_id: string): Promise<string | undefined> {
    const stored = await this.registry.store.readWorkspace(session_id);
    const file = [...(stored?.workspace.values() ?? [])].find(({ path }) => path === FILE);
    if (file?.data === undefined || file.data.length > MAX_BYTES) return undefined;
    return new TextDecoder().decode(file.data.slice());
  }

  async write(session_id: string, text: string): Promise<void> {
    const session = await this.registry.create({ ...this.options, session_id, auto_persist_globals: false });
    try {
      await session.writeFile(FILE, text);
    } finally {
      // Another process that opens the session next also writes its timeline.
      await this.registry.release(session_id);
    }
  }

  async delete(session_id: string): Promise<void> {
    try {
      await this.registry.delete(session_id);
    } catch (cause) {
      if (!(cause instanceof SandboxError) || cause.code !== 'session_not_found') throw cause;
    }
  }
}
