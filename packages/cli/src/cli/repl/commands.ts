/** The commands of `repl` that start with a colon, as data. They use the session through its public methods. */
import type { Session, SessionRegistry } from '@llm-wasm-sandbox/core/internal';
import { createdText, formatFiles, formatVariables, restoredText } from '../commands/session/record-text.ts';
import { didYouMean } from '../did-you-mean.ts';
import { UsageError } from '../exit-codes.ts';
import { formatFields } from '../format-table.ts';
import { readProgramText } from '../local-files.ts';

/** What the commands use and change. */
export interface ReplState {
  session: Session;
  isEnding: boolean;
  readonly sessions: SessionRegistry;
  /** Opens a session, or creates it. */
  open(session_id: string): Promise<Session>;
  /** Runs a source as a call of the session. */
  run(code: string): Promise<void>;
}

interface ReplCommand {
  readonly name: string;
  /** The argument as the help shows it. */
  readonly argument?: string;
  readonly description: string;
  /** Returns text for standard output. */
  run(state: ReplState, argument: string | undefined): Promise<string>;
}

export const REPL_COMMANDS: readonly ReplCommand[] = [
  {
    name: 'help',
    description: 'Show this list',
    run: async () => helpText(),
  },
  {
    name: 'undo',
    description: 'Restore the state before the last call',
    run: async ({ session }) => {
      await session.undo();
      return restoredText(session.session_id, undefined);
    },
  },
  {
    name: 'checkpoint',
    argument: '[NAME]',
    description: 'Save the current state under a name',
    run: async ({ session }, name) => createdText(await session.checkpoint(name)),
  },
  {
    name: 'rollback',
    argument: '[NAME]',
    description: 'Restore a checkpoint; without a name, the state before the last call',
    run: async ({ session }, name) => {
      await session.rollback(name);
      return restoredText(session.session_id, name);
    },
  },
  {
    name: 'fork',
    argument: '[NAME]',
    description: 'Continue in a new session that starts from the current state',
    run: async (state, name) => {
      const from = state.session.session_id;
      state.session = await state.session.fork(name);
      return `Forked ${state.session.session_id} from ${from}; ":switch ${from}" returns to it`;
    },
  },
  {
    name: 'switch',
    argument: 'NAME',
    description: 'Continue in another session',
    run: async (state, name) => {
      const names = (await state.sessions.list()).map(({ session_id }) => session_id);
      if (name === undefined || !names.includes(name))
        throw new UsageError(`Specify one of the sessions: ${names.join(', ')}.`);
      state.session = await state.open(name);
      return `Continuing in ${name}`;
    },
  },
  {
    name: 'vars',
    description: 'List the variables',
    run: async ({ session }) => {
      const variables = await session.variables();
      return variables.length > 0 ? formatVariables(variables) : 'The session has no variables.';
    },
  },
  {
    name: 'files',
    description: 'List the files',
    run: async ({ session }) => {
      const files = await session.listFiles();
      return files.length > 0 ? formatFiles(files) : 'The session has no files.';
    },
  },
  {
    name: 'load',
    argument: 'FILE',
    description: 'Run a local file in the session',
    run: async (state, path) => {
      if (path === undefined) throw new UsageError('Specify the file to run: ":load FILE".');
      await state.run(readProgramText(path));
      return '';
    },
  },
  {
    name: 'quit',
    description: 'Exit, like Ctrl-D',
    run: async (state) => {
      state.isEnding = true;
      return '';
    },
  },
];

/** Names of the same commands in other consoles. */
const ALIASES: Readonly<Record<string, string>> = { exit: 'quit', q: 'quit', h: 'help', '?': 'help' };

/** Runs a line that starts with a colon. Returns text for standard output. */
export async function runReplCommand(state: ReplState, line: string): Promise<string> {
  const [word = '', ...rest] = line.slice(1).trim().split(' ');
  const argument = rest.join(' ').trim();
  const name = ALIASES[word] ?? word;
  const command = REPL_COMMANDS.find((one) => one.name === name);
  if (command === undefined) {
    const names = REPL_COMMANDS.map((one) => `:${one.name}`);
    throw new UsageError(
      `Unknown command :${word}. ":help" lists the commands.${didYouMean(`:${word}`, names)}`,
    );
  }
  if (argument !== '' && command.argument === undefined) throw new UsageError(`:${name} takes no argument.`);
  return command.run(state, argument === '' ? undefined : argument);
}

const helpText = () =>
  formatFields(
    REPL_COMMANDS.map(({ name, argument = '', description }) => [`:${name} ${argument}`.trim(), description]),
  );
