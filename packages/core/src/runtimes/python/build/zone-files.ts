/** The time zone database: the files of the vendored package tzdata, as /usr/share/zoneinfo has them. */
import type { PackageFile } from '../../../packages/package-files.ts';
import { fetchLockedPackages, lockedPackages } from './fetch-locked-packages.ts';

const FOLDER = 'tzdata/zoneinfo/';
/** Files of the package that are not part of a system: modules, and the source of the database. */
const EXCLUDED = /\.py$|(^|\/)(__pycache__\/|tzdata\.zi$|leapseconds$)/;

/** The files by their path in the folder; none if the package cannot be downloaded. */
export async function zoneFiles(): Promise<PackageFile[]> {
  const { files } = await fetchLockedPackages(lockedPackages().filter(({ name }) => name === 'tzdata'));
  return files
    .filter(({ path }) => path.startsWith(FOLDER) && !EXCLUDED.test(path))
    .map(({ path, data }) => ({ path: path.slice(FOLDER.length), data }));
}
