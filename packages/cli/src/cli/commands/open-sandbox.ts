/** The sandbox or session in which `run` and `repl` run programs, and the options that both commands have for it. */

import {
  AUTO,
  createPool,
  createSandbox,
  DEFAULT_LIMITS,
  escapeControls,
  formatBytes,
  formatFuel,
  type Isolation,
  type LanguageName,
  type Optimization,
  type PolicyInput,
  type RuntimeName,
  requestedPackages,
  runtimeOf,
  type Sandbox,
  SandboxError,
  type Session,
  type SessionRegistry,
  sharedPool,
  typicalSeconds,
} from '@llm-wasm-sandbox/core/internal';
import { Option } from 'commander';
import { type LimitFlags, limitPolicy } from '../batch-options.ts';
import { printLines } from '../diagnostics.ts';
import { UsageError } from '../exit-codes.ts';
import { withProgress } from '../progress-line.ts';
import { type MountOption, options, type StoreFlags } from '../shared-options.ts';

export interface NetworkFlags {
  readonly allowNet?: string[];
  readonly askNet?: boolean;
  readonly secret?: string[];
  readonly record?: string;
  readonly replay?: string;
}

export interface SandboxFlags extends StoreFlags, NetworkFlags, LimitFlags {
  readonly session?: string;
  readonly maxOutput?: number;
  readonly mount?: MountOption[];
  readonly preload?: string[];
  /** False for --no-packages. */
  readonly packages?: string[] | false;
  readonly trustNew?: boolean;
  readonly deterministic?: boolean;
  readonly seed?: number;
  readonly isolation?: Isolation;
}

/** The limits given as flags. Others are left out, so that a session keeps its own. */
function policyFromFlags(flags: SandboxFlags): PolicyInput {
  const { mount, seed, deterministic, maxOutput } = flags;
  return {
    ...(maxOutput !== undefined && { stdout_max_bytes: maxOutput, stderr_max_bytes: maxOutput }),
    ...limitPolicy(flags),
    ...(mount !== undefined && { mounts: mount }),
    ...(deterministic && { deterministic }),
    ...(seed !== undefined && { deterministic: { seed } }),
    ...networkFromFlags(flags),
  };
}

/** Reads NAME=env:VARIABLE[:HEADER]. */
function secretsFromFlags({ secret = [], allowNet = [] }: NetworkFlags) {
  const entries = secret.map((text) => {
    const match = /^(\w+)=env:(\w+)(?::([\w-]+))?$/.exec(text);
    if (match === null)
      throw new UsageError('--secret: expected NAME=env:VARIABLE or NAME=env:VARIABLE:HEADER.');
    if (allowNet.length === 0)
      throw new UsageError(
        '--secret requires --allow-net, which names the URLs that may receive the secret.',
      );
    const [, name, env, header] = match;
    return [name!, { env: env!, allow: allowNet, ...(header !== undefined && { header }) }] as const;
  });
  return Object.fromEntries(entries);
}

/** The requests that the flags permit. */
export function networkFromFlags(flags: NetworkFlags): Pick<PolicyInput, 'network'> {
  const { allowNet, askNet, record, replay } = flags;
  if ((allowNet ?? askNet ?? record ?? replay ?? flags.secret) === undefined) return {};
  if (allowNet === undefined && askNet !== true && record !== undefined)
    throw new UsageError('--record requires --allow-net or --ask-net: without them, no request is sent.');
  const advice = "A person can permit it with the option --allow-net '{rule}'.";
  return {
    network: {
      allow: allowNet ?? [],
      ask: askNet === true,
      secrets: secretsFromFlags(flags),
      advice,
      ...(record !== undefined && { record }),
      ...(replay !== undefined && { replay }),
    },
  };
}

async function optionsFromFlags(runtime: RuntimeName, flags: SandboxFlags, optimization: Optimization) {
  const { packages = AUTO, preload, isolation, trustNew } = flags;
  const given = {
    policy: policyFromFlags(flags),
    packages: packages || [],
    ...(trustNew && { trust_new_packages: true }),
    onPackageStep: showStep,
    pool: isolation ? createPool({ isolation, optimization }) : sharedPool({ optimization }),
  };
  if (preload === undefined) return { given, forNew: { runtime, ...given } };
  const loaded = { ...given, preload, packages: flags.packages || (await packagesOfUser()) };
  return { given: loaded, forNew: { runtime, ...loaded } };
}

/**
 * The options of a session in a database. Every machine that opens it must have its packages, so none are added: a new session
 * gets the added packages, a stored one those that it has recorded.
 */
