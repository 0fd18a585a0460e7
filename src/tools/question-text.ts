/** Text that asks a person about a tool call. The call comes from a program, so it must not hide or imitate other text. */
import { escapeControls } from '../analysis/escape-controls.ts';

const MAX_ARGUMENT_CHARS = 4000;

/** The name and the arguments of a call on one line, truncated. */
export function callText(call: { readonly name: string; readonly arguments: unknown }): string {
  const json = JSON.stringify(call.arguments);
  const rest = json.length - MAX_ARGUMENT_CHARS;
  const shown = rest > 0 ? `${json.slice(0, MAX_ARGUMENT_CHARS)} … and ${rest} more characters` : json;
  return escapeControls(`${call.name} with the arguments ${shown}`);
}
