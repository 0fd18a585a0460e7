/** util.parseArgs, from the package in which Node.js publishes it. */
import { parseArgs as parse } from '@pkgjs/parseargs';
import { codedError } from './errors.js';

export function parseArgs(config = {}) {
  if (config.allowNegative)
    throw codedError(
      Error,
      'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM',
      "util.parseArgs with allowNegative is not available in the sandbox. Declare the option 'no-NAME' too.",
    );
  return parse({ ...config, args: config.args ?? globalThis.process.argv.slice(2) });
}