async function sharedOptions(
  { given, forNew }: Awaited<ReturnType<typeof optionsFromFlags>>,
  { packages }: SandboxFlags,
) {
  if ((packages || []).includes(AUTO))
    throw new UsageError(
      `--packages ${AUTO} cannot be combined with a session in a database, because every machine that opens the session must have the same packages. Add them with "llm-wasm-sandbox packages add" on each machine.`,
    );
  if (given.packages !== AUTO) return { given, forNew };
  const { packages: _, ...others } = given;
  return { given: others, forNew: { ...forNew, packages: await packagesOfUser() } };
}

const showStep = (text: string) => printLines(escapeControls(text));

const PREPARING = 'Preparing the interpreter and its packages';

/** The sandbox of one run, which is a session if the flags name one. */
export async function openSandbox(language: LanguageName | undefined, flags: SandboxFlags): Promise<Sandbox> {
  if (flags.session !== undefined) {
    const { openSessionContext } = await import('./session/context.ts');
    return openOrCreateSession(openSessionContext(flags).sessions, language, flags, 'demand');
  }
  checkStoreFlags(flags);
  // The process ends with the run, so idle optimisation would only delay its end.
  const { forNew } = await optionsFromFlags(runtimeOf(language), flags, 'demand');
  return withProgress(PREPARING, () => createSandbox(forNew));
}

/** Throws if the flags name a store but no session. */
export function checkStoreFlags({ session, store, tenant }: SandboxFlags): void {
  if (session === undefined && (store ?? tenant) !== undefined)
    throw new UsageError('--store and --tenant require --session ID.');
}

/** Opens the session that the flags name, or creates it; without a name, it gets a new one. */
export async function openOrCreateSession(
  sessions: SessionRegistry,
  language: LanguageName | undefined,
  flags: SandboxFlags,
  optimization: Optimization,
): Promise<Session> {
  const { session: session_id } = flags;
  const runtime = runtimeOf(language);
  const own = await optionsFromFlags(runtime, flags, optimization);
  const { given, forNew } = sessions.store.revision === undefined ? own : await sharedOptions(own, flags);
  const existing = (await sessions.list()).find((record) => record.session_id === session_id);
  if (existing === undefined)
    return withProgress(PREPARING, () =>
      sessions.create({ ...forNew, ...(session_id !== undefined && { session_id }) }),
    );
  if (language !== undefined && runtime !== existing.runtime) {
    const advice = `Omit --language, run a ${existing.runtime} program, or use another --session`;
    throw new SandboxError(
      'session_mismatch',
      `Session ${session_id} runs ${existing.runtime}, but the program is ${language}. ${advice}.`,
    );
  }
  return withProgress(PREPARING, () => sessions.get(existing.session_id, given));
}

/** The packages that are used with --preload if none are specified. */
async function packagesOfUser(): Promise<string[]> {
  return requestedPackages();
}

const limit = (description: string, fallback: string) =>
  `${description} (default: the session's limit, else ${fallback})`;

/** The limits of a program. */
export const programLimitOptions = () =>
  options({
    '--fuel <N>': limit(
      'Maximum fuel (WebAssembly instructions), e.g. 20B',
      `${formatFuel(DEFAULT_LIMITS.fuel_budget)}, which typically lasts ${typicalSeconds(DEFAULT_LIMITS.fuel_budget)}; "doctor" measures the speed`,
    ),
    '--memory <BYTES>': limit('Maximum memory, e.g. 512Mi', formatBytes(DEFAULT_LIMITS.memory_bytes)),
    '--timeout <SECONDS>': limit('Maximum running time', `${DEFAULT_LIMITS.timeout_seconds} s`),
  });

/** The requests that programs may send, and their read-only files. */
export const PERMITTING_OPTIONS = {
  '--mount <HOST:GUEST>': 'Copy a host file or folder into the guest, read-only; repeatable',
  '--allow-net <URL>':
    'Let programs request this URL pattern, e.g. "https://api.example.com/v1/*"; repeatable',
  '--secret <NAME=env:VAR>':
    'Let programs send the host variable VAR to the URLs of --allow-net without seeing it; add ":HEADER" for another header than Authorization; repeatable',
};

/** What programs can use besides their own files. */
export const programContentOptions = () => [
  ...options({
    ...PERMITTING_OPTIONS,
    '--ask-net': 'Ask about requests that --allow-net does not permit',
    '--replay <FILE>': 'Answer all requests from a HAR file; nothing is sent',
    '--preload <NAMES>': 'Modules to load before the program starts, e.g. openpyxl,jinja2',
    '--packages <NAME>':
      'Packages to use: names of added packages, wheels, or folders of wheels or sources; repeatable (default: "auto", which adds what the program imports)',
    '--no-packages': 'Do not use added packages',
    '--trust-new': 'Let "auto" add wheels whose digests are neither in the list of Pyodide nor approved',
  }),
  new Option('--record <FILE>', 'Write all requests and responses to a HAR file').conflicts('replay'),
];
