import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openInBrowser } from '../../packages/cli/src/cli/open-in-browser.ts';
import { folderOfFile } from '../support/folders.ts';

const ADDRESS = 'http://127.0.0.1:1/playground/#token=secret';
const folder = folderOfFile();
const opened = join(folder, 'opened');
writeFileSync(
  join(folder, 'xdg-open'),
  `#!/bin/sh\necho "$@" > ${opened}.part\nmv ${opened}.part ${opened}\n`,
);
chmodSync(join(folder, 'xdg-open'), 0o755);
const env = { PATH: `${folder}:${process.env['PATH']}` };

describe.runIf(process.platform === 'linux')('the address of the playground', () => {
  test.each([
    ['without a display', { isTTY: true }, env],
    ['if the output is not a terminal', { isTTY: false }, { ...env, DISPLAY: ':0' }],
  ])('is not opened %s', (_, output, environment) => {
    expect(openInBrowser(ADDRESS, output, environment)).toBe(false);
  });

  test('is opened through a file that only the user can read, not as an argument', async () => {
    expect(openInBrowser(ADDRESS, { isTTY: true }, { ...env, DISPLAY: ':0' })).toBe(true);
    await expect.poll(() => existsSync(opened), { timeout: 30_000 }).toBe(true);
    const file = readFileSync(opened, 'utf8').trim();
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, 'utf8')).toContain(`url=${ADDRESS}"`);
  });
});
