import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import tsconfig from './tsconfig.json' with { type: 'json' };

// Tests must not depend on packages that the user, or another run of the tests, has added.
process.env['LLM_WASM_SANDBOX_PACKAGES_DIR'] = `${tmpdir()}/llm-wasm-sandbox-no-packages-${process.pid}`;
// Nor on a terminal's or a CI system's wish for colours: the processes that tests start would inherit it.
delete process.env['FORCE_COLOR'];

const UNIT =
  'test/{framing,wasm,fs,host,kernel,stores,analysis,concurrency,schema,quantities,tools,results,charts,http,architecture,programs}/**/*.test.ts';

/** Files that change the environment of their process, or measure its memory, processor time, stalls or children. */
const OWN_PROCESS = [
  'test/escape/linear-time.test.ts',
  'test/fuzz/**/*.test.ts',
  'test/limits/memory-of-processes.test.ts',
  'test/limits/stress.test.ts',
  'test/mcp/request-limits.test.ts',
  'test/packages/added-packages.test.ts',
  'test/packages/run-pip.test.ts',
  'test/packages/wheel-sources.test.ts',
  'test/redteam/**/*.test.ts',
  'test/worker/isolation.test.ts',
];

/** Install agent frameworks and schema libraries, which takes minutes on a machine that does not have them: `npm run test:frameworks`. */
const FRAMEWORKS = [
  'test/adapters/{frameworks,slot-*}.test.ts',
  'test/adapters/tool-schemas.test.ts',
  'test/e2b/sdk*.test.ts',
  'test/jupyter/services.test.ts',
];
const withFrameworks = Boolean(process.env['FRAMEWORK_TESTS'] ?? process.env['NIGHTLY_TESTS']);

/**
 * Tests with the tag `full` run in `npm run test:full`, all others in `npm test`. A file that consists of such tests has
 * the comment `@module-tag full`. The tier is the mode of Vitest; in other modes, the tests of both run.
 */
const TIERS: Record<string, { tagsFilter: string[]; isPart: (text: string) => boolean }> = {
  quick: { tagsFilter: ['!full'], isPart: (text) => !text.includes('@module-tag full') },
  full: { tagsFilter: ['full'], isPart: (text) => /@module-tag full|tags: 'full'/.test(text) },
};

/** The files that have no test of the tier. They are not even loaded. */
const filesOfOtherTier = (mode: string) =>
  readdirSync('test', { recursive: true, encoding: 'utf8' })
    .map((path) => `test/${path.replaceAll('\\', '/')}`)
    .filter((path) => path.endsWith('.test.ts') && TIERS[mode]?.isPart(readFileSync(path, 'utf8')) === false);

const SETUP = ['test/support/property-seed.ts', 'test/support/built-files.ts'];

/** Options of all projects. Vitest does not pass on those of the configuration. */
const shared = (mode: string) => ({
  ...BUILT,
  setupFiles: SETUP,
  globalSetup: ['test/support/shared-postgres.ts'],
  ...(mode in TIERS && { tagsFilter: TIERS[mode]!.tagsFilter }),
});

/** Resolves imports of packages to their sources. */
const sources = (isSource: (name: string) => boolean) => ({
  resolve: {
    alias: Object.entries(tsconfig.compilerOptions.paths)
      .filter(([name]) => isSource(name))
      .map(([name, [path]]) => ({
        find: new RegExp(`^${name}$`),
        replacement: fileURLToPath(new URL(path!, import.meta.url)),
      })),
  },
});
const SOURCES = sources(() => true);
/** What users import is what is built; only what packages have for each other is sources. */
const SHIPPED = sources((name) => /\/(?:basics|internal|jobs|redteam|attack)$/.test(name));
const BUILT = { server: { deps: { external: [/\/(?:packages|tools)\/\w+\/dist\//] } } };

/**
 * `unit` needs no build; `guest` also imports sources, and runs the threads and guests that are built. `own-process` and
 * `frameworks` import the built packages as users do, as does everything that starts the command line. The files of a project
 * share a few processes, whose modules and worker threads are loaded once; those of `own-process` do not.
 */
export default defineConfig(({ mode }) => ({
  test: {
    // Tests wait for limits, processes and disks for about a quarter of their time: one more process uses the cores fully.
    maxWorkers: availableParallelism() + 1,
    tags: [{ name: 'full', description: 'Processes, kills, replicas, wheels, deployment, shells, attacks.' }],
    projects: [
      {
        ...SOURCES,
        test: {
          name: 'unit',
          include: [UNIT],
          exclude: filesOfOtherTier(mode),
          ...shared(mode),
          setupFiles: [...SETUP, 'test/support/kept-environment.ts'],
          isolate: false,
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        ...SOURCES,
        test: {
          name: 'guest',
          include: ['test/**/*.test.ts'],
          exclude: [UNIT, ...FRAMEWORKS, ...OWN_PROCESS, ...filesOfOtherTier(mode)],
          ...shared(mode),
          setupFiles: [...SETUP, 'test/support/kept-environment.ts'],
          isolate: false,
          testTimeout: 300_000,
          hookTimeout: 300_000,
        },
      },
      {
        ...SHIPPED,
        test: {
          name: 'own-process',
          include: OWN_PROCESS,
          exclude: filesOfOtherTier(mode),
          ...shared(mode),
          testTimeout: 300_000,
          hookTimeout: 300_000,
        },
      },
      {
        ...SHIPPED,
        test: {
          name: 'frameworks',
          ...BUILT,
          include: withFrameworks ? FRAMEWORKS : [],
          testTimeout: 120_000,
        },
      },
    ],
  },
}));
