/** What a guest reports about the end of its program. It comes from the guest, so every field is capped and untrusted. */
import * as z from 'zod';
import { described, optionalField, wholeNumber } from './fields.ts';
import { REPORT_MAX, STOPPED_AT_MAX } from './report-limits.ts';

const shortText = z.string().max(REPORT_MAX.shortText);

/** An uncaught exception as the interpreter reports it. It comes from the guest, so every field is capped and untrusted. */
export const guestError = z.object({
  type: z.string().max(REPORT_MAX.text).describe('Name of the exception class.'),
  message: z.string().max(REPORT_MAX.text).describe('Text of the exception.'),
  line: z.number().int().nullish().describe('Line on which the exception was raised, starting at 1.'),
  file: shortText.optional().describe('File that contains the line, if it is not the program itself.'),
  column: z.number().int().nullish().describe('Column in that line.'),
  stack: z.string().max(REPORT_MAX.text).nullish().describe('Stack or traceback as text.'),
  module: shortText.optional().describe('Module of the exception class; "builtins" for built-in classes.'),
  kind: shortText.optional().describe('Nearest built-in base class.'),
  raised: z.boolean().optional().describe('Whether the program itself raised the exception, on that line.'),
  thrower: shortText.optional().describe('Built-in function that threw the exception.'),
  errno: z.number().int().nullish().describe('Error number of the failed system call.'),
  path: z.string().max(REPORT_MAX.text).nullish().describe('File on which the system call operated.'),
  path2: optionalField(
    z.string().max(REPORT_MAX.text),
    'Second file of the system call, such as the target of a rename.',
  ),
  cwd: shortText.optional().describe('Working directory against which relative paths are resolved.'),
  name: described(
    z.string().max(REPORT_MAX.text).nullish(),
    'Name of the missing module, variable or attribute.',
  ),
  missing: optionalField(
    z.array(shortText).max(REPORT_MAX.items),
    'All modules that the program imports and that do not exist.',
  ),
  attribute: shortText.optional().describe('Name of an attribute that the module does not have.'),
  module_name: shortText.optional().describe('Module in which the attribute was looked up.'),
  on_path: z.boolean().optional().describe('Whether vendored packages were on the import path.'),
  suggestion: shortText.optional().describe('Similar name that exists.'),
  container: optionalField(shortText, 'Type of the object in which a key, index or attribute was looked up.'),
  key: shortText.optional().describe('Key or index that does not exist.'),
  available: optionalField(
    z.array(shortText).max(REPORT_MAX.items),
    'The first keys that exist, or the first exceptions of an exception group.',
  ),
  length: optionalField(z.number().int(), 'Number of items in the container, or of characters in the text.'),
  position: z.number().int().optional().describe('Position of the error in the text or bytes.'),
  near: shortText.optional().describe('Text around that position.'),
  code: shortText.optional().describe('Code of a failed tool call.'),
  tool: shortText.optional().describe('Name of the tool that was called.'),
});
/**
 * An uncaught exception as the interpreter reports it. All fields come from the guest: they are untrusted, and long texts
 * are truncated.
 */
export interface GuestError extends z.infer<typeof guestError> {}

/** Where a run ended, with the variables of that function. Names and values come from the guest, so they are capped. */
export const stoppedAt = z.object({
  file: z.string().max(400).describe('File that contains the line.'),
  line: z.number().int().min(0).describe('Line, starting at 1; 0 if unknown.'),
  function: z.string().max(400).describe('Name of the function that was running.'),
  variables: described(
    z.record(z.string(), z.string().max(STOPPED_AT_MAX.text)),
    'Shortened values of the variables of the function, starting with the variables that the line uses. At most 20 variables and 2,000 characters.',
  ),
});
/** The line and function in which a run ended, with the variables of the function. */
export interface StoppedAt extends z.infer<typeof stoppedAt> {}

/** The report of the boot script about a program that was not stopped. */
export const guestReport = z.object({
  exit_code: wholeNumber(0, REPORT_MAX.exitCode),
  result: z.json().optional(),
  result_type: z.string().max(REPORT_MAX.typeName).optional(),
  result_text: optionalField(
    z.string().max(REPORT_MAX.text),
    'The result in the notation of the language, such as the output of repr().',
  ),
  error: guestError.optional(),
  exit_cause: optionalField(
    guestError,
    'The exception that the program was handling, or had just printed, when it exited.',
  ),
  stopped_at: stoppedAt.optional().describe('The frame of the program that raised the uncaught exception.'),
  uses_threads: z.literal(true).optional().describe('The program started threads or processes.'),
  asks_float_errors: optionalField(
    z.literal(true),
    'The program asked numpy to report floating-point errors.',
  ),
});
export interface GuestReport extends z.infer<typeof guestReport> {}
