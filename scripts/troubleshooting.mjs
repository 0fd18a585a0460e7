/**
 * What to do about each error code and each trap reason, for docs/TROUBLESHOOTING.md. The tables of the source
 * define the codes; `checked` throws if a code has no row here, or a row has no code.
 */

/** By error code: the usual causes, and what to do. */
const ERRORS = {
  invalid_argument: [
    'A misspelt option, a value of the wrong type, or a value outside its range.',
    'The message names the field and the allowed values.',
  ],
  invalid_path: [
    'A path such as `../data.csv`, `/etc/passwd` or an empty string was passed to `files`, `writeFile` or `readFile`.',
    'Use paths relative to `/app`, such as `data/sales.csv`. To make files of the host readable, use `mounts`.',
  ],
  file_not_found: [
    'The program did not write the file, or wrote it to another folder such as `/tmp`. Or the job belongs to another tenant.',
    'Compare the path with `files_created` of the result and with `listFiles()`. For a job, check the id and the tenant.',
  ],
  quota_exceeded: [
    'The files in `/app` and `/tmp` together would exceed `workspace_max_bytes` or `workspace_max_files`.',
    'Delete files, or raise the limit in the policy.',
  ],
  sandbox_closed: [
    'A call after `close()`, or `close()` during a call.',
    'Wait for the call to end before you close the sandbox. With `await using`, the sandbox is closed at the end of the block.',
  ],
  rate_limited: [
    'The tenant has reached `fuel_per_minute` or `cpu_seconds_per_minute`.',
    'Retry after a minute, or raise the [setting](MCP_INTEGRATION.md#settings).',
  ],
  queue_full: [
    'The tenant has `max_queued` calls waiting.',
    'Wait for calls to end before you send more, or add CPU cores or servers.',
  ],
  session_busy: [
    'Another process, or another sandbox of this process, has the session open.',
    'Retry, or close the sandbox or stop the process that the message names: nothing was changed. `fork` creates an independent copy.',
  ],
  session_exists: [
    '`create`, `fork` or `import` with a name that is in use.',
    'Choose another name, or open the existing session.',
  ],
  session_mismatch: [
    'The session was created with a different language, or with different values of `packages`, `preload` or `auto_persist_globals`.',
    'Open the session with the settings that the message names, or use another `session_id`.',
  ],
  session_not_found: [
    'A misspelt name, another store or tenant, or a session that was deleted or pruned. Without a store on disk, sessions end with their process.',
    'List the sessions: `llm-wasm-sandbox session list`, `list()` or `get_active_sessions`.',
  ],
  session_limit: [
    'There are too many sessions or checkpoints, or they use too much memory.',
    'Delete sessions or checkpoints that are not needed, or raise the limit that the message names. See [Memory](SESSIONS.md#memory).',
  ],
  execution_paused: [
    'A program in the session is waiting for an approval or for the result of a tool.',
    'Answer with `resume`, or discard the program with `undo()`. `paused()` and `llm-wasm-sandbox pending` list the open calls.',
  ],
  execution_not_found: [
    'The paused program was already resumed or discarded. If a resume was rolled back, undone or interrupted, the program is paused under a new `execution_id`.',
    'If a resume is in progress, wait for its result. Otherwise use the id that the message, `paused()` or `llm-wasm-sandbox pending` shows. Before you resume the program, check whether calls with the status `unknown` took effect.',
  ],
  session_damaged: [
    'Files of the store were changed or lost, a backup was made while the server was running, or a different release wrote the session in a different format.',
    'Save the files (`llm-wasm-sandbox session files ID --out DIR`), then restore a backup or delete the session. See [UPGRADING.md](UPGRADING.md).',
  ],
  checkpoint_not_found: [
    'A misspelt name, or a checkpoint that was deleted.',
    '`checkpoints()` and `llm-wasm-sandbox session checkpoint ID --list` list the checkpoints.',
  ],
  nothing_to_undo: [
    'The session has not run a program, or its last call was already undone. Only one call can be undone.',
    'Use `checkpoint(name)` and `rollback(name)` to go back further.',
  ],
  store_failed: [
    'A full disk, missing permissions, or a database that cannot be reached.',
    'Remove the cause that the message names, and retry. With `commit: "answer"`, a failed call, checkpoint, rollback or fork had no effect and can be retried, unless the message says that its outcome is unknown.',
  ],
  commit_unknown: [
    'The connection to the database was lost while a change was being committed, and the database could not be asked afterwards.',
    'Open the session again and check its state before you repeat the call: the change may have taken effect.',
  ],
  module_invalid: [
    'The WebAssembly file of a guest, or a library in an added package, is damaged or uses a feature that is not supported.',
    'Reinstall this package. For an added package, use a wheel with the [tags that are supported](PACKAGES.md#which-wheels).',
  ],
  image_invalid: [
    'A session was stored by a release with different guests or packages, or a file of the installation is damaged.',
    'For a session, see [UPGRADING.md](UPGRADING.md): its files can still be read. Otherwise run `llm-wasm-sandbox doctor` and reinstall.',
  ],
  build_failed: [
    'Loading the modules in `preload` reached a limit of the policy or was interrupted, or a wheel does not have the recorded digest.',
    'The message names the step that failed and the reason. If a limit was reached, raise it, or import the modules in the program instead of preloading them.',
  ],
  not_installed: [
    'The package was bundled without its files, `npm ci --ignore-scripts` in a checkout skipped the build, or `pg` or `pg-boss` is missing.',
    'With a bundler, declare the package as [external](BUNDLERS.md). In a checkout, run `npm run build`. Install the optional packages that the message names.',
  ],
  internal: [
    'A bug in this package.',
    'Report the bug with the message, its `cause` and the output of `llm-wasm-sandbox doctor --json`.',
  ],
};

