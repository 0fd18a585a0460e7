/**
 * The sets of tools that a server can offer. A client sends the descriptions of all tools to the model, so fewer tools cost
 * fewer tokens. The texts of a set mention only tools of that set.
 */
import type { ServerSettings } from './settings.ts';

const MINIMAL: readonly string[] = ['execute_code', 'read_file', 'write_file'];

const STANDARD: readonly string[] = [
  ...MINIMAL,
  'cancel_execution',
  'create_session',
  'destroy_session',
  'checkpoint_session',
  'rollback_session',
  'reset_workspace',
  'list_files',
  'view_result',
  'list_available_packages',
  'search_tools',
  'describe_tools',
  'resume_execution',
];

/** Whether the server offers a tool. */
export function offersTool({ tools }: Pick<ServerSettings, 'tools'>, name: string): boolean {
  if (tools === 'all') return true;
  return (tools === 'minimal' ? MINIMAL : STANDARD).includes(name);
}
