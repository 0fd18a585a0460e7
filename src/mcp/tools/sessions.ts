/** Tools that make sessions, look at them, undo, branch and end them. */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { formatBytes, formatFuel } from '../../quantities.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import { checkpointName, runtimeName, sessionId } from '../../schema.ts';
import type { SessionRecord } from '../../stores/store.ts';
import type { ServerSettings } from '../settings.ts';
import { DEFAULT_SESSION, type Tenant } from '../tenant.ts';
import {
  ADDITIVE,
  DESTRUCTIVE,
  DESTRUCTIVE_IDEMPOTENT,
  defineTool,
  optionalSession,
  READ_ONLY,
  runScheduled,
  type Tool,
  type ToolCall,
} from '../tool.ts';
import { createSessionDescription, suggestedFuelBudget } from '../tool-descriptions.ts';

const limits = z.object({
  fuel_budget: z.number(),
  memory_bytes: z.number(),
  timeout_seconds: z.number(),
  workspace_max_bytes: z.number(),
});

function limitsOf({ policy }: Sandbox): z.infer<typeof limits> {
  const { fuel_budget, memory_bytes, timeout_seconds, workspace_max_bytes } = policy;
  return { fuel_budget, memory_bytes, timeout_seconds, workspace_max_bytes };
}

const limitsText = (found: z.infer<typeof limits>) =>
  `${formatFuel(found.fuel_budget)} fuel and ${found.timeout_seconds} s a call, ${formatBytes(found.memory_bytes)} memory`;

const sessionRow = z.object({
  session_id: z.string(),
  language: runtimeName,
  auto_persist_globals: z.boolean(),
  created_at: z.string(),
  last_used_at: z.string(),
  calls: z.number().int(),
  fuel_consumed: z.number(),
  running: z.number().int().describe('Calls that run or wait.'),
});

function sessionRowFor(record: SessionRecord, tenant: Tenant): z.infer<typeof sessionRow> {
  const { session_id, runtime, auto_persist_globals, created_at, last_used_at, calls, fuel_consumed } =
    record;
  const running = tenant.runningCalls(session_id);
  return {
    session_id,
    language: runtime,
    auto_persist_globals,
    created_at,
    last_used_at,
    calls,
    fuel_consumed,
    running,
  };
}

const fileRow = z.object({ path: z.string(), size_bytes: z.number().int(), modified_at: z.string() });
const checkpointRow = z.object({ name: z.string(), created_at: z.string(), size_bytes: z.number() });
const isHidden = (path: string) => path.split('/').some((part) => part.startsWith('.'));

const workspaceInfo = z.object({
  session_id: z.string(),
  language: runtimeName.nullable().describe('null: the default workspace takes both.'),
  files: z.array(fileRow),
  files_total: z.number().int(),
  workspace_bytes: z.number().int(),
  variables: z.array(z.object({ name: z.string(), type: z.string(), repr: z.string() })),
  imports: z.array(z.string()),
  checkpoints: z.array(checkpointRow),
  calls: z.number().int(),
  fuel_consumed: z.number(),
  limits,
});
type WorkspaceInfo = z.infer<typeof workspaceInfo>;
/** Files in one answer; list_files shows more. */
const MAX_FILES = 200;

async function inspectWorkspace(session_id: string, hidden: boolean, call: ToolCall): Promise<WorkspaceInfo> {
  const { tenant } = call;
  const sandbox = await tenant.open(session_id);
  const shown = async () => (await sandbox.listFiles()).filter(({ path }) => hidden || !isHidden(path));
  const files = await shown();
  const common = {
    session_id,
    files: files.slice(0, MAX_FILES),
    files_total: files.length,
    workspace_bytes: files.reduce((sum, { size_bytes }) => sum + size_bytes, 0),
    limits: limitsOf(sandbox),
  };
  if (session_id === DEFAULT_SESSION) {
    const none = { variables: [], imports: [], checkpoints: [], calls: 0, fuel_consumed: 0 };
    return { ...common, ...none, language: null };
  }
  // Variables are told by a copy of the interpreter, which runs like any program.
  const { variables, imports, checkpoints, calls, fuel_consumed, runtime } = await runScheduled(
    call,
    `${tenant.id}/${session_id}`,
    call.signal,
    () => tenant.sessions.info(session_id),
  );
  return {
    ...common,
    language: runtime,
    variables: [...variables],
    imports: [...imports],
    checkpoints: [...checkpoints],
    calls,
    fuel_consumed,
  };
}

