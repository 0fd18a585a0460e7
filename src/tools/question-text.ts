/** Text that asks a person about a tool call. The call comes from a program, so it must not hide or imitate other text. */
import { escapeControls } from '../analysis/escape-controls.ts';

/** The longest text that a form can show completely. A person must not approve what is not shown. */
const MAX_FORM_CHARS = 4000;

/** The name and all arguments of a call on one line. */
export function callText(call: { readonly name: string; readonly arguments: unknown }): string {
  return escapeControls(`${call.name} with the arguments ${JSON.stringify(call.arguments)}`);
}

/** Whether a form can show the whole call. */
export const fitsForm = (call: Parameters<typeof callText>[0]) => callText(call).length <= MAX_FORM_CHARS;
