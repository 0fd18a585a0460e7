/**
 * The tool for shell commands, with the name and arguments that models know: one shell per tenant that stays alive between
 * calls. Its files are those of the default workspace, so that other tools see them without a session.
 */

import { SandboxError, type Session, SHELL_RUNTIME, type ToolResult } from '@llm-wasm-sandbox/core/internal';
import * as z from 'zod';
import type { ServerSettings } from '../../server/settings.ts';
import type { Tenant } from '../../server/tenant.ts';
import { runAnswered, runForClient, toolsOf } from '../run-for-client.ts';
import { ADDITIVE, defineTool, hasNetwork, offersTool, type Tool, type ToolCall } from '../tool.ts';

const SESSION = SHELL_RUNTIME;
const MAX_COMMAND_CHARS = 1_000_000;

/** The shell of a tenant, which its first command creates. */
async function shellOf(tenant: Tenant): Promise<Session> {
  const session = await tenant.openOrCreate(SESSION, SHELL_RUNTIME);
  if (session.runtime === SHELL_RUNTIME) return session;
  const reason = `The session ${SESSION} runs ${session.runtime}, and this tool needs its name`;
  throw new SandboxError('session_mismatch', `${reason}. Delete it with destroy_session. Nothing was run.`);
}

async function restart({ tenant }: ToolCall): Promise<ToolResult> {
  tenant.calls.cancel(SESSION);
  const session = await shellOf(tenant);
  // After the commands that wait, which are cancelled.
  await session.withFilesOf(
    () => session,
    () => session.restart(),
  );
  return {
    text: 'The shell was restarted: variables, functions and the working directory are new, and files are kept.',
  };
}

const descriptionOf = (settings: ServerSettings) =>
  `Run a command in a bash shell that stays alive between calls: variables, functions and the working directory (/app) persist. Returns output and exit code${settings.error_guidance ? ' and, on failure, steps to fix it' : ''}. Has about 120 commands, such as grep, sed, awk, jq, sqlite3, python3 and node. Has the files of execute_code, read_file and write_file${offersTool(settings, 'create_session') ? ' without session_id' : ''}. No package managers, no editors, no terminal.`;

export const shellTool = (settings: ServerSettings): Tool =>
  defineTool({
    name: SHELL_RUNTIME,
    title: 'Run a shell command',
    description: descriptionOf(settings),
    input: z.strictObject({
      command: z.string().max(MAX_COMMAND_CHARS).optional().describe('Command line or script to run.'),
      restart: z.boolean().optional().describe('Start a new shell instead; stops a running command.'),
    }),
    annotations: { ...ADDITIVE, openWorldHint: hasNetwork(settings) },
    run: async (args, call) => {
      const { tenant } = call;
      if (args.restart === true) return restart(call);
      const { command } = args;
      if (command === undefined)
        throw new SandboxError('invalid_argument', 'command: is missing. Pass a command, or restart: true.');
      const facts = { request: args, session_id: SESSION, language: SHELL_RUNTIME } as const;
      if (call.input.state !== undefined) return runAnswered(call, call.input.state, facts);
      // Shell programs cannot call tools.
      const options = await toolsOf(call, { session_id: SESSION, mayCall: false });
      return runForClient(call, { ...facts, shell: await shellOf(tenant), code: command, options });
    },
  });
