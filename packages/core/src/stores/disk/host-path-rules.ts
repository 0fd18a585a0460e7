/**
 * Decides which workspace files can be mirrored as files of the host. A guest may use any name; a host may not support
 * the name, or may treat two names as equal. Such files stay in the session but do not appear in workspace/. Symbolic
 * links are never mirrored, because a link that the guest created could point at any file of the host.
 */
import { isLongerThan } from '../../fs/file-names.ts';
import type { Entry } from '../../fs/flat-entries.ts';

export interface HostPathRules {
  readonly platform: NodeJS.Platform;
  /** Whether the file system treats names that differ only in case as equal. */
  readonly foldsCase: boolean;
  /** Length of the path of the workspace/ folder. */
  readonly rootBytes: number;
}

/** Slightly below the documented limits, to leave room for separator and terminator. */
const MAX_HOST_PATH_BYTES: Partial<Record<NodeJS.Platform, number>> = { darwin: 1000, win32: 32_000 };
const DEFAULT_MAX_HOST_PATH_BYTES = 4000;

/** Special characters, device names, and trailing dots and spaces, which Windows removes. */
const INVALID_ON_WINDOWS =
  /[\p{Cc}<>:"|?*\\]|[. ]$|^(con|prn|aux|nul|com[\d¹²³]|lpt[\d¹²³]|conin\$|conout\$)(\.|$)/iu;

/** Maps paths that a case-insensitive or Unicode-normalising file system may treat as equal to the same string. */
export function foldPath(path: string): string {
  return path.normalize('NFC').toUpperCase().toLowerCase();
}

const maxPathBytes = ({ platform, rootBytes }: HostPathRules) =>
  (MAX_HOST_PATH_BYTES[platform] ?? DEFAULT_MAX_HOST_PATH_BYTES) - rootBytes;

/** Whether the host can represent an entry of a tree, if the file system does not fold case. */
export function isMirrorable({ path, kind }: Entry, rules: HostPathRules): boolean {
  if (kind === 'symlink' || isLongerThan(path, maxPathBytes(rules))) return false;
  return rules.platform !== 'win32' || !path.split('/').some((name) => INVALID_ON_WINDOWS.test(name));
}

/** Returns the entries of a sorted tree that the host can represent. Each entry is a step. */
export function* mirrorableEntries(
  tree: Iterable<Entry>,
  rules: HostPathRules,
): Generator<undefined, Map<string, Entry>> {
  const mirrorable = new Map<string, Entry>();
  const folded = new Set<string>();
  const maxBytes = maxPathBytes(rules);
  // Entries of a folder follow each other, so most have the folder of the entry before them.
  let folder = '';
  for (const entry of tree) {
    yield;
    const { path, kind } = entry;
    const slash = path.lastIndexOf('/');
    if (kind === 'symlink') continue;
    if (slash >= 0 && !(slash === folder.length && path.startsWith(folder))) {
      const parent = path.slice(0, slash);
      if (!mirrorable.has(parent)) continue;
      folder = parent;
    }
    if (rules.platform === 'win32' && INVALID_ON_WINDOWS.test(path.slice(slash + 1))) continue;
    if (isLongerThan(path, maxBytes)) continue;
    if (rules.foldsCase) {
      const key = foldPath(path);
      if (folded.has(key)) continue;
      folded.add(key);
    }
    mirrorable.set(path, entry);
  }
  return mirrorable;
}
