/** The folders of this program in the user's home: the cache, the state, the session store and the added packages. */
import { homedir } from 'node:os';
import { join } from 'node:path';

const APP = 'llm-wasm-sandbox';

interface UserFolder {
  /** Environment variable that overrides the whole path. */
  readonly override: string;
  /** Environment variable of the XDG specification for the base folder. */
  readonly xdg: string;
  /** Base folders relative to the home folder. */
  readonly linux: string;
  readonly mac: string;
  /** Path below the base folder. */
  readonly below: readonly string[];
}

const CACHE: UserFolder = {
  override: 'LLM_WASM_SANDBOX_CACHE',
  xdg: 'XDG_CACHE_HOME',
  linux: '.cache',
  mac: 'Library/Caches',
  below: [APP],
};
const STATE: UserFolder = {
  override: 'LLM_WASM_SANDBOX_STATE',
  xdg: 'XDG_STATE_HOME',
  linux: '.local/state',
  mac: 'Library/Application Support',
  below: [APP],
};
const SESSIONS: UserFolder = {
  override: 'LLM_WASM_SANDBOX_STORE',
  xdg: 'XDG_DATA_HOME',
  linux: '.local/share',
  mac: 'Library/Application Support',
  below: [APP, 'sessions'],
};
const PACKAGES: UserFolder = {
  ...SESSIONS,
  override: 'LLM_WASM_SANDBOX_PACKAGES_DIR',
  below: [APP, 'packages'],
};

function folderOf({ override, xdg, linux, mac, below }: UserFolder): string {
  const { env, platform } = process;
  if (env[override]) return env[override];
  const home = homedir();
  const bases: Partial<Record<NodeJS.Platform, string>> = {
    win32: env['LOCALAPPDATA'] || join(home, 'AppData', 'Local'),
    darwin: join(home, mac),
  };
  return join(bases[platform] ?? (env[xdg] || join(home, linux)), ...below);
}

/** The cache folder; the environment variable LLM_WASM_SANDBOX_CACHE overrides it. */
export const cacheFolder = () => folderOf(CACHE);

/** The state of interactive commands, such as the history; the environment variable LLM_WASM_SANDBOX_STATE overrides it. */
export const stateFolder = () => folderOf(STATE);

/** The session store of the command line; the environment variable LLM_WASM_SANDBOX_STORE overrides it. */
export const sessionFolder = () => folderOf(SESSIONS);

/** The packages that were added by `packages add`; the environment variable LLM_WASM_SANDBOX_PACKAGES_DIR overrides it. */
export const packagesFolder = () => folderOf(PACKAGES);

/** The list of the added packages; it does not exist if there are none. */
export const addedPackagesFile = () => join(packagesFolder(), 'packages.json');
