/** The tool table: every tool of the server, with the words and limits of its settings. */
import type { ServerSettings } from '../settings.ts';
import type { Tool } from '../tool.ts';
import { executionTools } from './execution.ts';
import { FILE_TOOLS } from './files.ts';
import { INFORMATION_TOOLS } from './runtimes-and-packages.ts';
import { sessionTools } from './sessions.ts';

export function toolTable(settings: ServerSettings): readonly Tool[] {
  return [...executionTools(settings), ...sessionTools(settings), ...FILE_TOOLS, ...INFORMATION_TOOLS];
}
