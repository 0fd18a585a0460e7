/** The tool table: every tool of the server, with the limits of its settings in schemas and descriptions. */
import type { ServerSettings } from '../settings.ts';
import type { Tool } from '../tool.ts';
import { checkpointSession, rollbackSession } from './checkpoints.ts';
import { cancelExecution, executeCode } from './execution.ts';
import { listFiles, readFile, resetWorkspace, writeFile } from './files.ts';
import { getWorkspaceInfo } from './get-workspace-info.ts';
import { getMetrics } from './metrics.ts';
import { listAvailablePackages, listRuntimes } from './runtimes-and-packages.ts';
import {
  createSession,
  destroySession,
  forkSession,
  getActiveSessions,
  resetAllSessions,
} from './sessions.ts';

export function toolTable(settings: ServerSettings): readonly Tool[] {
  return [
    executeCode(settings),
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
    listRuntimes,
    listAvailablePackages,
    getMetrics,
  ];
}
