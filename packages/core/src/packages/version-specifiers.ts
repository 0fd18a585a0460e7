/** Versions and version specifiers of Python packages (PEP 440). Both may come from an untrusted wheel. */
import { requireInstalled } from '../host/install-folder.ts';

/** Loaded when the first version is compared, because most processes compare none. */
const pep440 = () => requireInstalled('@renovatebot/pep440') as typeof import('@renovatebot/pep440');

const MAX_LENGTH = 200;
/** Comparisons in a list. Each takes up to a tenth of a millisecond. */
const MAX_COMPARISONS = 20;
const isTooLong = (specifiers: string) =>
  specifiers.length > MAX_LENGTH || specifiers.split(',').length > MAX_COMPARISONS;
const isVersion = (text: string) => text.length <= MAX_LENGTH && pep440().valid(text) !== null;

/**
 * Whether a version satisfies a list of comparisons, such as `>=1.26,<3`. A pre-release may satisfy it. An invalid list is
 * ignored, because old packages contain such lists; an invalid version satisfies no list.
 */
export function satisfies(version: string, specifiers: string): boolean {
  if (specifiers.trim() === '' || isTooLong(specifiers) || !pep440().validRange(specifiers)) return true;
  return isVersion(version) && pep440().satisfies(version, specifiers, { prereleases: true });
}
