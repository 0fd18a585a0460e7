/** A guest of the build, for tests that create instances of it themselves. */
import { type Image, readImage } from '../../packages/core/src/engine/image.ts';
import { RUNTIMES } from '../../packages/core/src/runtimes/registry/runtime-registry.ts';
import type { RuntimeName } from '../../packages/core/src/schema.ts';
import type { GuestTemplate } from '../../packages/core/src/worker/thread/guest-from-image.ts';

export async function loadBuiltGuest(runtime: RuntimeName): Promise<GuestTemplate & { image: Image }> {
  // The images are next to the compiled code.
  const built = new URL('../../packages/core/dist/runtimes/artifacts/guest-artifacts.js', import.meta.url)
    .href;
  const { findAssets, compileModule, readImageBytes, readModule } = (await import(
    built
  )) as typeof import('../../packages/core/src/runtimes/artifacts/guest-artifacts.ts');
  const assets = findAssets(runtime);
  const image = readImage(readImageBytes(assets), assets.origin);
  return { runtime: RUNTIMES[runtime], assets, compiled: compileModule(assets, readModule(assets)), image };
}
