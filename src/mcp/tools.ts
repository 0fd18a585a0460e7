/** The tool table: every tool of the server, with the words and limits of its settings. */
import type { ServerSettings } from './settings.ts';
import type { Tool } from './tool.ts';
import { executionTools } from './tools/execution.ts';
import { FACT_TOOLS } from './tools/facts.ts';
import { FILE_TOOLS } from './tools/files.ts';
import { sessionTools } from './tools/sessions.ts';

export function toolTable(settings: ServerSettings): readonly Tool[] {
  return [...executionTools(settings), ...sessionTools(settings), ...FILE_TOOLS, ...FACT_TOOLS];
}
