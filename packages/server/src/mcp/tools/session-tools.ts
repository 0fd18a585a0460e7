/** Tools that create, list, fork and destroy sessions. */

import type { Session, SessionRecord } from '@llm-wasm-sandbox/core/internal';
import {
  clientError,
  formatFuel,
  formatItems,
  LANGUAGE_RUNTIMES,
  languageName,
  limitInputs,
  limitsText,
  policyLimits,
  runtimeName,
  sandboxLimits,
  sessionId,
} from '@llm-wasm-sandbox/core/internal';
import * as z from 'zod';
import type { ServerSettings } from '../../server/settings.ts';
import { DEFAULT_SESSION, type Tenant } from '../../server/tenant.ts';
import {
  ADDITIVE,
  DESTRUCTIVE_IDEMPOTENT,
  defineTool,
  networkOnlyInput,
  READ_ONLY,
  type Tool,
  unlistedWithoutNetwork,
} from '../tool.ts';
import { createSessionDescription } from '../tool-descriptions.ts';

function createInput(settings: ServerSettings) {
  return z.strictObject({
    language: languageName.describe('JavaScript and TypeScript can be mixed.'),
    session_id: sessionId.optional().describe('Name for the session, e.g. "sales-2026"; by default a UUID.'),
    auto_persist_globals: z.boolean().optional().describe('Keep variables between calls; default true.'),
    ...limitInputs(settings, 'per call', 120),
    memory_bytes: z
      .number()
      .int()
      .min(1)
      .max(settings.max_memory_bytes)
      .optional()
      .describe(`Memory limit, e.g. ${Math.min(2 ** 29, settings.max_memory_bytes)}.`),
    preload: z
      .array(z.string().max(200))
      .max(64)
      .optional()
      .describe('Modules to import in advance, e.g. ["openpyxl"].'),
    network_only: networkOnlyInput,
    copy_files: z.boolean().optional().describe('Copy the files of the default workspace into the session.'),
  });
}

export const createSession = (settings: ServerSettings): Tool =>
  defineTool({
    name: 'create_session',
    title: 'Start a session',
    description: createSessionDescription(settings),
    input: createInput(settings),
    unlisted: unlistedWithoutNetwork(settings),
    output: z.object({
      session_id: z.string(),
      language: languageName,
      auto_persist_globals: z.boolean(),
      limits: policyLimits,
      note: z.string().optional(),
      next_step: z.string(),
    }),
    annotations: ADDITIVE,
    run: async (
      { language, session_id, auto_persist_globals = true, preload, copy_files, ...policy },
      call,
    ) => {
      const given = Object.fromEntries(Object.entries(policy).filter(([, value]) => value !== undefined));
      const session = await call.tenant.create({
        language: LANGUAGE_RUNTIMES[language],
        session_id,
        auto_persist_globals,
        preload,
        copy_files,
        policy: given,
        signal: call.signal,
      });
      const id = session.session_id;
      const next_step = `execute_code(code=…, language="${language}", session_id="${id}")`;
      const files = await filesNote(session, copy_files, call.tenant);
      const notes = [files, networkNote(session)].filter((one) => one !== undefined);
      const note = notes.length === 0 ? undefined : notes.join(' ');
      const limits = sandboxLimits(session);
      const persistence = auto_persist_globals
        ? 'variables and files are kept'
        : 'files are kept, variables are not';
      return {
        text: `Session ${id} (${language}) is ready: ${persistence} between calls; ${limitsText(limits)}.${note === undefined ? '' : ` ${note}`}\nNext: ${next_step}`,
        structured: {
          session_id: id,
          language,
          auto_persist_globals,
          limits,
          ...(note !== undefined && { note }),
          next_step,
        },
      };
    },
  });

/** What the session has of the files that were written before it; undefined if there are none. */
async function filesNote(session: Session, isCopied = false, tenant: Tenant): Promise<string | undefined> {
  const { length } = await (isCopied ? session : await tenant.defaultWorkspace()).listFiles();
  if (length === 0) return undefined;
  const files = formatItems(length, 'file');
  return isCopied
    ? `It has ${files} of the default workspace.`
    : `It has no files yet: the ${files} of the default workspace ${length === 1 ? 'is' : 'are'} not in it. To take them along, create the session with copy_files=true.`;
}

const MAX_LISTED = 20;

/** What the programs of the session may request; undefined if they have no network. */
function networkNote({ policy: { network, network_only } }: Session): string | undefined {
  if (network === undefined) return undefined;
  const patterns = network_only ?? network.allow.map((rule) => (typeof rule === 'string' ? rule : rule.url));
  const more = patterns.length > MAX_LISTED ? ', …' : '';
  const names = Object.keys(network.secrets).slice(0, MAX_LISTED).join(', ');
  const secrets =
    names === ''
      ? ''
      : ` Environment variables with placeholders for secrets, to be sent in a header: ${names}.`;
  return `Programs may request ${patterns.slice(0, MAX_LISTED).join(', ') || 'nothing'}${more}.${secrets}`;
}

