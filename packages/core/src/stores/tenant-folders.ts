/** The folders in which a server stores the sessions of its tenants. The command line reads them too. */
import { listFolder } from '../host/list-folder.ts';

/** The only tenant of a server without tokens. In a database, its sessions are those of the command line. */
export const LOCAL_TENANT = 'local';

/** Part of the paths of stored sessions, so it must not change. */
const TENANT_FOLDER_PREFIX = 'caller-';

/** The folder of a tenant in the store. The prefix keeps the folder of a token named ".." inside the store. */
export function tenantFolder(tenant: string): string {
  return TENANT_FOLDER_PREFIX + tenant;
}

/** The folders of tenants in the store. */
export const tenantFolders = (folder: string): string[] =>
  listFolder(folder).filter((name) => name.startsWith(TENANT_FOLDER_PREFIX));
