/** The tool table: every tool of the server, with the limits of its settings in schemas and descriptions. */
import type { ServerSettings } from '../../server/settings.ts';
import type { Tool } from '../tool.ts';
import { offersTool } from '../tool.ts';
import { checkpointSession, rollbackSession } from './checkpoint-tools.ts';
import { cancelExecution, executeCode } from './execution-tools.ts';
import { listFiles, readFile, resetWorkspace, writeFile } from './file-tools.ts';
import { getMetrics } from './get-metrics.ts';
import { getWorkspaceInfo } from './get-workspace-info.ts';
import { resumeExecution } from './resume-execution.ts';
import { listAvailablePackages, listRuntimes } from './runtimes-and-packages.ts';
import {
  createSession,
  destroySession,
  forkSession,
  getActiveSessions,
  resetAllSessions,
} from './session-tools.ts';
import { shellTool } from './shell-tool.ts';
import { describeToolsTool, searchToolsTool } from './tool-discovery.ts';
import { viewResult } from './view-result.ts';

/** The tools that the server offers. `servers` are the MCP servers whose tools programs can call. */
export function toolTable(settings: ServerSettings, servers: readonly string[] = []): readonly Tool[] {
  const offered = allTools(settings, servers).filter(({ name }) => offersTool(settings, name));
  const shown = settings.tools === 'all' ? offered : offered.map(({ output: _, ...tool }) => tool);
  return offersTool(settings, 'create_session') ? shown : shown.map(withoutSession);
}

/** Without sessions there is only the default workspace. */
function withoutSession({ input, ...tool }: Tool): Tool {
  return { ...tool, input: 'session_id' in input.shape ? input.omit({ session_id: true }) : input };
}

function allTools(settings: ServerSettings, servers: readonly string[]): readonly Tool[] {
  return [
    executeCode(settings, servers),
    cancelExecution,
    createSession(settings),
    destroySession,
    forkSession,
    getActiveSessions,
    getWorkspaceInfo,
    checkpointSession,
    rollbackSession,
    resetWorkspace,
    resetAllSessions,
    listFiles,
    readFile,
    writeFile,
    viewResult,
    listRuntimes,
    listAvailablePackages(settings),
    getMetrics,
    ...(settings.shell_tool ? [shellTool(settings)] : []),
    ...(servers.length > 0 ? [searchToolsTool, describeToolsTool, resumeExecution] : []),
  ];
}
