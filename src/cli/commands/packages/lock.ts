/** `packages lock`: approves wheels, which programs may then get on demand. */
import { escapeControls } from '../../../analysis/escape-controls.ts';
import { approveWheels } from '../../../packages/approved-wheels.ts';
import { readPyodideLock } from '../../../packages/pyodide-lock.ts';
import { resolvePackages } from '../../../packages/resolve-packages.ts';
import { pyodideUrl } from '../../../packages/wheel-sources.ts';
import { unpackInThread } from '../../../worker/unpack-in-thread.ts';
import { printLines } from '../../diagnostics.ts';
import { UsageError } from '../../exit-codes.ts';
import { Progress } from '../../progress-line.ts';
import { readRequests } from './add.ts';
import { exclusive } from './exclusive.ts';

export const packagesLock = exclusive(async (given, { pip, pyodide }) => {
  if (given.length === 0) throw new UsageError('Specify package names, wheels or folders.');
  const { requests, files } = readRequests(given);
  const progress = new Progress(() => 'Searching for packages');
  const pyodideLock = readPyodideLock();
  const sources = {
    files,
    pip,
    pyodideUrl: pyodide ? pyodideUrl(pyodideLock) : undefined,
    pyodideLock,
    unpack: unpackInThread,
    onStep: (text: string) => progress.step(text),
  };
  try {
    const { packages, vendored } = await resolvePackages(requests, [], sources);
    approveWheels(packages);
    for (const name of vendored) printLines(`${name} is vendored: programs can import it already`);
    for (const { name, version, sha256 } of packages)
      printLines(escapeControls(`approved ${name} ${version} (SHA-256 ${sha256})`));
  } finally {
    progress.end();
  }
});
