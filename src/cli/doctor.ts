/** `doctor`: whether the installation is whole, by trying it. */
import type { Command } from 'commander';
import { formatBytes, formatDuration, formatFuel } from '../quantities.ts';
import { RUNTIME_NAMES } from '../schema.ts';

const CHECKS: readonly { name: string; check: () => Promise<string> }[] = [
  {
    name: 'Node.js',
    check: async () => {
      const [major, minor] = process.versions.node.split('.').map(Number) as [number, number];
      if (major < 20 || (major === 20 && minor < 19))
        throw new Error(`is ${process.version}; install 20.19 or newer`);
      return process.version;
    },
  },
  ...RUNTIME_NAMES.map((runtime) => ({
    name: `${runtime} guest`,
    check: async () => {
      const { loadAssets } = await import('../runtimes/guest-files.ts');
      const { image, missing } = await loadAssets(runtime);
      const without = missing.map(({ name, version, reason }) => `${name} ${version} ${reason}`);
      if (missing.length > 0)
        throw new Error(`incomplete: ${without.join('; ')}. Mend that and run "npm run build"`);
      return `module, layers and image are whole (image ${formatBytes(image.length)})`;
    },
  })),
  ...RUNTIME_NAMES.map((runtime) => ({
    name: `${runtime} run`,
    check: async () => {
      const { createSandbox } = await import('../sandbox/sandbox.ts');
      await using sandbox = await createSandbox({ runtime });
      const result = await sandbox.execute('6 * 7');
      if (result.metadata.result !== 42)
        throw new Error(`6 * 7 gave ${JSON.stringify(result)}; run "npm run build"`);
      return `6 * 7 = 42 in ${formatDuration(result.duration_ms)}, ${formatFuel(result.fuel_consumed)} fuel`;
    },
  })),
];

async function doctor(): Promise<void> {
  for (const { name, check } of CHECKS) {
    try {
      console.log(`ok    ${name}: ${await check()}`);
    } catch (cause) {
      console.log(`FAIL  ${name}: ${(cause as Error).message}`);
      process.exitCode = 1;
    }
  }
  console.log(
    process.exitCode === 1 ? 'Something is missing: see the lines with FAIL.' : 'Everything works.',
  );
}

export function addDoctorCommand(program: Command): void {
  program.command('doctor').description('check the installation and say what to do').action(doctor);
}
