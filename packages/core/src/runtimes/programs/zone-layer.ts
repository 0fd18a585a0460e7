/**
 * The read-only folder /usr/share/zoneinfo, which all file trees have: zoneinfo.pack in the part `programs`, and its digests in
 * programs.json. Each thread opens it once.
 */
import type { DirNode } from '../../fs/nodes.ts';
import { installedFile } from '../../host/install-folder.ts';
import { OpenLayer } from '../../host/layer-pack.ts';
import { findFile, partProblem } from '../../host/parts.ts';
import { packedLayer } from '../../host/shared-layer.ts';
import { OWN_PROGRAMS } from './program-folders.ts';
import { readProgramList, ZONE_PACK } from './program-list.ts';

interface ZoneLayer {
  readonly at: string;
  readonly tree: DirNode;
  /** Throws if a file that a guest used is damaged. */
  checkDamage(): void;
}

let opened: ZoneLayer | undefined;

/** The folder; undefined if it is not installed. `layer` is its number. */
export function zoneLayer(layer: number): ZoneLayer | undefined {
  if (opened !== undefined) return opened;
  const facts = readProgramList(installedFile(OWN_PROGRAMS))?.zones;
  if (facts === undefined || partProblem('programs') !== undefined) return undefined;
  const open = new OpenLayer(packedLayer(findFile(`${OWN_PROGRAMS}/${ZONE_PACK}`), facts));
  opened = { at: facts.at, tree: open.tree(layer), checkDamage: () => open.checkDamage() };
  return opened;
}
