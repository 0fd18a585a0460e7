/** The table of Node.js modules in docs/JAVASCRIPT_CAPABILITIES.md states what the probes find. */
import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { classify, type SupportByModule } from './node-api/classify.ts';

const FILE = new URL('./node-api/support.json', import.meta.url);
/** The version of Node.js whose exports the table lists. */
const NODE_MAJOR = '20';

test.runIf(process.versions.node.startsWith(`${NODE_MAJOR}.`))(
  'the table of Node.js modules is current',
  async () => {
    const support = await classify();
    if (process.env['UPDATE_NODE_API'] === '1') writeFileSync(FILE, `${JSON.stringify(support, null, 1)}\n`);
    const documented = JSON.parse(readFileSync(FILE, 'utf8')) as SupportByModule;
    expect(support, 'run this test with UPDATE_NODE_API=1, then npm run docs').toEqual(documented);
  },
);
