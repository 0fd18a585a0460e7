/**
 * The read-only folders with files that C programs read, which all file trees have: /usr/share/zoneinfo, and /usr/lib/git-core of
 * the optional package. Each is a pack beside its programs, with the digests in programs.json. Each thread opens it once.
 */
import { join } from 'node:path';
import type { DirNode } from '../../fs/nodes.ts';
import { installedFile } from '../../host/install-folder.ts';
import { OpenLayer } from '../../host/layer-pack.ts';
import { findFile, partProblem } from '../../host/parts.ts';
import { packedLayer } from '../../host/shared-layer.ts';
import { OWN_PROGRAMS, programFolders } from './program-folders.ts';
import { FILES_PACK, readProgramList } from './program-list.ts';

interface FileLayer {
  readonly at: string;
  readonly tree: DirNode;
  /** Throws if a file that a guest used is damaged. */
  checkDamage(): void;
}

let opened: readonly FileLayer[] | undefined;

/** The folders that are installed. `first` is the number of the first layer. */
export function fileLayers(first: number): readonly FileLayer[] {
  opened ??= programFolders().flatMap((folder, i) => openLayer(folder, first + i));
  return opened;
}

export function checkFileLayers(): void {
  for (const layer of opened ?? []) layer.checkDamage();
}

function openLayer(folder: string, number: number): FileLayer[] {
  const isOwn = folder === installedFile(OWN_PROGRAMS);
  const facts = readProgramList(folder)?.files;
  if (facts === undefined || (isOwn && partProblem('programs') !== undefined)) return [];
  const path = isOwn ? findFile(`${OWN_PROGRAMS}/${FILES_PACK}`) : join(folder, FILES_PACK);
  const open = new OpenLayer(packedLayer(path, facts));
  return [{ at: facts.at, tree: open.tree(number), checkDamage: () => open.checkDamage() }];
}
