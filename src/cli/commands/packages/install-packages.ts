/** The common part of `packages add` and `packages update`: installs, and reports what was added. */
import { escapeControls } from '../../../analysis/escape-controls.ts';
import type { AddedPackage } from '../../../packages/added-packages.ts';
import { installPackages } from '../../../packages/install-packages.ts';
import type { PackageRequest } from '../../../packages/resolve-packages.ts';
import { formatBytes, formatFuel } from '../../../quantities.ts';
import { measureImport } from '../../../sandbox/measure-import.ts';
import { paint } from '../../color.ts';
import { printLines } from '../../diagnostics.ts';
import { report, reportVendored, withSources } from './find-packages.ts';
import type { PackagesFlags } from './subcommand.ts';

/** Adds packages to those in `kept`. `files` are wheels that the caller specified. Must be called from an `exclusive` action. */
export async function installAndReport(
  requests: readonly PackageRequest[],
  files: readonly string[],
  kept: readonly AddedPackage[],
  flags: Pick<PackagesFlags, 'pip' | 'pyodide'>,
): Promise<void> {
  await withSources(files, flags, async (sources) => {
    const installation = { sources, kept, measure: measureImport };
    const { added, vendored, warnings } = await installPackages(requests, installation);
    reportVendored(vendored);
    for (const text of warnings) printLines(`${paint('warning', 'warning:')} ${escapeControls(text)}`);
    for (const { name, version, source, wheel_bytes, fuel_first_import } of added)
      report(
        `added ${name} ${version} (${source}, ${formatBytes(wheel_bytes)}); first import ${formatFuel(fuel_first_import)} fuel`,
      );
  });
}
