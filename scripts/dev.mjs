/**
 * Runs tests again whenever a source changes that they use: `npm run dev -- test/session`. What threads load is bundled anew at
 * each change. A change in a guest needs `npm run build`.
 */
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { watchThreads } from './bundle.mjs';

await watchThreads();
const vitest = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs');
spawn(process.execPath, [vitest, '--watch', ...process.argv.slice(2)], { stdio: 'inherit' }).once(
  'exit',
  (code) => process.exit(code ?? 1),
);
