/** What a program displayed and why it failed, for protocols that have forms of results, exceptions and tracebacks. */
import { forReader } from '../analysis/reader.ts';
import { adapterReader } from '../model-text/readers.ts';
import { RESULT_LIMITS } from '../results/result-limits.ts';
import type { DisplayResult, SandboxResult } from '../schema.ts';
import type { Session } from '../session/session.ts';
import { pathInside } from '../session/workspace-edits.ts';

/**
 * The forms of a displayed value. `readFile` reads the file with its largest form, if that is only in a file; undefined
 * if the result has to do without it.
 */
export async function displayedForms(
  { mime, path, ...forms }: DisplayResult,
  readFile: (path: string) => Promise<Uint8Array | undefined>,
): Promise<Partial<Omit<DisplayResult, 'mime' | 'path'>>> {
  const image = /^image\/(png|jpeg)$/.exec(mime)?.[1] as 'png' | 'jpeg' | undefined;
  if (image === undefined || path === undefined || forms[image] !== undefined) return forms;
  const bytes = await readFile(path);
  return bytes === undefined ? forms : { ...forms, [image]: Buffer.from(bytes).toString('base64') };
}

/** A displayed image. The program may have deleted it, or replaced it with a file that is too large to convert. */
export async function displayedFile(session: Session, path: string): Promise<Uint8Array | undefined> {
  const data = (await session.fileTree()).get(pathInside(path, ['/app']) ?? '')?.data;
  return data !== undefined && data.length <= RESULT_LIMITS.messageBytes ? data : undefined;
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
  if (trap_reason !== null) {
    const [advice] = steps;
    const value = advice === undefined ? trap_message! : `${trap_message}. ${advice}`;
    return {
      name: error_guidance?.error_type ?? trap_reason,
      value,
      traceback: withSteps(result.stderr),
      steps,
    };
  }
  if (error === undefined)
    return {
      name: 'SystemExit',
      value: String(result.exit_code),
      traceback: withSteps(result.stderr),
      steps,
    };
  return {
    name: error.type,
    value: error.message,
    traceback: withSteps(error.stack ?? result.stderr),
    steps,
  };
}
