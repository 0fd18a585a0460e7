/** Where this program keeps things on a person's machine: what can be made again, and what cannot. */
import { homedir } from 'node:os';
import { join } from 'node:path';

const APP = 'llm-wasm-sandbox';

interface Place {
  /** The variable with which a person moves the folder. */
  readonly own: string;
  /** The variable by which other systems say where such things go. */
  readonly xdg: string;
  /** Below the home folder, where nothing is said. */
  readonly linux: string;
  readonly mac: string;
  readonly below: readonly string[];
}

const CACHE: Place = {
  own: 'LLM_WASM_SANDBOX_CACHE',
  xdg: 'XDG_CACHE_HOME',
  linux: '.cache',
  mac: 'Library/Caches',
  below: [APP],
};
const SESSIONS: Place = {
  own: 'LLM_WASM_SANDBOX_STORE',
  xdg: 'XDG_DATA_HOME',
  linux: '.local/share',
  mac: 'Library/Application Support',
  below: [APP, 'sessions'],
};

function folderOf({ own, xdg, linux, mac, below }: Place): string {
  const { env, platform } = process;
  if (env[own]) return env[own];
  const home = homedir();
  const bases: Partial<Record<NodeJS.Platform, string>> = {
    win32: env['LOCALAPPDATA'] || join(home, 'AppData', 'Local'),
    darwin: join(home, mac),
  };
  return join(bases[platform] ?? (env[xdg] || join(home, linux)), ...below);
}

/** Where the cache lies; the variable LLM_WASM_SANDBOX_CACHE moves it. */
export const cacheFolder = () => folderOf(CACHE);

/** Where sessions of the command line are kept; the variable LLM_WASM_SANDBOX_STORE moves it. */
export const sessionFolder = () => folderOf(SESSIONS);
