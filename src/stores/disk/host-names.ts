/**
 * Which files of a workspace can be real files of the host. The guest may use any name; a host may have no such name, or
 * take two names for one. What cannot be laid out stays in the session, just not in the folder people look at. Links
 * never are: where they lead is the guest's choice, and out there it would be the host's files.
 */
import { utf8Length } from '../../fs/file-names.ts';
import type { TreeEntry } from '../format/manifest.ts';

export interface HostNames {
  readonly platform: NodeJS.Platform;
  /** The file system takes names that differ by case for the same. */
  readonly foldsCase: boolean;
  /** Of the folder that paths are relative to. */
  readonly rootBytes: number;
}

/** With some room below what systems say, for the separator and a terminator. */
const MAX_PATH_BYTES: Partial<Record<NodeJS.Platform, number>> = { darwin: 1000, win32: 32_000 };
const OTHER_MAX_PATH_BYTES = 4000;

/** Characters with a meaning, names that are devices, and endings that Windows drops. */
const WINDOWS_REFUSES =
  /[\p{Cc}<>:"|?*\\]|[. ]$|^(con|prn|aux|nul|com[\d¹²³]|lpt[\d¹²³]|conin\$|conout\$)(\.|$)/iu;

/** A form that is equal for all names that a careless file system may confuse. */
export function foldName(path: string): string {
  return path.normalize('NFC').toUpperCase().toLowerCase();
}

/** Those of a sorted tree that can be laid out. */
export function layable(tree: Iterable<TreeEntry>, host: HostNames): Map<string, TreeEntry> {
  const laid = new Map<string, TreeEntry>();
  const folded = new Set<string>();
  const maxBytes = (MAX_PATH_BYTES[host.platform] ?? OTHER_MAX_PATH_BYTES) - host.rootBytes;
  for (const entry of tree) {
    const { path, kind } = entry;
    const slash = path.lastIndexOf('/');
    if (kind === 'symlink' || (slash >= 0 && !laid.has(path.slice(0, slash)))) continue;
    if (host.platform === 'win32' && WINDOWS_REFUSES.test(path.slice(slash + 1))) continue;
    if (utf8Length(path) > maxBytes) continue;
    if (host.foldsCase) {
      const key = foldName(path);
      if (folded.has(key)) continue;
      folded.add(key);
    }
    laid.set(path, entry);
  }
  return laid;
}
