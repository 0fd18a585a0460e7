/** The programs can be built again from their sources, bit for bit. @module-tag full */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { missingTools } from '../../programs/build/toolchain.mjs';
import { folderOfTest } from '../support/folders.ts';

const MINUTES = 60_000;
const missing = missingTools();
const reason =
  process.env['NIGHTLY_TESTS'] !== '1' ? 'only with NIGHTLY_TESTS=1' : `needs ${missing.join(', ')}`;
const isSkipped = process.env['NIGHTLY_TESTS'] !== '1' || missing.length > 0;

it.skipIf(isSkipped)(
  `builds the committed programs again${isSkipped ? ` (${reason})` : ''}`,
  { timeout: 30 * MINUTES },
  () => {
    const work = folderOfTest();
    const script = fileURLToPath(new URL('../../programs/build/build.mjs', import.meta.url));
    const { status, stderr } = spawnSync(process.execPath, [script, '--check', '--work', work], {
      encoding: 'utf8',
    });
    expect({ status, stderr: status === 0 ? '' : stderr }).toEqual({ status: 0, stderr: '' });
  },
);
