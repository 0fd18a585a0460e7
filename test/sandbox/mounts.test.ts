import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSandbox, type Sandbox } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import type { SandboxParts } from '../../packages/core/src/sandbox/create-parts.ts';
import { folderOfFile } from '../support/folders.ts';

const MiB = 1024 * 1024;
const folder = folderOfFile();

const open = (host_path: string) =>
  createSandbox({ runtime: 'javascript', policy: { mounts: [{ host_path, guest_path: '/external' }] } });
const shown = async (host_path: string, file = 'f') => {
  await using sandbox = await open(host_path);
  return (await sandbox.execute(`std.loadFile('/external/${file}')`)).metadata.result;
};

/** The memory of the file in the mounted folder of a sandbox. */
function mountedBuffer(sandbox: Sandbox) {
  const { parts } = (sandbox as unknown as { core: { parts: SandboxParts } }).core;
  return [...parts.mountSet.mounts[0]!.entries].find(({ kind }) => kind === 'file')!.data!.buffer;
}

describe('a mounted folder', () => {
  // guarantee: memory-limit
  test('is held in memory once for all sandboxes that mount it', async () => {
    const path = join(folder, 'large');
    mkdirSync(path);
    writeFileSync(join(path, 'f'), Buffer.alloc(MiB, 1));
    const sandboxes = await Promise.all(Array.from({ length: 20 }, () => open(path)));
    const lengths = await Promise.all(
      sandboxes.map((sandbox) => sandbox.execute('const [stat] = os.stat("/external/f"); stat.size')),
    );
    expect(lengths.map(({ metadata }) => metadata.result)).toEqual(sandboxes.map(() => MiB));
    // Worker threads use the same copy, because shared memory is not copied when it is sent to them.
    const data = new Set(sandboxes.map(mountedBuffer));
    expect([...data].map((buffer) => [buffer.constructor.name, buffer.byteLength])).toEqual([
      ['SharedArrayBuffer', MiB],
    ]);
    await Promise.all(sandboxes.map((sandbox) => sandbox.close()));
  });

  test('is read again by a new sandbox after a file was written, replaced, added or deleted', async () => {
    const path = join(folder, 'changing');
    mkdirSync(path);
    writeFileSync(join(path, 'f'), 'one');
    await using first = await open(path);
    const see = async () => (await first.execute("std.loadFile('/external/f')")).metadata.result;
    expect(await see()).toBe('one');
    writeFileSync(join(path, 'f'), 'two');
    expect(await shown(path)).toBe('two');
    writeFileSync(join(path, 'new'), 'six');
    renameSync(join(path, 'new'), join(path, 'f'));
    expect(await shown(path)).toBe('six');
    writeFileSync(join(path, 'g'), 'more');
    expect(await shown(path, 'g')).toBe('more');
    rmSync(join(path, 'g'));
    expect(await shown(path, 'g')).toBe(null);
    expect(await see()).toBe('one');
  });
});
