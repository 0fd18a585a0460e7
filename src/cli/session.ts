/**
 * `session …`: the sessions of a store, looked at and looked after. A command answers with one value, which is printed
 * as a text for people or as JSON; the work itself is in session-commands.ts and loaded when a command runs.
 */
import { type Command, Option } from 'commander';
import { EXIT, examples, hoursFlag, jsonOption, storeOption } from './flags.ts';
import { plain } from './text-table.ts';

export interface SessionFlags {
  readonly store?: string;
  readonly json?: boolean;
  readonly out?: string;
  readonly list?: boolean;
  readonly delete?: boolean;
  readonly session?: string;
  readonly olderThan?: number;
  readonly dryRun?: boolean;
  readonly force?: boolean;
}

/** What a command has to say, in both forms. */
export interface Answer {
  readonly json: unknown;
  /** A text for standard output; bytes are written as they are. */
  readonly text: string | Uint8Array;
  /** What a person should know besides. */
  readonly notes?: readonly string[];
  /** Why the command did not do all it was asked for. */
  readonly problems?: readonly string[];
}

interface Row {
  readonly description: string;
  readonly arguments?: Readonly<Record<string, string>>;
  readonly options?: readonly Option[];
  readonly examples: readonly string[];
}

const ID = { '<ID>': 'name of the session' };

/** What there is to each; what it does is in session-commands.ts, under the same name. */
export const SESSION_COMMANDS = {
  list: {
    description: 'list sessions, the one used last first',
    examples: ['session list', 'session list --json --store ./sessions'],
  },
  show: {
    description: 'show what is known of a session: variables, files, checkpoints, limits',
    arguments: ID,
    examples: ['session show notes'],
  },
  files: {
    description: "list a session's files, print one, or copy them out; works on damaged sessions, too",
    arguments: { ...ID, '[PATH]': 'file to print' },
    options: [
      new Option('--out <PATH>', 'copy instead of printing: one file to this file, all files to this folder'),
    ],
    examples: [
      'session files notes',
      'session files notes out/report.csv',
      'session files notes --out ./copied',
    ],
  },
  checkpoint: {
    description: 'mark the present state of a session, or list or delete such marks',
    arguments: { ...ID, '[NAME]': 'name of the checkpoint; by default checkpoint-1 and so on' },
    options: [
      new Option('--list', 'list the checkpoints there are').conflicts('delete'),
      new Option('--delete', 'delete the checkpoint NAME'),
    ],
    examples: [
      'session checkpoint notes before-cleanup',
      'session checkpoint notes --list',
      'session checkpoint notes before-cleanup --delete',
    ],
  },
  rollback: {
    description: 'go back to a checkpoint, or undo the last call',
    arguments: { ...ID, '[NAME]': 'checkpoint to go back to; without it the last call is undone' },
    examples: ['session rollback notes', 'session rollback notes before-cleanup'],
  },
  fork: {
    description: 'make another session that starts from the present state of one',
    arguments: { ...ID, '[NEW_ID]': 'name of the new session; by default a UUID' },
    examples: ['session fork notes notes-2'],
  },
  export: {
    description: 'write a session to one file, with its undo and checkpoints',
    arguments: { ...ID, '<FILE>': 'file to write; "-" for standard output' },
    options: [new Option('--force', 'replace FILE if it is there')],
    examples: ['session export notes notes.session'],
  },
  import: {
    description: 'take a session in from such a file; it brings the limits along that it had',
    arguments: { '<FILE>': 'file to read; "-" for standard input' },
    options: [new Option('--session <ID>', 'name for it; by default the one it had')],
    examples: ['session import notes.session', 'session import notes.session --session notes-copy'],
  },
  prune: {
    description: 'delete sessions that were not used for some time',
    options: [
      new Option('--older-than <HOURS>', 'how long, in hours').argParser(hoursFlag).makeOptionMandatory(),
      new Option('--dry-run', 'only say what would be deleted'),
    ],
    examples: ['session prune --older-than 720 --dry-run', 'session prune --older-than 720'],
  },
  rm: {
    description: 'delete sessions, damaged ones included',
    arguments: { '<ID...>': 'names of sessions' },
    examples: ['session rm notes notes-2'],
  },
} as const satisfies Record<string, Row>;
export type SessionCommand = keyof typeof SESSION_COMMANDS;

export function addSessionCommands(program: Command): void {
  const room = program.command('session').description('look at and look after sessions (see run --session)');
  for (const [name, row] of Object.entries<Row>(SESSION_COMMANDS)) {
    const made = room.command(name).description(row.description);
    for (const [argument, what] of Object.entries(row.arguments ?? {})) made.argument(argument, what);
    for (const option of row.options ?? []) made.addOption(option);
    made
      .addOption(storeOption())
      .addOption(jsonOption())
      .addHelpText('after', examples(...row.examples));
    made.action(async (...given: unknown[]) => {
      // Commander hands over the arguments, the flags and the command itself.
      const flags = given.at(-2) as SessionFlags;
      await answer(name as SessionCommand, given.slice(0, -2).flat() as (string | undefined)[], flags);
    });
  }
}

async function answer(
  name: SessionCommand,
  given: readonly (string | undefined)[],
  flags: SessionFlags,
): Promise<void> {
  const [{ openDesk }, { COMMANDS }] = await Promise.all([
    import('./session-context.ts'),
    import('./session-commands.ts'),
  ]);
  const desk = openDesk(flags.store);
  try {
    const { json, text, problems = [], notes = [] } = await COMMANDS[name](desk, given, flags);
    for (const line of [...notes, ...problems]) process.stderr.write(`llm-wasm-sandbox: ${plain(line)}\n`);
    if (flags.json) process.stdout.write(`${JSON.stringify(json, null, 2)}\n`);
    else if (typeof text !== 'string') process.stdout.write(text);
    else if (text !== '') process.stdout.write(`${text}\n`);
    if (problems.length > 0) process.exitCode = EXIT.unavailable;
  } finally {
    await desk.sessions.close();
  }
}
