/** `repl`: runs what the user types, line by line, in a session. */

import type { LanguageName } from '@llm-wasm-sandbox/core/internal';
import { createSandbox, DEFAULT_RUNTIME, openSessions } from '@llm-wasm-sandbox/core/internal';
import type { CommandDetails } from '../command.ts';
import { openGateway } from '../open-gateway.ts';
import { GUIDANCE_OPTIONS, languageOption, options, storeOptions } from '../shared-options.ts';
import {
  checkStoreFlags,
  openOrCreateSession,
  programContentOptions,
  programLimitOptions,
  type SandboxFlags,
} from './open-sandbox.ts';

interface ReplFlags extends SandboxFlags {
  readonly language?: LanguageName;
  /** False for --no-history. */
  readonly history: boolean;
  readonly guidance?: boolean;
  readonly toolsConfig?: string;
}

/** The name of a session that ends with the command. */
const UNNAMED = 'repl';

/** The sessions that the flags name; without a name, in memory. */
async function openRegistry(flags: ReplFlags) {
  if (flags.session !== undefined) {
    const { openSessionContext } = await import('./session/context.ts');
    return openSessionContext(flags).sessions;
  }
  checkStoreFlags(flags);
  return openSessions();
}

async function runRepl(flags: ReplFlags): Promise<void> {
  const [{ Console }, { History, historyFile }, { LineReader }, { REPL_COMMANDS }] = await Promise.all([
    import('../repl/console.ts'),
    import('../repl/history.ts'),
    import('../repl/line-reader.ts'),
    import('../repl/commands.ts'),
  ]);
  await using sessions = await openRegistry(flags);
  const isPerson = process.stdin.isTTY === true;
  const optimization = isPerson ? 'idle' : 'demand';
  const openAs = (language: LanguageName | undefined, session: string) =>
    openOrCreateSession(sessions, language, { ...flags, session }, optimization);
  const session = await openAs(flags.language, flags.session ?? UNNAMED);
  const language = flags.language ?? session.runtime;
  await using parser = await createSandbox({ runtime: session.runtime, packages: [] });
  await using gateway = await openGateway(flags.toolsConfig);
  const history = flags.history && isPerson ? new History(historyFile(language)) : undefined;
  const reader = new LineReader({
    history: history?.lines ?? [],
    words: REPL_COMMANDS.map(({ name }) => `:${name}`),
  });
  const repl = new Console({
    sessions,
    session,
    parser,
    language,
    reader,
    history,
    isStored: flags.session !== undefined,
    guidance: flags.guidance ?? process.stderr.isTTY === true,
    tools: async () => gateway?.toolset(),
    open: (name) => openAs(language, name),
  });
  const stop = () => {
    repl.isEnding = true;
    reader.interrupt();
    reader.close();
  };
  // Without a terminal, Ctrl-C ends the command like other programs in a pipe.
  const interrupt = () => {
    if (isPerson) reader.interrupt();
    else stop();
  };
  process.once('SIGTERM', stop).once('SIGHUP', stop).on('SIGINT', interrupt);
  try {
    repl.greet();
    await repl.loop();
  } finally {
    process.off('SIGTERM', stop).off('SIGHUP', stop).off('SIGINT', interrupt);
    reader.close();
    process.stdin.destroy();
  }
  if (!isPerson) process.exitCode = repl.status;
}

export default {
  options: [
    languageOption(`Language of the programs (default: the session's language, else ${DEFAULT_RUNTIME})`),
    ...options({
      '--session <ID>':
        'Continue session ID, or create it; without this option, the session is discarded when you exit',
    }),
    ...storeOptions(),
    ...programLimitOptions(),
    ...programContentOptions(),
    ...options({
      '--tools-config <FILE>':
        'Let programs call tools of the MCP servers in this JSON file; see docs/TOOLS.md',
      ...GUIDANCE_OPTIONS,
      '--no-history': 'Do not read or save the history of typed lines',
    }),
  ],
  examples: ['repl', 'repl --language javascript', 'repl --session notes', 'repl < commands.txt'],
  action: (_, flags) => runRepl(flags),
} satisfies CommandDetails<ReplFlags>;