/** By trap reason: the usual causes, and what to do. */
const TRAPS = {
  out_of_fuel: [
    'The program executed more instructions than `fuel_budget` allows: an endless loop, a large amount of data, or the first import of a large package.',
    'Raise `fuel_budget` to the value that the guidance names, or `preload` the package. `metadata.stopped_at` names the line. See [FUEL_BUDGETING.md](FUEL_BUDGETING.md).',
  ],
  timeout: [
    'The program waited (`time.sleep`) or computed for longer than `timeout_seconds`.',
    'Raise `timeout_seconds`. On a busy machine, allow fewer concurrent programs.',
  ],
  cancelled: [
    '`cancel()`, an aborted `signal`, `cancel_execution`, or a client that disconnected.',
    'If this was not intended, check the timeout of the client.',
  ],
  process_limit: [
    'A shell could not start a process, or a pipe was full.',
    'Start fewer processes, or raise `max_processes` or `max_process_depth`.',
  ],
  memory_limit: [
    'The program needs more memory than `memory_bytes` allows and did not handle the MemoryError.',
    'Process the data in parts, or raise `memory_bytes`.',
  ],
  stack_overflow: [
    'The recursion was too deep, and the interpreter could not raise an exception.',
    'Use a loop, or limit the depth.',
  ],
  unreachable: [
    'The interpreter aborted, for example because of a defect in compiled code.',
    'Run the program in a fresh sandbox. If the failure happens again, report it with the program.',
  ],
  denied_call: [
    'The program called a host function that this sandbox does not provide.',
    'Use an alternative; the guidance names one if it is known.',
  ],
  worker_lost: [
    'The worker thread or process died, for example because the machine ran out of memory.',
    'Run the program again: the workspace is unchanged. If workers are lost often, allow fewer concurrent programs or add memory.',
  ],
};

function checked(rows, codes, file) {
  const missing = codes.filter((code) => !(code in rows));
  const unknown = Object.keys(rows).filter((code) => !codes.includes(code));
  if (missing.length + unknown.length > 0)
    throw new Error(`${file}: missing [${missing}], unknown [${unknown}]`);
  return codes.map((code) => [code, ...rows[code]]);
}

const FILE = 'scripts/troubleshooting.mjs';

/** One section per error code. */
export const errorSections = (meanings, exitCodeOf) =>
  checked(ERRORS, Object.keys(meanings), FILE)
    .map(([code, causes, remedy]) =>
      [
        `### ${code}`,
        meanings[code],
        `- **Usual causes:** ${causes}\n- **What to do:** ${remedy}\n- **Exit code of the command line:** ${exitCodeOf(code)}`,
      ].join('\n\n'),
    )
    .join('\n\n');

const table = (head, rows) =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');

const firstSentence = (text) => /^.*?[.](?= |$)/s.exec(text)?.[0] ?? text;

/** What to do first about each error code, and its exit code. */
export const errorTable = (meanings, exitCodeOf) =>
  table(
    ['code', 'exit code', 'what to do'],
    checked(ERRORS, Object.keys(meanings), FILE).map(([code, , remedy]) => [
      `\`${code}\``,
      exitCodeOf(code),
      firstSentence(remedy),
    ]),
  );

/** Why runs are stopped, the message and exit code of each reason, and what to do. */
export const trapTable = (traps) =>
  table(
    ['`trap_reason`', 'exit code', '`trap_message`', 'what to do'],
    checked(TRAPS, Object.keys(traps), FILE).map(([reason, , remedy]) => [
      `\`${reason}\``,
      traps[reason].exit_code,
      traps[reason].message,
      firstSentence(remedy),
    ]),
  );

/** One section per trap reason. */
export const trapSections = (traps) =>
  checked(TRAPS, Object.keys(traps), FILE)
    .map(([reason, causes, remedy]) =>
      [
        `### ${reason}`,
        `- **Usual causes:** ${causes}\n- **What to do:** ${remedy}\n- **Exit code:** ${traps[reason].exit_code}`,
      ].join('\n\n'),
    )
    .join('\n\n');
