/** `doctor`: checks the installation by using it. */
import { Option } from 'commander';
import { formatBytes, formatDuration, formatFuel } from '../../quantities.ts';
import { RUNTIME_NAMES } from '../../schema.ts';
import type { CommandDetails } from '../command.ts';

interface DoctorFlags {
  readonly timings?: boolean;
}

/** `check` returns a line about what it found, or throws an error that says how to fix the problem. */
const CHECKS: readonly { readonly name: string; readonly check: () => Promise<string> }[] = [
  {
    name: 'Node.js',
    check: async () => {
      const [major, minor] = process.versions.node.split('.').map(Number) as [number, number];
      if (major < 20 || (major === 20 && minor < 19))
        throw new Error(`${process.version} is too old; install 20.19 or newer`);
      return process.version;
    },
  },
  ...RUNTIME_NAMES.map((runtime) => ({
    name: `${runtime} guest`,
    check: async () => {
      const { findAssets } = await import('../../runtimes/guest-artifacts.ts');
      const { verifyAssets } = await import('../../runtimes/verify-artifacts.ts');
      const assets = findAssets(runtime);
      verifyAssets(assets);
      const { image, missing } = assets;
      const problems = missing.map(({ name, version, reason }) => `${name} ${version}: ${reason}`);
      if (missing.length > 0)
        throw new Error(`incomplete: ${problems.join('; ')}. Fix this and run "npm run build"`);
      return `module, layers and image are intact (image ${formatBytes(image.bytes.length)})`;
    },
  })),
  ...RUNTIME_NAMES.map((runtime) => ({
    name: `${runtime} run`,
    check: async () => {
      const { createSandbox } = await import('../../session/create-sandbox.ts');
      await using sandbox = await createSandbox({ runtime });
      const result = await sandbox.execute('6 * 7');
      if (result.metadata.result !== 42)
        throw new Error(`6 * 7 returned ${JSON.stringify(result)}; run "npm run build"`);
      return `6 * 7 = 42 in ${formatDuration(result.duration_ms)}, ${formatFuel(result.fuel_consumed)} fuel`;
    },
  })),
];

async function checkInstallation(_: unknown, { timings }: DoctorFlags): Promise<void> {
  if (timings) {
    const { coldStartTable } = await import('./doctor-timings.ts');
    console.log(await coldStartTable());
    return;
  }
  let failures = 0;
  for (const { name, check } of CHECKS) {
    try {
      console.log(`ok    ${name}: ${await check()}`);
    } catch (cause) {
      failures++;
      console.log(`FAIL  ${name}: ${(cause as Error).message}`);
    }
  }
  console.log(failures === 0 ? 'Everything works.' : `${failures} of ${CHECKS.length} checks failed.`);
  if (failures > 0) process.exitCode = 1;
}

export const doctorCommand: CommandDetails<DoctorFlags> = {
  options: [
    new Option('--timings', 'Print how long the phases of a cold start take, instead of running the checks'),
  ],
  examples: ['doctor', 'doctor --timings'],
  action: checkInstallation,
};
