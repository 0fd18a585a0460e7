/** What a program displayed and why it failed, for protocols that have forms of results, exceptions and tracebacks. */

import type { DisplayResult, SandboxResult, Session } from '@llm-wasm-sandbox/core/internal';
import { adapterReader, forReader, pathInside, RESULT_LIMITS } from '@llm-wasm-sandbox/core/internal';

/** The forms of a displayed value. A form that is only in a file of the session is read. */
export async function displayedForms(
  { mime, path, ...forms }: DisplayResult,
  session: Session,
): Promise<Partial<Omit<DisplayResult, 'mime' | 'path'>>> {
  const image = /^image\/(png|jpeg)$/.exec(mime)?.[1] as 'png' | 'jpeg' | undefined;
  if (image === undefined || path === undefined || forms[image] !== undefined) return forms;
  // The program may have deleted the file, or replaced it with one that is too large to convert.
  const data = (await session.fileTree()).get(pathInside(path, ['/app']) ?? '')?.data;
  if (data === undefined || data.length > RESULT_LIMITS.messageBytes) return forms;
  // biome-ignore lint/plugin: an image of at most 8 MiB
  return { ...forms, [image]: Buffer.from(data).toString('base64') };
}

interface ProgramFailure {
  /** Name of the exception class, or of the limit. */
  readonly name: string;
  readonly value: string;
  /** Traceback as text, followed by steps to fix the failure. */
  readonly traceback: string;
  readonly steps: readonly string[];
}

/** The exception that ended a program, or the limit that stopped it. Undefined if the program succeeded. */
export function programFailure(result: SandboxResult): ProgramFailure | undefined {
  if (result.success) return undefined;
  const { error, trap_reason, trap_message, error_guidance } = result.metadata;
  const guidance = error_guidance && forReader(error_guidance, adapterReader({}));
  const steps = guidance?.actionable_guidance ?? [];
  const withSteps = (text: string) =>
    steps.length === 0
      ? text
      : [text.trimEnd(), '', 'How to fix it:', ...steps.map((step, i) => `${i + 1}. ${step}`)].join('\n');
  const failed = (name: string, value: string, text: string) => ({
    name,
    value,
    traceback: withSteps(text),
    steps,
  });
  if (trap_reason !== null) {
    const value = steps.length === 0 ? trap_message! : `${trap_message}. ${steps[0]}`;
    return failed(error_guidance?.error_type ?? trap_reason, value, result.stderr);
  }
  if (error === undefined) return failed('SystemExit', String(result.exit_code), result.stderr);
  return failed(error.type, error.message, error.stack ?? result.stderr);
}
