/** Versions and version specifiers of Python packages (PEP 440). Both may come from an untrusted wheel. */
import { satisfies as contains, valid, validRange } from '@renovatebot/pep440';

const MAX_LENGTH = 200;
const isVersion = (text: string) => text.length <= MAX_LENGTH && valid(text) !== null;

/**
 * Whether a version satisfies a list of comparisons, such as `>=1.26,<3`. A pre-release may satisfy it. An invalid list is
 * ignored, because old packages contain such lists; an invalid version satisfies no list.
 */
export function satisfies(version: string, specifiers: string): boolean {
  if (specifiers.trim() === '' || specifiers.length > MAX_LENGTH || !validRange(specifiers)) return true;
  return isVersion(version) && contains(version, specifiers, { prereleases: true });
}
