/** Loads an image into a thread: compiles its module, opens its layers and verifies its memory. */

import { compileSideModule, type FindSideModule, type SideModule } from '../../engine/compile-side-module.ts';
import type { CompiledModule } from '../../engine/guest.ts';
import { readImage } from '../../engine/image.ts';
import { OpenLayer } from '../../host/layer-pack.ts';
import { isVerified, markVerified } from '../../host/shared-file.ts';
import { compileValid } from '../../host/v8-flags.ts';
import {
  compileModule,
  type GuestAssets,
  readImageBytes,
  readModule,
  verifyModule,
} from '../../runtimes/artifacts/guest-artifacts.ts';
import { RUNTIMES } from '../../runtimes/registry/runtime-registry.ts';
import { receiveModule, type SentAssets } from '../protocol/prepare-ahead.ts';
import { timed } from '../protocol/startup-phases.ts';
import type { GuestTemplate } from './guest-from-image.ts';
import { GuestPool } from './guest-pool.ts';
import type { MountedLayer } from './guest-volume.ts';

export interface LoadedImage extends GuestTemplate {
  readonly layers: readonly MountedLayer[];
  readonly pool: GuestPool;
  /** Throws if a file that a guest used is damaged. */
  checkDamage(): void;
}

/** `others` are the images that the thread has loaded already. `firstLayer` is the number of its first layer. */
export function loadImage(assets: SentAssets, others: Iterable<LoadedImage>, firstLayer = 1): LoadedImage {
  let compiled: CompiledModule | undefined;
  for (const other of others) {
    if (other.assets.origin.module === assets.origin.module) compiled = other.compiled;
  }
  compiled ??= compiledAhead(assets);
  if (compiled === undefined) {
    const bytes = timed('read_module', () => readModule(assets));
    timed('verify_module', () => verifyModule(assets, bytes));
    compiled = timed('compile_module', () => compileModule(assets, bytes));
  }
  const layers = timed('open_layers', () =>
    assets.layers.map((layer, i) => {
      const opened = new OpenLayer(layer);
      return { opened, mounted: { at: layer.at, tree: opened.tree(firstLayer + i) } };
    }),
  );
  const imageBytes = timed('read_image', () => readImageBytes(assets));
  const image = timed('verify_image', () => readImage(imageBytes, assets.origin, isVerified(assets.image)));
  markVerified(assets.image);
  const findSideModule = compiledLibraries(assets);
  const template = { runtime: RUNTIMES[assets.runtime], assets, compiled, image, findSideModule };
  return {
    ...template,
    layers: layers.map(({ mounted }) => mounted),
    pool: new GuestPool(template),
    checkDamage: () => {
      for (const { opened } of layers) opened.checkDamage();
    },
  };
}

/** Finds libraries by SHA-256 and compiles each when it is first used. */
export function compiledLibraries({ libraries }: Pick<GuestAssets, 'libraries'>): FindSideModule {
  const known = new Map(libraries.map(({ sha256, prepared }) => [sha256, prepared]));
  const compiled = new Map<string, SideModule>();
  return (sha256) => {
    const prepared = known.get(sha256);
    if (prepared === undefined) return undefined;
    const found = compiled.get(sha256) ?? compilePrepared(sha256, prepared);
    compiled.set(sha256, found);
    return found;
  };
}

/** It was validated when it was prepared. */
const compilePrepared = (sha256: string, prepared: Uint8Array) =>
  compileSideModule(sha256, prepared, compileValid(prepared));

/** The module, if the main thread has compiled it for this thread. */
function compiledAhead({ module, ahead }: SentAssets): CompiledModule | undefined {
  const { minPages, stateGlobals } = module;
  const compiled = ahead && timed('compile_module', () => receiveModule(ahead));
  return compiled && { module: compiled, minPages, stateGlobals };
}
