/** The options of the tools of a sandbox for agent frameworks. */
import * as z from 'zod';
import { described, optionalField, wholeNumber } from './fields.ts';
import type { SandboxResult } from './result.ts';

/** The names of the tools of a sandbox. */
export const SANDBOX_TOOL_NAMES = ['execute_code', 'read_file', 'write_file', 'list_files'] as const;
/** The name of a tool of a sandbox. */
export type SandboxToolName = (typeof SANDBOX_TOOL_NAMES)[number];

export const sandboxToolsOptions = z.strictObject({
  names: optionalField(
    z.array(z.enum(SANDBOX_TOOL_NAMES)).readonly(),
    'Names of the tools to return. Default: all tools.',
  ),
  max_output_chars: described(
    wholeNumber(200, 60_000).default(20_000),
    'Maximum number of characters of standard output in a result. Longer output is shortened to its beginning and end. Default: 20,000. Maximum: 60,000.',
  ),
  max_fuel_budget: optionalField(
    wholeNumber(1),
    'Maximum fuel budget that the model can request for a call. Default: the model cannot request one, and the policy applies.',
  ),
  max_timeout_seconds: optionalField(
    z.number().positive(),
    'Maximum time limit in seconds that the model can request for a call. Default: the model cannot request one, and the policy applies.',
  ),
  onResult: optionalField(
    z.custom<(result: SandboxResult) => void>((value) => typeof value === 'function', 'must be a function'),
    'Receives the complete result of every program.',
  ),
});
/** Options of `sandboxTools`. */
export interface SandboxToolsOptions extends z.input<typeof sandboxToolsOptions> {}
