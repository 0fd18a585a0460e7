import { tmpdir } from 'node:os';
import { defineConfig } from 'vitest/config';

// Tests must not depend on packages that the user has added.
process.env['LLM_WASM_SANDBOX_PACKAGES_DIR'] = `${tmpdir()}/llm-wasm-sandbox-no-packages`;

/** `unit` imports src/ and needs no build; `guest` runs the built package as a user would. */
export default defineConfig({
  test: {
    // Many tests wait for limits, processes and disks: a core for each file is used better than one kept free.
    maxWorkers: '100%',
    projects: [
      {
        test: {
          name: 'unit',
          include: [
            'test/{framing,wasm,fs,host,kernel,stores,analysis,concurrency,schema,quantities,tools,results,architecture}/**/*.test.ts',
          ],
          testTimeout: 60_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: 'guest',
          include: ['test/**/*.test.ts'],
          exclude: [
            'test/{framing,wasm,fs,host,kernel,stores,analysis,concurrency,schema,quantities,tools,results,architecture}/**',
          ],
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
