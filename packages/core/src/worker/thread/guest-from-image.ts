/** Creates guests from an image. Every run, and every image that extends another, starts from such a guest. */

import type { FindSideModule } from '../../engine/compile-side-module.ts';
import { type CompiledModule, Guest } from '../../engine/guest.ts';
import { type Image, writeImage } from '../../engine/image.ts';
import { Volume } from '../../fs/volume.ts';
import type { GuestAssets } from '../../runtimes/artifacts/guest-artifacts.ts';
import type { Runtime } from '../../runtimes/runtime.ts';

/** A verified image with everything needed to create guests from it. */
export interface GuestTemplate {
  readonly runtime: Runtime;
  readonly assets: GuestAssets;
  readonly compiled: CompiledModule;
  readonly image: Image;
  readonly findSideModule?: FindSideModule;
}

/** The volume of a guest that is not running; each run replaces it. */
export const EMPTY_VOLUME = new Volume({ maxBytes: 0, maxFiles: 0 }, () => 0);

export function instantiateGuest(template: GuestTemplate, maxPages: number): Guest {
  const { runtime, compiled, image, findSideModule } = template;
  const size = { pages: image.header.pages, maxPages };
  const guest = new Guest(compiled, runtime.linkage, size, EMPTY_VOLUME, findSideModule);
  writeImage(guest, image);
  return guest;
}