function infoText(info: WorkspaceInfo): string {
  const list = (name: string, lines: readonly string[]) =>
    `${name}: ${lines.length > 0 ? lines.join(', ') : 'none'}`;
  const more = info.files_total - info.files.length;
  return [
    `Session ${info.session_id} (${info.language ?? 'both languages'}): ${info.calls} calls, ${formatFuel(info.fuel_consumed)} fuel; ${limitsText(info.limits)}.`,
    list(
      'files',
      info.files.map(({ path, size_bytes }) => `${path} (${size_bytes} bytes)`),
    ) + (more > 0 ? ` and ${more} more` : ''),
    list(
      'variables',
      info.variables.map(({ name, type, repr }) => `${name}: ${type} = ${repr}`),
    ),
    list('imports', info.imports),
    list(
      'checkpoints',
      info.checkpoints.map(({ name }) => name),
    ),
  ].join('\n');
}

function createInput(settings: ServerSettings) {
  return z.strictObject({
    language: runtimeName.describe('Language of the session; it cannot be changed later.'),
    session_id: sessionId
      .optional()
      .describe('Your own name for it, e.g. "sales-2026"; omitted: a random one.'),
    auto_persist_globals: z.boolean().optional().describe('Keep variables between calls; default true.'),
    fuel_budget: z
      .number()
      .int()
      .min(1)
      .max(settings.max_fuel_budget)
      .optional()
      .describe(`Instructions per call, e.g. ${suggestedFuelBudget(settings)}.`),
    memory_bytes: z
      .number()
      .int()
      .min(1)
      .max(settings.max_memory_bytes)
      .optional()
      .describe(`Memory, e.g. ${Math.min(2 ** 29, settings.max_memory_bytes)}.`),
    timeout_seconds: z
      .number()
      .positive()
      .max(settings.max_timeout_seconds)
      .optional()
      .describe(`Seconds per call, e.g. ${Math.min(120, settings.max_timeout_seconds)}.`),
    preload: z
      .array(z.string().max(200))
      .max(64)
      .optional()
      .describe('Modules loaded from the start, e.g. ["openpyxl"].'),
  });
}