export const destroySession = defineTool({
  name: 'destroy_session',
  title: 'End a session',
  description:
    'End a session permanently and free its resources: its variables, files and checkpoints are deleted and running code is stopped. Use it when the work is done and you have read the results. To only delete files use reset_workspace; to undo a step use rollback_session.',
  input: z.strictObject({ session_id: sessionId.describe('The session to end.') }),
  output: z.object({ session_id: z.string(), destroyed: z.boolean() }),
  annotations: DESTRUCTIVE_IDEMPOTENT,
  run: async ({ session_id }, { tenant }) => {
    const isDefault = session_id === DEFAULT_SESSION;
    if (isDefault) await tenant.resetWorkspace(session_id);
    // An imported session can have the name of the default workspace.
    if (!isDefault || (await tenant.storedSessionIds()).includes(session_id))
      await tenant.destroy(session_id);
    return { text: `Destroyed session ${session_id}.`, structured: { session_id, destroyed: true } };
  },
});

export const forkSession = defineTool({
  name: 'fork_session',
  title: 'Branch a session',
  description:
    'Copy (branch, duplicate) a session with all its variables and files into a new session, instantly; afterwards the two are independent. Returns the new session_id. Use it to try alternatives from the same point. Not available for the default workspace.',
  input: z.strictObject({
    session_id: sessionId.describe('The session to copy.'),
    new_session_id: sessionId.optional().describe('Name of the copy; by default a UUID.'),
  }),
  output: z.object({ session_id: z.string(), forked_from: z.string(), language: runtimeName }),
  annotations: ADDITIVE,
  run: async ({ session_id, new_session_id }, { tenant }) => {
    const fork = await tenant.fork(session_id, new_session_id);
    const structured = { session_id: fork.session_id!, forked_from: session_id, language: fork.runtime };
    return { text: `Session ${structured.session_id} is a copy of ${session_id}.`, structured };
  },
});

const sessionRow = z.object({
  session_id: z.string(),
  language: runtimeName,
  auto_persist_globals: z.boolean(),
  created_at: z.string(),
  last_used_at: z.string(),
  calls: z.number().int(),
  fuel_consumed: z.number(),
  running: z.number().int().describe('Running and queued calls.'),
});
type SessionRow = z.infer<typeof sessionRow>;

function sessionRowFor(record: SessionRecord, tenant: Tenant): SessionRow {
  const { session_id, auto_persist_globals, created_at, last_used_at, calls, fuel_consumed } = record;
  return {
    session_id,
    language: record.runtime,
    auto_persist_globals,
    created_at,
    last_used_at,
    calls,
    fuel_consumed,
    running: tenant.calls.count(session_id),
  };
}

const sessionLine = (row: SessionRow) =>
  `${row.session_id} (${row.language}${row.auto_persist_globals ? '' : ', variables not kept'}): ${formatItems(row.calls, 'call')}, ${formatFuel(row.fuel_consumed)} fuel, ${row.running} running, created ${row.created_at}, last used ${row.last_used_at}`;

export const getActiveSessions = defineTool({
  name: 'get_active_sessions',
  title: 'List sessions',
  description:
    'List your active sessions, most recently used first, with name, language, calls, fuel used, age and running calls. Use it to find a session_id again, or to see what exists before cleaning up.',
  input: z.strictObject({}),
  output: z.object({ sessions: z.array(sessionRow), limit: z.number().int() }),
  annotations: READ_ONLY,
  run: async (_, { tenant, state }) => {
    const sessions = (await tenant.sessions.list()).map((record) => sessionRowFor(record, tenant));
    const limit = state.settings.max_sessions;
    const text = [
      `${sessions.length} of at most ${formatItems(limit, 'session')}.`,
      ...sessions.map(sessionLine),
    ].join('\n');
    return { text, structured: { sessions, limit } };
  },
});

export const resetAllSessions = defineTool({
  name: 'reset_all_sessions',
  title: 'End all sessions',
  description:
    'End (close and delete) all your sessions, stop running code in them and clear the default workspace. Use it to clean up everything when all work is done. For one session use destroy_session.',
  input: z.strictObject({
    cleanup_disk: z
      .boolean()
      .optional()
      .describe('Default true: delete them. false: only close them; each reopens on its next use.'),
  }),
  output: z.object({
    sessions: z.array(z.string()),
    deleted: z.boolean(),
    failed: z.array(z.object({ session_id: z.string(), error: z.string() })),
  }),
  annotations: DESTRUCTIVE_IDEMPOTENT,
  run: async ({ cleanup_disk = true }, { tenant, state }) => {
    const ids = await tenant.storedSessionIds();
    tenant.calls.cancel();
    const failed: { session_id: string; error: string }[] = [];
    const attempt = async (session_id: string, work: () => Promise<unknown>): Promise<boolean> => {
      try {
        await work();
        return true;
      } catch (cause) {
        const { message: error, isHostError } = clientError(cause);
        failed.push({ session_id, error });
        if (isHostError)
          state.telemetry.log.error({ event: 'tool.error', session_id, err: cause }, 'tool failed');
        return false;
      }
    };
    const sessions: string[] = [];
    for (const id of ids) {
      const isDone = await attempt(id, () => (cleanup_disk ? tenant.destroy(id) : tenant.release(id)));
      if (isDone) sessions.push(id);
    }
    const isEmpty = await attempt(DEFAULT_SESSION, () => tenant.resetWorkspace(DEFAULT_SESSION));
    const action = cleanup_disk ? 'Deleted' : 'Closed';
    const names = sessions.length > 0 ? `: ${sessions.join(', ')}` : '';
    const text = [
      `${action} ${formatItems(sessions.length, 'session')}${names}${isEmpty ? '; the default workspace is empty' : ''}.`,
      ...failed.map(({ session_id, error }) => `Failed for ${session_id}: ${error}`),
    ].join('\n');
    return { text, structured: { sessions, deleted: cleanup_disk, failed } };
  },
});
