/** The common part of `packages add` and `packages update`: progress, and the report of what was added. */
import { escapeControls } from '../../../analysis/escape-controls.ts';
import type { AddedPackage } from '../../../packages/added-packages.ts';
import { installPackages } from '../../../packages/install-packages.ts';
import { readPyodideLock } from '../../../packages/pyodide-lock.ts';
import type { PackageRequest } from '../../../packages/resolve-packages.ts';
import { pyodideUrl } from '../../../packages/wheel-sources.ts';
import { formatBytes, formatFuel } from '../../../quantities.ts';
import { measureImport } from '../../../sandbox/measure-import.ts';
import { unpackInThread } from '../../../worker/unpack-in-thread.ts';
import { paint } from '../../color.ts';
import { printLines } from '../../diagnostics.ts';
import { didYouMean } from '../../did-you-mean.ts';
import { Progress } from '../../progress-line.ts';
import type { PackagesFlags } from './subcommand.ts';

const report = (text: string) => printLines(escapeControls(text));

/** Adds packages to those in `kept`. `files` are wheels that the caller specified. Must be called from an `exclusive` action. */
export async function installAndReport(
  requests: readonly PackageRequest[],
  files: readonly string[],
  kept: readonly AddedPackage[],
  { pip, pyodide }: Pick<PackagesFlags, 'pip' | 'pyodide'>,
): Promise<void> {
  const progress = new Progress(() => 'Searching for packages');
  const pyodideLock = readPyodideLock();
  const sources = {
    files,
    pip,
    pyodideUrl: pyodide ? pyodideUrl(pyodideLock) : undefined,
    pyodideLock,
    unpack: unpackInThread,
    onStep: (text: string) => progress.step(text),
    suggest: (name: string) =>
      didYouMean(
        name,
        [...pyodideLock.packages.keys()].filter((one) => one !== name && one[0] === name[0]),
      ),
  };
  try {
    const { added, vendored, warnings } = await installPackages(requests, {
      sources,
      kept,
      measure: measureImport,
    });
    for (const name of vendored) report(`${name} is vendored: programs can import it already`);
    for (const text of warnings) printLines(`${paint('warning', 'warning:')} ${escapeControls(text)}`);
    for (const { name, version, source, wheel_bytes, fuel_first_import } of added)
      report(
        `added ${name} ${version} (${source}, ${formatBytes(wheel_bytes)}); first import ${formatFuel(fuel_first_import)} fuel`,
      );
  } finally {
    progress.end();
  }
}
