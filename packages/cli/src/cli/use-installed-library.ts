/** For bundles that contain parts of the library: its files are in its own package. */
import { fileURLToPath } from 'node:url';
import { useInstallFolder } from '@llm-wasm-sandbox/core/internal';

export function useInstalledLibrary(): void {
  const manifest = import.meta.resolve('@llm-wasm-sandbox/core/package.json');
  useInstallFolder(fileURLToPath(new URL('dist/', manifest)));
}
