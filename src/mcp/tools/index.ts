/** The tool table: every tool of the server, with the words and limits of its settings. */
import type { ServerSettings } from '../settings.ts';
import type { Tool } from '../tool.ts';
import { FACT_TOOLS } from './capabilities.ts';
import { executionTools } from './execution.ts';
import { FILE_TOOLS } from './files.ts';
import { sessionTools } from './sessions.ts';

export function toolTable(settings: ServerSettings): readonly Tool[] {
  return [...executionTools(settings), ...sessionTools(settings), ...FILE_TOOLS, ...FACT_TOOLS];
}
