/**
 * Calls whose cost grows with their input: parsing, copying, decoding and decompressing in one step. On the main thread, such a
 * call delays every request, so its input must be bounded.
 */
import { importsOf, SOURCES } from '../support/sources.ts';

/** Modules that programs load on their main thread. Commands of the command line serve one user, and are left out. */
const ENTRIES = ['index.ts', 'serve.ts', 'jobs/index.ts', 'adapters/index.ts'];

const CALLS = [
  /\bJSON\.parse\(/g,
  /\bstructuredClone\(/g,
  /\w*[dD]ecoder\w*(?:\[\w+\])?(?:\([^()]*\))?\??\.decode\(/g,
  /\.toString\(\s*['"](?:utf-?8|latin1|base64|base64url|ascii|binary)['"]/g,
  /\bBuffer\.(?:from|concat)\([^;\n]*\)\.toString\(\)/g,
  /\.formData\(/g,
  /\b(?:inflate|deflate|gunzip|gzip|unzip|brotliCompress|brotliDecompress)(?:Raw)?Sync\(/g,
];

const sources = new Map(SOURCES.map((source) => [source.path, withoutComments(source.text)]));
const imports = new Map(SOURCES.map((source) => [source.path, importsOf(source)]));

function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
}

/** The files that a file imports, without types. Dynamic imports are included. */
const importedBy = (path: string) =>
  (imports.get(path) ?? []).filter(({ isType }) => !isType).map(({ target }) => target);

function filesOfMainThread(): string[] {
  const found = new Set(ENTRIES);
  for (const path of found) for (const target of importedBy(path)) found.add(target);
  return [...found].filter((path) => sources.has(path)).sort();
}

export const callsIn = (text: string): number =>
  CALLS.reduce((sum, pattern) => sum + [...text.matchAll(pattern)].length, 0);

/** The number of such calls in each file that the main thread loads, by path in src/. */
export const MAIN_THREAD_CALLS: ReadonlyMap<string, number> = new Map(
  filesOfMainThread()
    .map((path) => [path, callsIn(sources.get(path)!)] as const)
    .filter(([, calls]) => calls > 0),
);

interface BoundedCalls {
  readonly calls: number;
  /** What bounds the input of the calls. */
  readonly bound: string;
}

const OWN_FILES = 'files of this package and of its build';
const IN_THREAD = 'a library or wheel that a user adds, within the limits of wheels; runs in a worker thread';
const WHEEL = 'the members of a wheel that a user adds; no tenant can choose one';

const ADAPTER_FILE = 'a file, at most `workspace_max_bytes`; one application, no tenants';

/** Every file with such calls, by path in src/. */
export const BOUNDED: Readonly<Record<string, BoundedCalls>> = {
  'adapters/slots/ai-sdk-sandbox.ts': { calls: 1, bound: ADAPTER_FILE },
  'adapters/slots/codemode-executor.ts': { calls: 1, bound: 'the names of tools; runs in a guest' },
  'adapters/slots/openai-sandbox.ts': {
    calls: 2,
    bound: 'data of the application, from `persistWorkspace`; one application, no tenants',
  },
  'adapters/slots/slot-files.ts': { calls: 1, bound: ADAPTER_FILE },
  'adapters/slots/tanstack-sandbox.ts': {
    calls: 2,
    bound: 'one part of the output of a process; the process waits until it is read',
  },
  'e2b/filesystem-service.ts': { calls: 1, bound: '200 characters of a header' },
  'e2b/form-files.ts': {
    calls: 1,
    bound: 'the headers of one part of a form, 8 KiB; at most 1,000 parts, which are read in slices',
  },
  'e2b/list-query.ts': { calls: 2, bound: 'the query of a request, which Node.js limits to 16 KiB' },
  'engine/side-module-stub-file.ts': { calls: 1, bound: OWN_FILES },
  'framing/json-limit-scanner.ts': {
    calls: 2,
    bound:
      'a message of at most `max_body_bytes`, a notebook of at most 16 MiB or the record of a sandbox of at most 256 KiB; depth and members are limited',
  },
  'framing/json-header.ts': {
    calls: 2,
    bound: 'the header of a cached image or layer, whose digest is verified',
  },
  'framing/limited-json.ts': {
    calls: 2,
    bound: 'bytes, members and depth, which are counted before the text is parsed',
  },
  'fs/layer-index.ts': { calls: 1, bound: OWN_FILES },
  'fs/packed-edit.ts': {
    calls: 1,
    bound: 'one part of a list of files: 500 paths, 128 Ki characters; a turn of the event loop for each',
  },
  'host/own-packages.ts': { calls: 3, bound: OWN_FILES },
  'host/read-json-file.ts': { calls: 2, bound: 'a configuration file of the operator, at most 1 MiB' },
  'jobs/job-worker.ts': { calls: 1, bound: 'a submitted program, at most 16 Mi characters' },
  'jobs/pg-boss-store.ts': {
    calls: 1,
    bound: 'the result of a job, which a worker has limited like any result',
  },
  'mcp/client-input.ts': { calls: 1, bound: 'a signed answer, within the limits of request bodies' },
  'gateway/server-traffic.ts': {
    calls: 2,
    bound:
      'one chunk of a tool server, at most 64 KiB; messages of at most 10 MiB and 100,000 members are parsed in a turn of their own',
  },
  'mcp/result-app.ts': { calls: 1, bound: OWN_FILES },
  'mcp/relayed-answers.ts': {
    calls: 1,
    bound: 'the outcome of one call that another server of the operator stored',
  },
  'server/json-steps.ts': {
    calls: 3,
    bound: 'one step of 64 Ki characters, or the short strings of a message',
  },
  'server/request-body.ts': {
    calls: 1,
    bound: '`max_body_bytes`, 64 levels and 2,000 members, which are counted before the body is parsed',
  },
  'mcp/runs-awaiting-approval.ts': {
    calls: 1,
    bound: 'the decisions of one request, within the limits of request bodies',
  },
  'mcp/stdio-lines.ts': { calls: 2, bound: '10 MiB, 64 levels and 2,000 members; one client' },
  'mcp/task-states.ts': {
    calls: 2,
    bound: 'the state of one task with the result of one call; 32 MiB for all tasks of a tenant',
  },
  'model-text/displayed-result-blocks.ts': {
    calls: 1,
    bound: 'an image that is small enough for clients, or was reduced to that size',
  },
  'model-text/recent-results.ts': {
    calls: 2,
    bound: 'one kept output or result, within the limits of results; 32 MiB for all of a tenant',
  },
  'model-text/sliced-text.ts': {
    calls: 6,
    bound: 'one slice of 256 KiB; one slice of one tenant runs per turn of the event loop',
  },
  'network/broker.ts': { calls: 1, bound: 'one piece of a response, 256 KiB' },
  'network/live-transport.ts': { calls: 1, bound: 'the headers of a response, 64 KiB' },
  'network/recording.ts': {
    calls: 9,
    bound:
      'one slice of a response; a request, within its limits; a HAR file of another program that the user of the library chose, 64 MiB',
  },
  'network/secret-search.ts': { calls: 2, bound: 'a secret of 1,024 characters' },
  'network/secrets.ts': {
    calls: 3,
    bound: 'a header of a request, 32 KiB; a text of a response within the limit of headers, 64 KiB',
  },
  'packages/added-packages.ts': { calls: 3, bound: 'the list of packages that a user added' },
  'packages/approved-wheels.ts': {
    calls: 2,
    bound: 'the list of wheels that a user approved, at most 16 MiB',
  },
  'packages/check-wheel-contents.ts': { calls: 3, bound: WHEEL },
  'packages/import-costs.ts': { calls: 1, bound: OWN_FILES },
  'packages/pyodide-lock.ts': { calls: 1, bound: OWN_FILES },
  'packages/read-zip.ts': { calls: 2, bound: IN_THREAD },
  'packages/wheel-metadata.ts': { calls: 1, bound: WHEEL },
  'jupyter/kernel-message.ts': { calls: 1, bound: 'the name of the channel of a message' },
  'playground/saved-timeline.ts': { calls: 2, bound: 'a timeline of at most 4 MiB' },
  'server/program-outcome.ts': {
    calls: 1,
    bound: 'a displayed image: 8 MiB on a server; `workspace_max_bytes` in the adapter, which has no tenants',
  },
  'results/read-displayed-image.ts': { calls: 1, bound: '4 MiB' },
  'runtimes/programs/process-launcher.ts': {
    calls: 1,
    bound: 'nothing: the call is in the text of a program for a guest',
  },
  'runtimes/artifacts/guest-artifacts.ts': { calls: 1, bound: OWN_FILES },
  'runtimes/javascript/guidance/error-rules.ts': { calls: 1, bound: 'no call: the text of a suggestion' },
  'runtimes/javascript/syntax/local-imports.ts': {
    calls: 1,
    bound: 'a package.json next to the program of the command line, at most 10 MiB',
  },
  'runtimes/programs/program-list.ts': { calls: 1, bound: OWN_FILES },
  'sandbox/output-delivery.ts': { calls: 2, bound: 'one chunk of output, and `stdout_max_bytes` in total' },
  'sandbox/sandbox.ts': { calls: 1, bound: '`workspace_max_bytes`; only for callers of the library' },
  'stores/format/stored-json.ts': {
    calls: 2,
    bound:
      'a stored manifest of at most 16 MiB, or an object of a file list of at most 256 MiB; servers write objects of at most 64 entries',
  },
  'tools/json-data.ts': {
    calls: 3,
    bound: 'the size limit of tool arguments; results are written in steps of 500 members',
  },
  'tools/tool-dispatcher.ts': { calls: 2, bound: 'arguments and payloads within the limits of tool calls' },
  'tools/tool-schema.ts': { calls: 2, bound: 'the schema of a tool, once per toolset' },
  'worker/protocol/parse-guest-report.ts': { calls: 1, bound: '`MAX_REPORT_BYTES`' },
};

interface BoundedLoop {
  /** The text in the file that sets the bound. */
  readonly limit: string;
  readonly bound: string;
}

/** Loops over what a guest or client chooses, which the patterns do not find, by path in src/. */
const BOUNDED_LOOPS: Readonly<Record<string, BoundedLoop>> = {
  'analysis/analyse.ts': {
    limit: 'MAX_CHARS = 32_768;\nconst MAX_LINES = 2_000',
    bound: 'the first 32,768 characters and 2,000 lines of a failed program',
  },
  'runtimes/python/syntax/local-imports.ts': {
    limit: 'MAX_SOURCE_CHARACTERS = 65_536',
    bound: 'the first 65,536 characters of a program, in which imports of packages are searched for',
  },
  'sandbox/workspace-files.ts': {
    limit: 'maxFiles',
    bound: 'the files of a workspace: `workspace_max_files`',
  },
  'stores/format/state-size.ts': {
    limit: 'ENTRIES_PER_STEP = 500',
    bound: 'steps of 500 of the files that a call has changed, and of those in /tmp',
  },
  'stores/format/stored-tree.ts': {
    limit: 'ENTRIES_PER_STEP = 200',
    bound: 'steps of 200 entries of a list of files',
  },
  'worker/protocol/limit-changed-files.ts': {
    limit: 'MAX_LISTED_CHARS = 1 << 20',
    bound: 'lists of changed files: 1 Mi characters of paths',
  },
};

/** The loops whose file does not contain the text that sets their bound. */
export const unknownLimits = (): string[] =>
  Object.entries(BOUNDED_LOOPS).flatMap(([path, { limit }]) =>
    sources.get(path)?.includes(limit) ? [] : [`${path}: ${limit}`],
  );
