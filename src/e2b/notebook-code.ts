/**
 * Programs as they are written for E2B: cells of a notebook, with files in /home/user. Line numbers stay the same.
 */
import { SandboxError } from '../errors.ts';
import { cellProgram } from '../rest/notebook-code.ts';
import { languageOfFile, runtimeOf } from '../runtimes/program-files.ts';
import { LANGUAGE_NAMES, type LanguageName, type RuntimeName } from '../schema.ts';

/** The home folder in E2B. Its files are those of the workspace. */
const HOME = /\/home\/user(?![\w.-])/g;

/** A path in which the home folder is that of the workspace. */
export const toWorkspace = (text: string) => text.replaceAll(HOME, '/app');

/** `canInstall`: the sandbox adds packages on demand. Otherwise its packages are already there. */
export const toProgram = (code: string, runtime: RuntimeName, canInstall: boolean) =>
  cellProgram(toWorkspace(code), runtime, canInstall);

/** The language with this name or extension. Throws `invalid_argument`. */
export function languageOf(name: string | undefined): LanguageName {
  if (name === undefined) return runtimeOf(undefined);
  // Extensions of files are short names.
  const known = LANGUAGE_NAMES.find((one) => one === name) ?? languageOfFile(`program.${name}`);
  if (known !== undefined) return known;
  throw new SandboxError(
    'invalid_argument',
    `language: ${JSON.stringify(name.slice(0, 100))} is not available. Use one of ${LANGUAGE_NAMES.join(', ')}.`,
  );
}
