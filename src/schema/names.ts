/** The names of runtimes, sessions and checkpoints. */
import { z } from 'zod';

/** The runtimes: one interpreter each. */
export const RUNTIME_NAMES = ['python', 'javascript'] as const;
export const runtimeName = z.enum(RUNTIME_NAMES).describe('Language of the guest.');
/** The name of a runtime. */
export type RuntimeName = (typeof RUNTIME_NAMES)[number];

/** The languages of programs and the runtime of each. A runtime can run several languages; the first has its name. */
export const LANGUAGE_RUNTIMES = {
  python: 'python',
  javascript: 'javascript',
  typescript: 'javascript',
} as const satisfies Record<string, RuntimeName>;
/** The name of a language that programs can be written in. */
export type LanguageName = keyof typeof LANGUAGE_RUNTIMES;
export const LANGUAGE_NAMES = Object.keys(LANGUAGE_RUNTIMES) as [LanguageName, ...LanguageName[]];
export const languageName = z.enum(LANGUAGE_NAMES).describe('Language of the program.');

/** Windows treats these names as devices in every folder. */
const WINDOWS_DEVICE = /^(con|prn|aux|nul|com\d|lpt\d)$/i;

const shown = (input: unknown) => JSON.stringify(String(input).slice(0, 100));

/**
 * The name of a session: a single path component that every file system, shell and URL reads the same way.
 */
export const sessionId = z
  .string()
  .regex(/^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$/, {
    error: ({ input }) =>
      `${shown(input)} is not a valid session id; use 1 to 64 letters, digits, "_" or "-", not starting with "-"`,
  })
  .refine((id) => !WINDOWS_DEVICE.test(id), {
    error: ({ input }) =>
      `${shown(input)} is not a valid session id because Windows reserves it for a device; use another name`,
  });

export const checkpointName = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/, {
  error: ({ input }) =>
    `${shown(input)} is not a valid checkpoint name; use 1 to 64 letters, digits, ".", "_" or "-", starting with a letter or digit`,
});
