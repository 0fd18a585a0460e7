/** The tool that shows the contents of a session: files, variables, imports, checkpoints and limits. */

import {
  escapeControls,
  firstRows,
  formatFuel,
  formatItems,
  languageTitles,
  limitsText,
  pathChars,
  policyLimits,
  quotePath,
  runtimeName,
  sandboxLimits,
} from '@llm-wasm-sandbox/core/internal';
import * as z from 'zod';
import { DEFAULT_SESSION } from '../../server/tenant.ts';
import { defineTool, optionalSession, READ_ONLY, type ToolCall } from '../tool.ts';
import { checkpointRow } from './checkpoint-tools.ts';

/** Files in one result; list_files shows more. */
const MAX_FILES = 200;

const fileRow = z.object({ path: z.string(), size_bytes: z.number().int(), modified_at: z.string() });

const workspaceInfo = z.object({
  session_id: z.string(),
  language: runtimeName.nullable().describe('null for the default workspace, which accepts every language.'),
  files: z.array(fileRow).describe(`Up to ${MAX_FILES}.`),
  files_total: z.number().int(),
  workspace_bytes: z.number().int(),
  variables: z.array(z.object({ name: z.string(), type: z.string(), repr: z.string() })),
  imports: z.array(z.string()),
  checkpoints: z.array(checkpointRow),
  calls: z.number().int(),
  fuel_consumed: z.number(),
  limits: policyLimits,
});
type WorkspaceInfo = z.infer<typeof workspaceInfo>;

const isHidden = (path: string) => path.split('/').some((part) => part.startsWith('.'));

async function workspaceInfoOf(
  session_id: string,
  includeHidden: boolean,
  call: ToolCall,
): Promise<WorkspaceInfo> {
  const { tenant, state } = call;
  const sandbox = await tenant.open(session_id);
  const files = (await sandbox.listFiles()).filter(({ path }) => includeHidden || !isHidden(path));
  const workspace = {
    session_id,
    files: [
      ...firstRows(files, { maxRows: MAX_FILES, maxChars: state.settings.max_output_chars }, pathChars),
    ],
    files_total: files.length,
    workspace_bytes: files.reduce((sum, { size_bytes }) => sum + size_bytes, 0),
    limits: sandboxLimits(sandbox),
  };
  if (session_id === DEFAULT_SESSION) {
    const noState = { variables: [], imports: [], checkpoints: [], calls: 0, fuel_consumed: 0 };
    return { ...workspace, ...noState, language: null };
  }
  // Variables are read by running a program in a copy of the interpreter.
  const { variables, imports, checkpoints, calls, fuel_consumed, runtime } =
    await tenant.sessionInfo(session_id);
  return {
    ...workspace,
    language: runtime,
    variables: [...variables],
    imports: [...imports],
    checkpoints: [...checkpoints],
    calls,
    fuel_consumed,
  };
}

function infoText(info: WorkspaceInfo): string {
  const line = (name: string, items: readonly string[], total = items.length) => {
    const more = total > items.length ? ` and ${total - items.length} more` : '';
    return `${name}: ${items.length > 0 ? items.join(', ') : 'none'}${more}`;
  };
  const files = info.files.map(
    ({ path, size_bytes }) => `${quotePath(path)} (${formatItems(size_bytes, 'byte')})`,
  );
  const variables = info.variables.map(({ name, type, repr }) =>
    escapeControls(`${name}: ${type} = ${repr}`),
  );
  return [
    `Session ${info.session_id} (${info.language ?? languageTitles('and')}): ${formatItems(info.calls, 'call')}, ${formatFuel(info.fuel_consumed)} fuel; ${limitsText(info.limits)}.`,
    line('files', files, info.files_total),
    line('variables', variables),
    line('imports', info.imports.map(escapeControls)),
    line(
      'checkpoints',
      info.checkpoints.map(({ name }) => escapeControls(name)),
    ),
  ].join('\n');
}

export const getWorkspaceInfo = defineTool({
  name: 'get_workspace_info',
  title: 'Inspect a session',
  description:
    'Show what is in a session: its variables with type and value, what has been imported, files with sizes, checkpoints, calls, fuel used and limits. Changes nothing. Use it to resume earlier work; for one file use read_file.',
  input: z.strictObject({
    session_id: optionalSession,
    include_system_files: z.boolean().optional().describe('Also list files whose name starts with a dot.'),
  }),
  output: workspaceInfo,
  annotations: READ_ONLY,
  run: async ({ session_id = DEFAULT_SESSION, include_system_files = false }, call) => {
    const info = await workspaceInfoOf(session_id, include_system_files, call);
    return { text: infoText(info), structured: info };
  },
});
