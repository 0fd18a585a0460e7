/**
 * Writes packages/core/src/packages/lock.json: the newest versions that the table of vendored packages allows, with the digests of their
 * pure Python files. Requires a build and a pip that can download packages.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { createLock } from '../packages/core/dist/runtimes/python/build/fetch-locked-packages.js';

const path = new URL('../packages/core/src/packages/lock.json', import.meta.url);
const before = new Map(JSON.parse(readFileSync(path, 'utf8')).python.map((row) => [row.name, row]));
const python = await createLock();
for (const { name, version, sha256 } of python) {
  const old = before.get(name);
  if (old?.sha256 !== sha256) console.log(`${name}: ${old?.version ?? 'new'} → ${version}`);
}
writeFileSync(path, `${JSON.stringify({ python }, null, 2)}\n`);
console.log(`${python.length} packages locked.`);
