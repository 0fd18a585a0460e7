/**
 * Handlers for Anthropic's client tools `bash` and `text_editor`, in the form that the tool runner of `@anthropic-ai/sdk` calls.
 * The shell is the interpreter of the session: variables and the working directory stay from call to call.
 */

import type { Session } from '@llm-wasm-sandbox/core/internal';
import { parse, processEnd, SandboxError, SHELL_RUNTIME } from '@llm-wasm-sandbox/core/internal';
import * as z from 'zod';
import { SlotFiles } from './slot-files.ts';

/** The name of the tool is that of the runtime. */
const SHELL_TOOL = SHELL_RUNTIME;
const bashInput = z.union([z.object({ command: z.string() }), z.object({ restart: z.literal(true) })]);
const path = z.string();
const editorInput = z.discriminatedUnion('command', [
  z.object({ command: z.literal('view'), path, view_range: z.tuple([z.int(), z.int()]).optional() }),
  z.object({ command: z.literal('create'), path, file_text: z.string() }),
  z.object({
    command: z.literal('str_replace'),
    path,
    old_str: z.string().min(1),
    new_str: z.string().default(''),
  }),
  z.object({ command: z.literal('insert'), path, insert_line: z.int().min(0), insert_text: z.string() }),
]);
type EditorInput = z.output<typeof editorInput>;

/** A tool with its handler, for `client.beta.messages.toolRunner` of `@anthropic-ai/sdk`. */
export interface AnthropicTool<Type extends string, Name extends string, Input> {
  readonly type: Type;
  readonly name: Name;
  /** Checks the input of a call. Throws `invalid_argument`. */
  parse(input: unknown): Input;
  /** Runs a call. The runner reports what it throws to the model. */
  run(input: Input, context?: { readonly signal?: AbortSignal | null | undefined }): Promise<string>;
}

/** Returns the tool `bash` (`bash_20250124`) with a session of the runtime `bash` as its shell. */
export function anthropicBash(
  session: Session,
): AnthropicTool<'bash_20250124', typeof SHELL_TOOL, z.output<typeof bashInput>> {
  if (session.runtime !== SHELL_RUNTIME)
    throw new SandboxError('invalid_argument', `The session must have the runtime ${SHELL_RUNTIME}.`);
  return {
    type: 'bash_20250124',
    name: SHELL_TOOL,
    parse: (input) => parse(bashInput, input, 'input'),
    run: async (input, { signal } = {}) => {
      if ('restart' in input) {
        await session.restart();
        return 'The shell was restarted.';
      }
      const result = await session.execute(input.command, { file_name: null, ...(signal && { signal }) });
      const { exitCode, error } = processEnd(result);
      const end = error ?? (exitCode === 0 ? '' : `Exit code ${exitCode}`);
      return [result.stdout, result.stderr, end].filter((text) => text !== '').join('\n');
    },
  };
}

/** Returns the tool `str_replace_based_edit_tool` (`text_editor_20250728`) with the files of a session. */
export function anthropicTextEditor(
  session: Session,
): AnthropicTool<'text_editor_20250728', 'str_replace_based_edit_tool', EditorInput> {
  const files = new SlotFiles(session);
  return {
    type: 'text_editor_20250728',
    name: 'str_replace_based_edit_tool',
    parse: (input) => parse(editorInput, input, 'input'),
    run: (input) => edit(files, input),
  };
}

async function edit(files: SlotFiles, input: EditorInput): Promise<string> {
  if (input.command === 'view') return view(files, input.path, input.view_range);
  if (input.command === 'create') {
    await files.write(input.path, input.file_text);
    return `The file ${input.path} was written.`;
  }
  const text = await files.readText(input.path);
  await files.write(input.path, input.command === 'insert' ? inserted(text, input) : replaced(text, input));
  return `The file ${input.path} was changed.`;
}

/** A folder as a list, or the lines of a file with their numbers. -1 as the last line means the end. */
async function view(files: SlotFiles, at: string, [first, last] = [1, -1]): Promise<string> {
  if ((await files.stat(at))?.kind === 'dir')
    return (await files.list(at, 2)).map(({ path, kind }) => (kind === 'dir' ? `${path}/` : path)).join('\n');
  const lines = (await files.readText(at)).replace(/\n$/, '').split('\n');
  if (first < 1 || first > lines.length || (last !== -1 && last < first))
    throw new SandboxError('invalid_argument', `view_range: the file has the lines 1 to ${lines.length}.`);
  const shown = lines.slice(first - 1, last === -1 ? lines.length : last);
  return shown.map((line, i) => `${first + i}: ${line}`).join('\n');
}

function replaced(
  text: string,
  { path: at, old_str, new_str }: EditorInput & { command: 'str_replace' },
): string {
  const start = text.indexOf(old_str);
  if (start < 0) throw new SandboxError('invalid_argument', `old_str does not occur in ${at}.`);
  if (text.indexOf(old_str, start + 1) >= 0)
    throw new SandboxError(
      'invalid_argument',
      `old_str occurs more than once in ${at}. Include more context.`,
    );
  return text.slice(0, start) + new_str + text.slice(start + old_str.length);
}

function inserted(text: string, { insert_line, insert_text }: EditorInput & { command: 'insert' }): string {
  const lines = text.split('\n');
  const count = text.endsWith('\n') ? lines.length - 1 : lines.length;
  if (insert_line > count)
    throw new SandboxError('invalid_argument', `insert_line: the file has ${count} lines.`);
  lines.splice(insert_line, 0, insert_text.replace(/\n$/, ''));
  return lines.join('\n');
}
