/** The languages of programs as clients of E2B name them. */
import {
  LANGUAGE_NAMES,
  type LanguageName,
  languageOfFile,
  runtimeOf,
  SandboxError,
} from '@llm-wasm-sandbox/core/internal';
import { quoted } from '../server/http-error.ts';

/** The language with this name or extension. Throws `invalid_argument`. */
export function languageOf(name: string | undefined): LanguageName {
  if (name === undefined) return runtimeOf(undefined);
  // Extensions of files are short names.
  const known = LANGUAGE_NAMES.find((one) => one === name) ?? languageOfFile(`program.${name}`);
  if (known !== undefined) return known;
  throw new SandboxError(
    'invalid_argument',
    `language: ${quoted(name)} is not available. Use one of ${LANGUAGE_NAMES.join(', ')}.`,
  );
}
