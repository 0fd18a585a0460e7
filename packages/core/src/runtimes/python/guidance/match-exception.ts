/** Selects the exception of a run by its class. Exceptions that the program raised itself are never selected. */
import type { AnalysisInput } from '../../../analysis/input.ts';
import type { GuestError } from '../../../schema.ts';

/** The exception, if it is exactly one of these built-in classes. */
export function builtinException(
  { error }: AnalysisInput,
  ...types: readonly string[]
): GuestError | undefined {
  if (error === undefined || error.raised === true) return undefined;
  return error.module === 'builtins' && types.includes(error.type) ? error : undefined;
}

/** The exception, if one of these modules defines its class. */
export function moduleException(
  { error }: AnalysisInput,
  ...modules: readonly string[]
): GuestError | undefined {
  if (error === undefined || error.raised === true) return undefined;
  return error.module !== undefined && modules.includes(error.module) ? error : undefined;
}
