/** Which tools a server offers. The texts of a server mention only tools that it offers. */
import { SHELL_RUNTIME } from '@llm-wasm-sandbox/core/internal';
import type { ServerSettings } from '../server/settings.ts';

const MINIMAL: readonly string[] = ['execute_code', 'read_file', 'write_file', SHELL_RUNTIME];

/** Whether the server offers a tool. */
export function offersTool({ tools }: Pick<ServerSettings, 'tools'>, name: string): boolean {
  return tools !== 'minimal' || MINIMAL.includes(name);
}
