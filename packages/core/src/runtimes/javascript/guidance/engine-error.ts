/** Selects errors that QuickJS or the guest's own modules threw, and parses one from standard error. */
import type { AnalysisInput } from '../../../analysis/input.ts';
import type { GuestError } from '../../../schema.ts';

/** The error, if it has one of these types and the program did not throw it. */
export function engineError({ error }: AnalysisInput, ...types: readonly string[]): GuestError | undefined {
  if (error === undefined || error.raised === true) return undefined;
  return types.includes(error.type) ? error : undefined;
}

/** Messages for iterating or destructuring a value that is not iterable. */
export const NOT_ITERABLE =
  /^value is not iterable$|^cannot read property 'Symbol\.iterator' of (?:null|undefined)$/;

/** A class that is called like a function. */
export const CLASS_CALLED = /^class constructors must be invoked with 'new'/;

const UNCAUGHT = /^Uncaught (?:\(in promise\) )?(\w{1,60}Error): ([^\n]{0,2000})$/;
const STACK_FRAME = /^\s+at /;

/** The uncaught error at the end of standard error, exactly as the runtime writes it. */
export function parseUncaughtError(stderr: string): GuestError | undefined {
  const lines = stderr.split('\n');
  if (lines.at(-1) === '') lines.pop();
  while (lines.length > 0 && STACK_FRAME.test(lines.at(-1)!)) lines.pop();
  const found = UNCAUGHT.exec(lines.at(-1) ?? '');
  return found === null ? undefined : { type: found[1]!, message: found[2]! };
}
