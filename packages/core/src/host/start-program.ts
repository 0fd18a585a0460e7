/**
 * Starts programs of this machine, such as Python and a browser. Programs look for code and settings in their working
 * directory and their environment, and a guest may have written the files of the current folder. So every program starts in
 * a folder of its own, is found through absolute entries of PATH, and gets only variables that do not make it load code.
 */
import { type ChildProcess, execFile, type SpawnOptions, spawn } from 'node:child_process';
import { accessSync, constants, mkdtempSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import { promisify } from 'node:util';

type Environment = Readonly<Record<string, string | undefined>>;

/** Who and where the user is, the desktop, proxies and certificates, and the settings of pip, uv and version managers. */
const PASSED_ON = new RegExp(
  `^(?:${[
    'PATH|HOME|USER|LOGNAME|SHELL|TERM|TZ|LANG|LANGUAGE|LC_\\w+|TMPDIR|TEMP|TMP',
    'DISPLAY|WAYLAND_DISPLAY|XAUTHORITY|XDG_\\w+|DBUS_SESSION_BUS_ADDRESS|DESKTOP_SESSION|(?:KDE|GNOME)_\\w+|BROWSER',
    '(?:HTTPS?|ALL|NO)_PROXY|SSL_CERT_FILE|SSL_CERT_DIR|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|NIX_SSL_CERT_FILE|NETRC',
    '(?:PIP|UV|PYENV|ASDF|MISE)_\\w+',
    'SYSTEMROOT|SYSTEMDRIVE|WINDIR|COMSPEC|PATHEXT|USERNAME|USERPROFILE|HOMEDRIVE|HOMEPATH|APPDATA|LOCALAPPDATA|PROGRAM\\w+',
  ].join('|')})$`,
  'i',
);
/** Variables that contain a path or a URL. */
const PATHS = new Set([
  ...[
    'TMPDIR',
    'TEMP',
    'TMP',
    'SSL_CERT_FILE',
    'SSL_CERT_DIR',
    'REQUESTS_CA_BUNDLE',
    'CURL_CA_BUNDLE',
    'NETRC',
  ],
  ...['CACHE_DIR', 'CERT', 'CLIENT_CERT', 'CONFIG_FILE', 'INDEX_URL', 'LOG', 'PYTHON'].map(
    (name) => `PIP_${name}`,
  ),
  ...['CACHE_DIR', 'CONFIG_FILE', 'DEFAULT_INDEX', 'INDEX_URL', 'PYTHON_INSTALL_DIR', 'TOOL_DIR'].map(
    (name) => `UV_${name}`,
  ),
]);
/** Variables that contain several of them, separated by spaces. */
const PATH_LISTS = new Set([
  ...['FIND_LINKS', 'EXTRA_INDEX_URL', 'CONSTRAINT', 'BUILD_CONSTRAINT'].map((name) => `PIP_${name}`),
  ...['FIND_LINKS', 'EXTRA_INDEX_URL', 'CONSTRAINT'].map((name) => `UV_${name}`),
]);
const URL_OR_HOME = /^(?:[a-z][\w+.-]+:|~)/i;

/** Relative paths are those of the user, so they are completed before the program starts in another folder. */
const absolute = (path: string) => (path === '' || URL_OR_HOME.test(path) ? path : resolve(path));

/** The environment of a program. */
export function programEnvironment(env: Environment = process.env): Record<string, string> {
  const passedOn = Object.entries(env).flatMap(([name, value]): [string, string][] => {
    if (value === undefined || !PASSED_ON.test(name)) return [];
    if (name.toUpperCase() === 'PATH') return [[name, searchedFolders(value).join(delimiter)]];
    if (PATHS.has(name)) return [[name, absolute(value)]];
    return [[name, PATH_LISTS.has(name) ? value.split(/\s+/).map(absolute).join(' ') : value]];
  });
  return Object.fromEntries(passedOn);
}

const searchedFolders = (path: string) => path.split(delimiter).filter((folder) => isAbsolute(folder));

/** The absolute path of an executable. Throws an error with the code ENOENT if there is none. */
function findProgram(name: string, env: Environment = process.env): string {
  const isWindows = process.platform === 'win32';
  const path =
    Object.entries(env).find(([key]) => (isWindows ? key.toUpperCase() : key) === 'PATH')?.[1] ?? '';
  const names = isWindows ? ['', '.exe', '.com'].map((ending) => name + ending) : [name];
  const candidates = isAbsolute(name)
    ? names
    : /[\\/]/.test(name)
      ? []
      : searchedFolders(path).flatMap((folder) => names.map((one) => join(folder, one)));
  const found = candidates.find(isExecutable);
  if (found !== undefined) return found;
  throw Object.assign(new Error(`The program ${name} was not found in the absolute folders of PATH.`), {
    code: 'ENOENT',
  });
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** Files at which npm and uv stop to search the parent folders for projects and settings. */
const SEARCH_ENDS = { 'package.json': '{}', 'uv.toml': '' };

interface OwnFolder {
  readonly path: string;
  /** Deletes the folder, unless the program has left files in it. */
  remove(): void;
}

function makeFolder(): OwnFolder {
  const path = mkdtempSync(join(resolve(tmpdir()), 'llm-wasm-sandbox-'));
  for (const [name, text] of Object.entries(SEARCH_ENDS)) writeFileSync(join(path, name), text);
  return {
    path,
    remove() {
      try {
        for (const name of Object.keys(SEARCH_ENDS)) rmSync(join(path, name), { force: true });
        rmdirSync(path);
      } catch {
        // It is in the folder for temporary files.
      }
    },
  };
}

/** Runs a program to its end. Rejects like `execFile` if it cannot be started, fails, or takes too long. Its temporary files go to `temporary`. */
export async function runHostProgram(
  name: string,
  args: readonly string[],
  { timeoutMs, temporary }: { readonly timeoutMs: number; readonly temporary: string },
): Promise<{ stdout: string; stderr: string }> {
  const file = findProgram(name);
  const folder = makeFolder();
  try {
    return await promisify(execFile)(file, [...args], {
      cwd: folder.path,
      env: { ...programEnvironment(), TMPDIR: temporary, TEMP: temporary, TMP: temporary },
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
      windowsHide: true,
    });
  } finally {
    folder.remove();
  }
}

export interface StartOptions extends Pick<SpawnOptions, 'detached' | 'stdio'> {
  /** All variables of the program. */
  readonly env: Record<string, string>;
  /** A folder that the user chose or that this process has created, instead of an empty one. */
  readonly cwd?: string | undefined;
}

interface LocatedProgram {
  readonly file: string;
  /** The folder in which to start it. */
  readonly cwd: string;
  /** Deletes the folder when the program has ended, unless it was chosen. */
  remove(): void;
}

/** The file of a program and the folder in which to start it. Throws an error with the code ENOENT if there is none. */
export function locateProgram(name: string, { cwd, env }: Pick<StartOptions, 'cwd' | 'env'>): LocatedProgram {
  const isInChosenFolder = cwd !== undefined && /[\\/]/.test(name);
  const file = findProgram(isInChosenFolder ? resolve(cwd, name) : name, env);
  if (cwd !== undefined) return { file, cwd, remove: () => {} };
  const { path, remove } = makeFolder();
  return { file, cwd: path, remove };
}

/** Starts a program that runs beside this process. */
export function startProgram(name: string, args: readonly string[], options: StartOptions): ChildProcess {
  const { file, cwd, remove } = locateProgram(name, options);
  const child = spawn(file, [...args], { ...options, cwd, windowsHide: true });
  for (const event of ['exit', 'error']) child.once(event, remove);
  return child;
}
