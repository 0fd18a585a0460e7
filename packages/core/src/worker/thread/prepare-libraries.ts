/** Prepares the libraries of packages for guests. */
import { mainSymbols } from '../../engine/compile-side-module.ts';
import { SandboxError } from '../../errors.ts';
import { toShared } from '../../fs/shared-array-buffers.ts';
import type { PackageLibrary } from '../../packages/package-set.ts';
import {
  compileModule,
  type GuestAssets,
  type PreparedLibrary,
  readModule,
  verifyModule,
} from '../../runtimes/artifacts/guest-artifacts.ts';
import type { HostSignatures } from '../../wasm/prepare-side-module.ts';

/** Rewrites and validates libraries for the main module of the guest. Runs in a worker thread. */
export async function prepareLibraries(
  libraries: readonly PackageLibrary[],
  assets: GuestAssets,
  hostSignatures: HostSignatures = new Map(),
): Promise<PreparedLibrary[]> {
  const { prepareSideModule } = await import('../../wasm/prepare-side-module.ts');
  const main = readModule(assets);
  verifyModule(assets, main);
  const mainFunctions = new Set(mainSymbols(compileModule(assets, main).module).functions.keys());
  return libraries.map(({ path, sha256, bytes }) => {
    try {
      const prepared = prepareSideModule(bytes, { mainFunctions, hostSignatures });
      // Compiles lazily, but validates everything.
      new WebAssembly.Module(prepared as BufferSource);
      return { sha256, prepared: toShared(prepared) };
    } catch (cause) {
      const problem = cause instanceof Error ? cause.message : String(cause);
      throw new SandboxError('module_invalid', `packages: the library ${path} cannot be loaded. ${problem}`);
    }
  });
}
