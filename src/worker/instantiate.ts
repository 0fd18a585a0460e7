/** A guest from an image: what every run and every further image starts from. */
import { Guest } from '../engine/guest.ts';
import { type Image, writeImage } from '../engine/image.ts';
import { Volume } from '../fs/volume.ts';
import type { GuestAssets } from '../runtimes/guest-artifacts.ts';
import type { Runtime } from '../runtimes/runtime.ts';

/** An image that was read and checked, and what belongs to it. */
export interface GuestTemplate {
  readonly runtime: Runtime;
  readonly assets: GuestAssets;
  readonly image: Image;
}

/** Stands in for a file system until the guest gets one. */
export const EMPTY_VOLUME = new Volume({ maxBytes: 0, maxFiles: 0 }, () => 0);

export function instantiateGuest({ runtime, assets, image }: GuestTemplate, maxPages: number): Guest {
  const size = { pages: image.header.pages, maxPages };
  const guest = new Guest(assets.compiled, runtime.linkage, size, EMPTY_VOLUME);
  writeImage(guest, image);
  return guest;
}
