/**
 * Checks a saved link state against the modules that it names. The state may be forged. After this check, restoring it uses
 * only modules that the host has, memory that exists, and table entries beyond those of the main module.
 */

import type { SideModule } from './compile-side-module.ts';
import { LinkFailure } from './link-failure.ts';
import type { LinkState } from './link-state.ts';

/** `tableStart` is the number of table entries of the main module. Throws LinkFailure. */
export function checkLinkState(
  state: LinkState,
  tableStart: number,
  memoryBytes: number,
  sideModule: (sha256: string) => SideModule,
  isMainFunction: (name: string) => boolean,
): void {
  if (state.table_end < tableStart) throw new LinkFailure('the function table is too short');
  const modules = state.modules.map(({ sha256 }) => sideModule(sha256));
  const used = new Uint8Array(state.table_end);
  const take = (index: number): void => {
    if (index < tableStart || index >= state.table_end || used[index] === 1)
      throw new LinkFailure(`table entry ${index} is used twice or does not exist`);
    used[index] = 1;
  };
  const paths = new Set<string>();
  for (const [i, saved] of state.modules.entries()) {
    const { facts } = modules[i]!;
    if (paths.has(saved.path)) throw new LinkFailure(`${saved.path} is loaded twice`);
    paths.add(saved.path);
    if ([...saved.scope, ...saved.needed].some((index) => index >= i))
      throw new LinkFailure(`${saved.path} refers to a library that was loaded later`);
    if (saved.memory_base + facts.memoryBytes > memoryBytes)
      throw new LinkFailure(`the memory of ${saved.path} does not exist`);
    for (let index = 0; index < facts.tableSize; index++) take(saved.table_base + index);
  }
  for (const { slot, module, name } of state.slots) {
    take(slot);
    const exists = module < 0 ? isMainFunction(name) : modules[module]?.functions.has(name);
    if (!exists) throw new LinkFailure(`the function ${JSON.stringify(name)} does not exist`);
  }
}
