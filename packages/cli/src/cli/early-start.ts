/**
 * Starts what takes longest before the command line is parsed: the thread of `run`, which then loads its guest. What it reads
 * from the arguments is a guess that affects only how fast the run starts.
 */
import {
  DEFAULT_LIMITS,
  type FirstJob,
  LANGUAGE_NAMES,
  languageOfFile,
  optimizeLate,
  prepareFirstJob,
  type RuntimeName,
  runtimeOf,
} from '@llm-wasm-sandbox/core/internal';
import { useInstalledLibrary } from './use-installed-library.ts';

/** Flags of runs whose guest differs from the default one or is not known yet. Only their thread is started early. */
const OTHER_GUEST = /^--(session|memory|preload|packages)\b/;
/** Flags of runs that need no thread of this process. */
const NO_THREAD = /^(--isolation\b|--help$|-h$)/;

/** Receives the arguments of `run`. */
export function startEarly(args: readonly string[]): FirstJob | undefined {
  if (args.some((arg) => NO_THREAD.test(arg))) return undefined;
  useInstalledLibrary();
  optimizeLate();
  const runtime = args.some((arg) => OTHER_GUEST.test(arg)) ? undefined : likelyRuntime(args);
  return prepareFirstJob(runtime, DEFAULT_LIMITS.memory_bytes);
}

function likelyRuntime(args: readonly string[]): RuntimeName {
  const named = LANGUAGE_NAMES.find((name) =>
    args.some(
      (arg, i) =>
        arg === `-l${name}` || arg === `--language=${name}` || (arg === name && isFlag(args[i - 1])),
    ),
  );
  const language = named ?? args.map((arg) => languageOfFile(arg)).find(Boolean);
  return runtimeOf(language);
}

const isFlag = (arg: string | undefined) => arg === '-l' || arg === '--language';
