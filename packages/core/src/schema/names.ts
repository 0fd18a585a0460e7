/** The names of runtimes, programs, sessions and checkpoints. */
import * as z from 'zod';
import { LANGUAGE_NAMES, RUNTIME_NAMES } from './runtime-names.ts';

export const runtimeName = z.enum(RUNTIME_NAMES).describe('Language of the guest.');
export const languageName = z.enum(LANGUAGE_NAMES).describe('Language of the program.');

/**
 * The name of a program in stack traces. Names of the form call-N are reserved for the later calls of a session, so
 * that no two programs of a session have the same name.
 */
export const programName = z.string().regex(/^(?!call-\d+\.)[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$/, {
  error: ({ input }) =>
    `${shown(input)} is not a valid program name; use 1 to 100 letters, digits, ".", "_" or "-", starting with a letter, digit or "_". Names of the form call-NUMBER are reserved`,
});

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
