/** Loads the published SDKs of E2B and points them at a server. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { HttpServer } from 'llm-wasm-sandbox/mcp';
import { installPinned } from '../../scripts/install-pinned-packages.mjs';

const PACKAGES = ['e2b@2.51.0', '@e2b/code-interpreter@2.8.0'];

// biome-ignore lint/suspicious/noExplicitAny: the packages are not dependencies of this one, so their types are not available
export type Sdk = any;

/** The folder of the installed SDKs. Without access to the registry, throws. */
export const sdkModules = () => join(installPinned('e2b', PACKAGES), 'node_modules');

/** The SDK of the code interpreter, which exports that of sandboxes as well. Without access to the registry, throws. */
export function loadSdk(): Promise<Sdk> {
  return import(pathToFileURL(join(sdkModules(), '@e2b/code-interpreter/dist/index.mjs')).href);
}

/** The options that lead an SDK to a server. */
export function connection({ url }: HttpServer, apiKey: string) {
  const { origin } = new URL(url);
  return { apiUrl: origin, sandboxUrl: origin, apiKey };
}
