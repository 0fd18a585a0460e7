/**
 * The files of a session for the sandbox slots of frameworks: bytes by path, folders and links. Absolute paths start with /app,
 * or with another name of the workspace that a framework uses; no path leads out of it.
 */

import type { Entry, Session } from '@llm-wasm-sandbox/core/internal';
import {
  checkFolder,
  entriesBelow,
  entryAt,
  existingEntry,
  followLinks,
  missingFolders,
  moveEdit,
  pathInside,
  removalEdit,
  SandboxError,
} from '@llm-wasm-sandbox/core/internal';

export const WORKSPACE = '/app';

const nameOf = (path: string) => path.slice(path.lastIndexOf('/') + 1);

/** The absolute path in the sandbox. */
const pathInSandbox = (path: string) => (path === '' ? WORKSPACE : `${WORKSPACE}/${path}`);

/** One entry of a folder. */
export interface SlotEntry {
  readonly name: string;
  /** Absolute path. */
  readonly path: string;
  readonly kind: Entry['kind'];
  /** Size in bytes. 0 for folders. */
  readonly size: number;
  readonly modifiedAt: Date;
}

const slotEntry = ({ path, kind, data, mtimeMs }: Entry): SlotEntry => ({
  name: nameOf(path),
  path: pathInSandbox(path),
  kind,
  size: data?.length ?? 0,
  modifiedAt: new Date(mtimeMs),
});

export class SlotFiles {
  readonly #session: Session;
  readonly #roots: readonly string[];

  /** `alias`: another absolute name of the workspace. */
  constructor(session: Session, alias?: string) {
    this.#session = session;
    this.#roots = alias === undefined ? [WORKSPACE] : [WORKSPACE, alias];
  }

  /** The path relative to the workspace. Throws `invalid_path`. */
  relative(path: string): string {
    const inside = pathInside(path, this.#roots);
    if (inside !== undefined) return inside;
    throw new SandboxError(
      'invalid_path',
      `${JSON.stringify(path.slice(0, 200))} is not in the workspace. Use a relative path or one below ${WORKSPACE}.`,
    );
  }

  /** The entry that a path leads to, links followed; undefined if there is none. */
  async stat(path: string): Promise<SlotEntry | undefined> {
    const tree = await this.#session.fileTree();
    const entry = entryAt(tree, followLinks(tree, this.relative(path)));
    return entry && slotEntry(entry);
  }

  /** The entry at a path, which may be a link. Throws `file_not_found`. */
  async lstat(path: string): Promise<SlotEntry> {
    return slotEntry(existingEntry(await this.#session.fileTree(), this.relative(path)));
  }

  /** The bytes of a file. Throws `file_not_found`, or `invalid_path` for a folder. */
  async read(path: string): Promise<Uint8Array<ArrayBuffer>> {
    const tree = await this.#session.fileTree();
    const { kind, data } = existingEntry(tree, followLinks(tree, this.relative(path)));
    if (kind === 'dir') throw new SandboxError('invalid_path', `${path} is a folder.`);
    if (data === undefined) throw new SandboxError('file_not_found', `${path} is a link to a missing file.`);
    return data.slice() as Uint8Array<ArrayBuffer>;
  }

  async readText(path: string): Promise<string> {
    return new TextDecoder().decode(await this.read(path));
  }

  /** Writes a file and creates missing folders. Throws `invalid_path` for a folder. */
  async write(path: string, content: string | Uint8Array): Promise<void> {
    const at = followLinks(await this.#session.fileTree(), this.relative(path));
    if (at === '') throw new SandboxError('invalid_path', `${WORKSPACE} is a folder.`);
    await this.#session.writeFile(at, content);
  }

  /** The entries of a folder, down to a depth. Throws `file_not_found`, or `invalid_path` if it is not a folder. */
  async list(path: string, depth = 1): Promise<SlotEntry[]> {
    const tree = await this.#session.fileTree();
    const folder = followLinks(tree, this.relative(path));
    checkFolder(tree, folder);
    return [...entriesBelow(tree, folder, depth)].map(slotEntry);
  }

  /** Creates a folder and its missing parents. An existing folder is left as it is. */
  async makeFolder(path: string): Promise<void> {
    const at = this.relative(path);
    await this.#session.editFiles((tree) => ({ removed: [], entries: missingFolders(tree, at) }));
  }

  /** Removes a file, a link, or a folder with its contents. Throws `file_not_found`. */
  async remove(path: string): Promise<void> {
    const at = this.relative(path);
    await this.#session.editFiles((tree) => {
      existingEntry(tree, at);
      return removalEdit(tree, at);
    });
  }

  /** Moves a file or a folder. Throws `file_not_found` or `invalid_path`. */
  async move(from: string, to: string): Promise<void> {
    const [source, target] = [this.relative(from), this.relative(to)];
    await this.#session.editFiles((tree) => moveEdit(tree, source, target));
  }
}
