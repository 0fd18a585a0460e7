/** A guest from an image: what every run and every further image starts from. */
import { Guest } from '../engine/guest.ts';
import { type Image, layImage } from '../engine/image.ts';
import { Volume } from '../fs/volume.ts';
import type { GuestAssets } from '../runtimes/guest-files.ts';
import type { Runtime } from '../runtimes/runtime.ts';

/** An image that was read and checked, and what belongs to it. */
export interface Layable {
  readonly runtime: Runtime;
  readonly assets: GuestAssets;
  readonly image: Image;
}

/** Stands in for a file system until the guest gets one. */
export const NO_VOLUME = new Volume({ maxBytes: 0, maxFiles: 0 }, () => 0);

export function freshGuest({ runtime, assets, image }: Layable, maxPages: number): Guest {
  const size = { pages: image.header.pages, maxPages };
  const guest = new Guest(assets.program, runtime.linkage, size, NO_VOLUME);
  layImage(guest, image);
  return guest;
}