function lifecycleTools(settings: ServerSettings): Tool[] {
  return [
    defineTool({
      name: 'create_session',
      title: 'Start a session',
      description: createSessionDescription(settings),
      input: createInput(settings),
      output: z.object({
        session_id: z.string(),
        language: runtimeName,
        auto_persist_globals: z.boolean(),
        limits,
        next_step: z.string(),
      }),
      annotations: ADDITIVE,
      run: async ({ language, session_id, auto_persist_globals = true, preload = [], ...policy }, call) => {
        const given = Object.fromEntries(Object.entries(policy).filter(([, value]) => value !== undefined));
        const wish = { language, session_id, auto_persist_globals, preload, policy: given };
        // Modules are loaded by running them, for which the tenant needs a turn as for any program.
        const make = () => call.tenant.create(wish);
        const sandbox = await (preload.length === 0
          ? make()
          : runScheduled(call, `preload ${randomUUID()}`, call.signal, make));
        const id = sandbox.session_id!;
        const next_step = `execute_code(code=…, language="${language}", session_id="${id}")`;
        const found = limitsOf(sandbox);
        const keeps = auto_persist_globals ? 'variables and files stay' : 'files stay, variables do not';
        return {
          text: `Session ${id} (${language}) is ready: ${keeps} between calls; ${limitsText(found)}.\nNext: ${next_step}`,
          structured: { session_id: id, language, auto_persist_globals, limits: found, next_step },
        };
      },
    }),
    defineTool({
      name: 'destroy_session',
      title: 'End a session',
      description:
        'End a session for good and free what it takes: its variables, files and checkpoints are deleted and running code is stopped. Use it when the work is done and results were read. To only clear files use reset_workspace; to undo a step use rollback_session.',
      input: z.strictObject({ session_id: sessionId.describe('The session to end.') }),
      output: z.object({ session_id: z.string(), destroyed: z.boolean() }),
      annotations: DESTRUCTIVE_IDEMPOTENT,
      run: async ({ session_id }, { tenant }) => {
        if (session_id === DEFAULT_SESSION) await tenant.resetWorkspace(session_id);
        else await tenant.destroy(session_id);
        return { text: `Session ${session_id} is gone.`, structured: { session_id, destroyed: true } };
      },
    }),
    defineTool({
      name: 'fork_session',
      title: 'Branch a session',
      description:
        'Copy (branch, duplicate) a session with all its variables and files into a new one, at once; afterwards the two are independent. Returns the new session_id. Use it to try alternatives from the same point. Not for the default workspace.',
      input: z.strictObject({
        session_id: sessionId.describe('The session to copy.'),
        new_session_id: sessionId.optional().describe('Name of the copy; omitted: a random one.'),
      }),
      output: z.object({ session_id: z.string(), forked_from: z.string(), language: runtimeName }),
      annotations: ADDITIVE,
      run: async ({ session_id, new_session_id }, { tenant }) => {
        const fork = await tenant.fork(session_id, new_session_id);
        const structured = { session_id: fork.session_id!, forked_from: session_id, language: fork.runtime };
        return { text: `Session ${structured.session_id} is a copy of ${session_id}.`, structured };
      },
    }),
  ];
}

const INSPECTION_TOOLS: readonly Tool[] = [
  defineTool({
    name: 'get_active_sessions',
    title: 'List sessions',
    description:
      'List your active sessions by name, the one used last first: language, calls, fuel used, age, whether something runs. Use it to find a session_id again or before cleaning up.',
    input: z.strictObject({}),
    output: z.object({ sessions: z.array(sessionRow), limit: z.number().int() }),
    annotations: READ_ONLY,
    run: async (_, { tenant, state }) => {
      const sessions = (await tenant.sessions.list()).map((record) => sessionRowFor(record, tenant));
      const lines = sessions.map(
        (one) =>
          `${one.session_id} (${one.language}${one.auto_persist_globals ? '' : ', variables not kept'}): ${one.calls} calls, ${formatFuel(one.fuel_consumed)} fuel, ${one.running} running, created ${one.created_at}, last used ${one.last_used_at}`,
      );
      const limit = state.settings.max_sessions;
      const text = [`${sessions.length} of at most ${limit} sessions.`, ...lines].join('\n');
      return { text, structured: { sessions, limit } };
    },
  }),
  defineTool({
    name: 'get_workspace_info',
    title: 'Inspect a session',
    description:
      'Show what is in a session: its variables with type and value, what has been imported, files with sizes, checkpoints, calls, fuel used and limits. Changes nothing. Use it to pick up earlier work; for one file use read_file.',
    input: z.strictObject({
      session_id: optionalSession,
      include_system_files: z.boolean().optional().describe('Also list files whose name begins with a dot.'),
    }),
    output: workspaceInfo,
    annotations: READ_ONLY,
    run: async ({ session_id = DEFAULT_SESSION, include_system_files = false }, call) => {
      const info = await inspectWorkspace(session_id, include_system_files, call);
      return { text: infoText(info), structured: info };
    },
  }),
];

