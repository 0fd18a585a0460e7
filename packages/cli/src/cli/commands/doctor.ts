/** `doctor`: checks the installation by using it. */

import type { RuntimeName } from '@llm-wasm-sandbox/core/internal';
import {
  createSandbox,
  DEFAULT_LIMITS,
  describeMissing,
  findAssets,
  formatBytes,
  formatDuration,
  formatFuel,
  installedRuntimes,
  LANGUAGES,
  optionalRuntimes,
  PART_NAMES,
  partProblem,
  verifyAssets,
  verifyPart,
} from '@llm-wasm-sandbox/core/internal';
import { paint } from '../color.ts';
import type { CommandDetails } from '../command.ts';
import { packageInfo } from '../package-info.ts';
import { withProgress } from '../progress-line.ts';
import { jsonOption } from '../shared-options.ts';

interface DoctorFlags {
  readonly json?: boolean;
}

/** Measured by the checks. */
const fuelPerSecond: Partial<Record<RuntimeName, number>> = {};

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
  ...installedRuntimes().map((runtime) => ({
    name: `${runtime} guest`,
    check: async () => {
      const assets = findAssets(runtime);
      verifyAssets(assets);
      const { image, missing } = assets;
      if (missing.length > 0) {
        throw new Error(`${describeMissing(missing).join('; ')}. Fix this and run "npm run build"`);
      }
      return `module, layers and image are intact (image ${formatBytes(image.bytes.length)})`;
    },
  })),
  ...PART_NAMES.map((part) => ({
    name: `${part} part`,
    check: async () => {
      const problem = partProblem(part);
      if (problem !== undefined) return problem;
      verifyPart(part);
      return 'its files are intact';
    },
  })),
  ...installedRuntimes().map((runtime) => ({
    name: `${runtime} run`,
    check: async () => {
      await using sandbox = await createSandbox({ runtime });
      const result = await sandbox.execute(LANGUAGES[runtime].checkProgram);
      if (result.stdout !== '42\n')
        throw new Error(`6 * 7 returned ${JSON.stringify(result)}; run "npm run build"`);
      const { measureSpeed } = await import('./doctor-speed.ts');
      const speed = await measureSpeed(runtime);
      fuelPerSecond[runtime] = Math.round(speed);
      const { fuel_budget } = DEFAULT_LIMITS;
      const budget = `${formatFuel(fuel_budget)} fuel (the default budget) is about ${formatDuration((fuel_budget / speed) * 1000)} of computation`;
      return `6 * 7 = 42 in ${formatDuration(result.duration_ms)}, ${formatFuel(result.fuel_consumed)} fuel; ${budget}`;
    },
  })),
  ...optionalRuntimes().map(({ runtime, advice }) => ({
    name: `${runtime} guest`,
    check: async () => `not installed, because it is optional. ${advice}`,
  })),
];

interface Finding {
  readonly name: string;
  readonly ok: boolean;
  readonly message: string;
}

async function runChecks(onFinding: (finding: Finding) => void): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const { name, check } of CHECKS) {
    const finding = await withProgress(`Checking: ${name}`, check).then(
      (message) => ({ name, ok: true, message }),
      (cause: Error) => ({ name, ok: false, message: cause.message }),
    );
    onFinding(finding);
    findings.push(finding);
  }
  return findings;
}

async function checkInstallation(_: unknown, { json }: DoctorFlags): Promise<void> {
  const print = ({ ok, name, message }: Finding) => {
    const verdict = ok ? paint('success', 'ok', process.stdout) : paint('error', 'FAIL', process.stdout);
    console.log(`${verdict}${ok ? '    ' : '  '}${name}: ${message}`);
  };
  const findings = await runChecks(json ? () => {} : print);
  const failures = findings.filter(({ ok }) => !ok).length;
  if (json) console.log(JSON.stringify(report(findings), null, 2));
  else console.log(failures === 0 ? 'Everything works.' : `${failures} of ${findings.length} checks failed.`);
  if (failures > 0) process.exitCode = 1;
}

function report(findings: readonly Finding[]) {
  const { fuel_budget, timeout_seconds } = DEFAULT_LIMITS;
  return {
    ok: findings.every(({ ok }) => ok),
    version: packageInfo().version,
    node: process.version,
    platform: `${process.platform}-${process.arch}`,
    default_limits: { fuel_budget, timeout_seconds },
    fuel_per_second: fuelPerSecond,
    checks: findings,
  };
}

export default {
  options: [jsonOption('Print the findings and the measured speed as JSON')],
  examples: ['doctor', 'doctor --json'],
  action: checkInstallation,
} satisfies CommandDetails<DoctorFlags>;
