/** Hides the command line from other users of the machine if it contains a token or the password of a database. */
import { isDatabaseAddress } from '@llm-wasm-sandbox/core/internal';

/** Replaces the arguments in the list of processes, such as that of `ps`, with the name of this program. */
export function hideArguments(address: string | undefined, hasToken = false): void {
  if (hasToken || (address !== undefined && isDatabaseAddress(address))) process.title = 'llm-wasm-sandbox';
}