const CHECKPOINT_TOOLS: readonly Tool[] = [
  defineTool({
    name: 'checkpoint_session',
    title: 'Save a checkpoint',
    description:
      'Save (remember) the present state of a session, its variables, open files and workspace, under a name, in no time. Returns the name. Use it before a risky step or change; rollback_session goes back. A name used again is replaced.',
    input: z.strictObject({
      session_id: sessionId.describe('The session.'),
      name: checkpointName.optional().describe('e.g. "before-cleanup"; omitted: numbered.'),
    }),
    output: checkpointRow.extend({ session_id: z.string() }),
    annotations: ADDITIVE,
    run: async ({ session_id, name }, { tenant }) => {
      const sandbox = await tenant.session(session_id);
      const made = { session_id, ...(await sandbox.checkpoint(name)) };
      return {
        text: `Checkpoint ${made.name} of session ${session_id} (${made.size_bytes} bytes, ${made.created_at}).`,
        structured: made,
      };
    },
  }),
  defineTool({
    name: 'rollback_session',
    title: 'Go back in a session',
    description:
      'Undo: go back in a session and restore variables and files together, to a checkpoint by name, or without a name to the state before the last call. What was done since is lost; checkpoints stay.',
    input: z.strictObject({
      session_id: sessionId.describe('The session.'),
      name: checkpointName.optional().describe('Checkpoint to go back to; omitted: undo the last call.'),
    }),
    output: z.object({ session_id: z.string(), restored: z.string(), files: z.number().int() }),
    annotations: DESTRUCTIVE,
    run: async ({ session_id, name }, { tenant }) => {
      const sandbox = await tenant.session(session_id);
      await sandbox.rollback(name);
      const restored = name === undefined ? 'the state before the last call' : `checkpoint ${name}`;
      const { length: files } = await sandbox.listFiles();
      return {
        text: `Session ${session_id} is back at ${restored}; ${files} files.`,
        structured: { session_id, restored, files },
      };
    },
  }),
];

const RESET_TOOLS: readonly Tool[] = [
  defineTool({
    name: 'reset_workspace',
    title: 'Delete all files',
    description:
      'Delete all files of a session or of the default workspace; variables stay. Returns how many. Use it to start over with an empty folder; to undo one step use rollback_session, to end the session destroy_session.',
    input: z.strictObject({ session_id: optionalSession }),
    output: z.object({ session_id: z.string(), files_deleted: z.number().int() }),
    annotations: DESTRUCTIVE_IDEMPOTENT,
    run: async ({ session_id = DEFAULT_SESSION }, { tenant }) => {
      const files_deleted = await tenant.resetWorkspace(session_id);
      return {
        text: `Deleted ${files_deleted} files of ${session_id}.`,
        structured: { session_id, files_deleted },
      };
    },
  }),
  defineTool({
    name: 'reset_all_sessions',
    title: 'End all sessions',
    description:
      'End (close and delete) all your sessions, stop what runs in them and clear the default workspace. Use it to clean up everything at the end of all work. For one session use destroy_session.',
    input: z.strictObject({
      cleanup_disk: z
        .boolean()
        .optional()
        .describe(
          'Default true: delete them for good. false: only close them; each opens again when it is used.',
        ),
    }),
    output: z.object({ sessions: z.array(z.string()), deleted: z.boolean() }),
    annotations: DESTRUCTIVE_IDEMPOTENT,
    run: async ({ cleanup_disk = true }, { tenant }) => {
      const sessions = (await tenant.sessions.list()).map(({ session_id }) => session_id);
      tenant.cancel();
      for (const id of sessions) await (cleanup_disk ? tenant.destroy(id) : tenant.release(id));
      await tenant.resetWorkspace(DEFAULT_SESSION);
      const what = cleanup_disk ? 'Deleted' : 'Closed';
      const text = `${what} ${sessions.length} sessions${sessions.length > 0 ? `: ${sessions.join(', ')}` : ''}; the default workspace is empty.`;
      return { text, structured: { sessions, deleted: cleanup_disk } };
    },
  }),
];

export function sessionTools(settings: ServerSettings): Tool[] {
  return [...lifecycleTools(settings), ...INSPECTION_TOOLS, ...CHECKPOINT_TOOLS, ...RESET_TOOLS];
}
