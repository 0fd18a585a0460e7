/** Downloads wheels with the pip of this machine, so that its indexes, mirrors, proxies and PIP_FIND_LINKS are used. */
import { resolve } from 'node:path';
import { runHostProgram } from '../host/start-program.ts';
import { NATIVE_PLATFORM, PYTHON_TAG, PYTHON_VERSION } from './python-abi.ts';

const PIP_TIMEOUT_MS = 5 * 60_000;
/**
 * How pip may be called on this machine, in order of preference. With -I, Python imports nothing from the current folder, from
 * PYTHONPATH or from the packages of the user, and runs no start-up file.
 */
const PIP_COMMANDS = [
  ['python3', '-I', '-m', 'pip'],
  ['python', '-I', '-m', 'pip'],
  ['py', '-3', '-I', '-m', 'pip'],
  ['uvx', 'pip'],
] as const;
const NO_PIP: PipFailure = {
  kind: 'no_pip',
  message: `pip was not found (tried ${PIP_COMMANDS.map((command) => command.join(' ')).join(', ')}); install Python 3 with pip, or uv`,
};
const COMMON_FLAGS = '--quiet --no-deps --only-binary=:all: --disable-pip-version-check'.split(' ');
/** Selects wheels for the interpreter of the guests, and pure wheels. Only a retry reports that there is no network. */
const GUEST_FLAGS =
  `--platform ${NATIVE_PLATFORM} --python-version ${PYTHON_VERSION} --implementation cp --abi ${PYTHON_TAG} --retries 1`.split(
    ' ',
  );

/** What Python prints if it has no pip, and what Windows prints instead of starting Python. */
const NOT_FOUND = /No module named pip\b|Python was not found/;

/** Versions that a message names. */
const MAX_VERSIONS = 5;

/** Why pip did not download a package. */
export interface PipFailure {
  readonly kind: 'no_pip' | 'no_wheel' | 'no_network' | 'no_space' | 'other';
  readonly message: string;
  /** The versions that pip has instead, separated by commas. */
  readonly versions?: string;
}

/** Runs `pip download`. Returns undefined if it succeeds. */
export async function pipDownload(
  flags: readonly string[],
  requirements: readonly string[],
  folder: string,
): Promise<PipFailure | undefined> {
  for (const [command, ...prefix] of PIP_COMMANDS) {
    try {
      // Each name is one argument and starts with a letter or digit, so it cannot be taken for an option.
      const args = [...prefix, 'download', ...COMMON_FLAGS, ...flags, '-d', resolve(folder), ...requirements];
      await runHostProgram(command, args, { timeoutMs: PIP_TIMEOUT_MS });
      return undefined;
    } catch (cause) {
      const { stderr, message, code } = cause as { stderr?: string; message: string; code?: string | number };
      if (code === 'ENOENT' || code === 'EACCES' || NOT_FOUND.test(stderr ?? '')) continue;
      return classify((stderr || message).trim());
    }
  }
  return NO_PIP;
}

/** Downloads a wheel that guests can use. `flags` are further flags of pip. */
export const downloadForGuests = (requirement: string, folder: string, flags: readonly string[] = []) =>
  pipDownload([...GUEST_FLAGS, ...flags], [requirement], folder);

function classify(output: string): PipFailure {
  const lines = output.split('\n').filter((line) => line !== '');
  const message = lines.findLast((line) => line.startsWith('ERROR')) ?? lines.at(-1) ?? 'pip failed';
  if (/No space left on device|Disk quota exceeded/.test(output)) return { kind: 'no_space', message };
  // An index that cannot be reached does not matter if another one has the package.
  const versions = /\(from versions: ([^()\n]+)\)/.exec(output)?.[1]?.split(', ');
  if (versions !== undefined && versions[0] !== 'none')
    return { kind: 'no_wheel', message, versions: versions.slice(-MAX_VERSIONS).join(', ') };
  if (/connection broken|NewConnectionError|Temporary failure|timed out|ProxyError/i.test(output))
    return { kind: 'no_network', message };
  return { kind: /No matching distribution/.test(output) ? 'no_wheel' : 'other', message };
}
