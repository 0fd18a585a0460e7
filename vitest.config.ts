import { availableParallelism, tmpdir } from 'node:os';
import { defineConfig } from 'vitest/config';

// Tests must not depend on packages that the user has added.
process.env['LLM_WASM_SANDBOX_PACKAGES_DIR'] = `${tmpdir()}/llm-wasm-sandbox-no-packages`;

const UNIT =
  'test/{framing,wasm,fs,host,kernel,stores,analysis,concurrency,schema,quantities,tools,results,charts,architecture}/**/*.test.ts';

/** Files that change the environment of their process, or measure its memory, processor time, stalls or children. */
const OWN_PROCESS = [
  'test/escape/linear-time.test.ts',
  'test/fuzz/**/*.test.ts',
  'test/limits/stress.test.ts',
  'test/mcp/request-limits.test.ts',
  'test/packages/added-packages.test.ts',
  'test/packages/run-pip.test.ts',
  'test/packages/wheel-sources.test.ts',
  'test/redteam/**/*.test.ts',
  'test/worker/isolation.test.ts',
];

/** Install agent frameworks and schema libraries, which takes minutes on a machine that does not have them: `npm run test:frameworks`. */
const FRAMEWORKS = ['test/adapters/frameworks.test.ts', 'test/adapters/tool-schemas.test.ts'];
const withFrameworks = Boolean(process.env['FRAMEWORK_TESTS'] ?? process.env['NIGHTLY_TESTS']);

const setupFiles = ['test/support/property-seed.ts'];

/**
 * `unit` imports src/ and needs no build; `guest` runs the built package as a user would. The files of a project share a
 * few processes, whose modules and worker threads are loaded once; those of `own-process` do not.
 */
export default defineConfig({
  test: {
    // Tests wait for limits, processes and disks for about a quarter of their time: one more process uses the cores fully.
    maxWorkers: availableParallelism() + 1,
    projects: [
      {
        test: {
          name: 'unit',
          include: [UNIT],
          setupFiles,
          isolate: false,
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: 'guest',
          include: ['test/**/*.test.ts'],
          setupFiles,
          exclude: [UNIT, ...FRAMEWORKS, ...OWN_PROCESS],
          isolate: false,
          testTimeout: 300_000,
          hookTimeout: 300_000,
        },
      },
      {
        test: {
          name: 'own-process',
          include: OWN_PROCESS,
          setupFiles,
          testTimeout: 300_000,
          hookTimeout: 300_000,
        },
      },
      {
        test: { name: 'frameworks', include: withFrameworks ? FRAMEWORKS : [] },
      },
    ],
  },
});
