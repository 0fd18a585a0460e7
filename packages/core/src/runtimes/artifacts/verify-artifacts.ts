/** Verifies the artifacts of a guest build as a whole. Threads that run guests verify only what they use. */
import { readImage } from '../../engine/image.ts';
import { OpenLayer } from '../../host/layer-pack.ts';
import { type GuestAssets, readImageBytes, readModule, verifyModule } from './guest-artifacts.ts';

/** Reads every file and throws `image_invalid` if one is damaged. */
export function verifyAssets(assets: GuestAssets): void {
  verifyModule(assets, readModule(assets));
  for (const layer of assets.layers) new OpenLayer(layer).verify();
  readImage(readImageBytes(assets), assets.origin);
}
