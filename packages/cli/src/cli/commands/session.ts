/**
 * `session …`: inspects and manages stored sessions. A subcommand is a row here plus one function in
 * session/actions.ts, which is loaded when a subcommand runs.
 */
import { Option } from 'commander';
import type { CommandDetails, CommandSpec } from '../command.ts';
import { printError, printNote } from '../diagnostics.ts';
import { EXIT } from '../exit-codes.ts';
import { HIDDEN_OPTION, jsonOption, options, storeOptions } from '../shared-options.ts';
import type { SESSION_ACTIONS, SessionFlags } from './session/actions.ts';

interface SessionSubcommand extends Omit<CommandSpec, 'action'> {
  readonly name: keyof typeof SESSION_ACTIONS;
}

const ID = { '<ID>': 'Name of the session' };

const SUBCOMMANDS: readonly SessionSubcommand[] = [
  {
    name: 'list',
    description: 'List sessions, most recently used first',
    examples: ['session list', 'session list --json --store ./sessions'],
  },
  {
    name: 'show',
    description: 'Show the limits, variables, files and checkpoints of a session',
    arguments: ID,
    examples: ['session show notes'],
  },
  {
    name: 'files',
    description: 'List, print or copy the files of a session, even if it is damaged',
    arguments: { ...ID, '[PATH]': 'File to print' },
    options: options({
      '--out <TARGET>':
        'Copy instead of printing: the file PATH to the file TARGET, or all files to the folder TARGET',
      ...HIDDEN_OPTION,
    }),
    examples: [
      'session files notes',
      'session files notes out/report.csv',
      'session files notes --out ./copied',
    ],
  },
  {
    name: 'checkpoint',
    description: 'Create, list or delete checkpoints of a session',
    arguments: { ...ID, '[NAME]': 'Name of the checkpoint (default: checkpoint-1, checkpoint-2, …)' },
    options: [
      new Option('--list', 'List the checkpoints of the session').conflicts('delete'),
      new Option('--delete', 'Delete the checkpoint NAME'),
    ],
    examples: [
      'session checkpoint notes before-cleanup',
      'session checkpoint notes --list',
      'session checkpoint notes before-cleanup --delete',
    ],
  },
  {
    name: 'rollback',
    description: 'Restore a session to a checkpoint, or undo its last call',
    arguments: { ...ID, '[NAME]': 'Checkpoint to restore (default: the state before the last call)' },
    examples: ['session rollback notes', 'session rollback notes before-cleanup'],
  },
  {
    name: 'fork',
    description: 'Create a session that starts from the current state of another',
    arguments: { ...ID, '[NEW_ID]': 'Name of the new session (default: a UUID)' },
    examples: ['session fork notes notes-2'],
  },
  {
    name: 'export',
    description: 'Write a session to a file, including its undo state and checkpoints',
    arguments: { ...ID, '<FILE>': 'File to write; "-" for standard output' },
    options: options({ '--force': 'Overwrite FILE if it exists' }),
    examples: ['session export notes notes.session'],
  },
  {
    name: 'import',
    description: 'Import a session written by "session export"; it keeps its limits',
    arguments: { '<FILE>': 'File to read; "-" for standard input' },
    options: options({ '--session <ID>': 'Name for the session (default: its name when exported)' }),
    examples: ['session import notes.session', 'session import notes.session --session notes-copy'],
  },
  {
    name: 'prune',
    description: 'Delete sessions that have not been used for some time',
    options: [
      ...options({
        '--older-than <HOURS>': 'Delete sessions that have not been used for HOURS hours',
      }).map((one) => one.makeOptionMandatory()),
      ...options({
        '--dry-run': 'Show what would be deleted, without deleting it',
        '--include-very-old':
          'Also delete sessions that should have been deleted over a year ago; without this flag they are kept, because the clock may be wrong',
      }),
    ],
    examples: ['session prune --older-than 720 --dry-run', 'session prune --older-than 720'],
  },
  {
    name: 'rm',
    description: 'Delete sessions, including damaged ones',
    arguments: { '<ID...>': 'Names of the sessions' },
    examples: ['session rm notes notes-2'],
  },
];

async function runSubcommand(
  { name }: SessionSubcommand,
  args: readonly (string | undefined)[],
  flags: SessionFlags,
): Promise<void> {
  const [{ openSessionContext }, { SESSION_ACTIONS }] = await Promise.all([
    import('./session/context.ts'),
    import('./session/actions.ts'),
  ]);
  const context = openSessionContext(flags);
  try {
    const { json, text, problems = [], notes = [] } = await SESSION_ACTIONS[name](context, args, flags);
    for (const line of notes) printNote(line);
    for (const line of problems) printError(line);
    if (flags.json) process.stdout.write(`${JSON.stringify(json, null, 2)}\n`);
    else if (typeof text !== 'string') process.stdout.write(text);
    else if (text !== '') process.stdout.write(`${text}\n`);
    if (problems.length > 0) process.exitCode = EXIT.unavailable;
  } finally {
    await context.sessions.close();
  }
}

export default {
  subcommands: SUBCOMMANDS.map((subcommand) => ({
    ...subcommand,
    options: [...(subcommand.options ?? []), ...storeOptions(), jsonOption()],
    action: (args, flags) => runSubcommand(subcommand, args, flags as SessionFlags),
  })),
} satisfies CommandDetails;
