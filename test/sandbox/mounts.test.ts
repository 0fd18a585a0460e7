import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSandbox } from 'llm-wasm-sandbox';
import { afterAll, describe, expect, test } from 'vitest';

const MiB = 1024 * 1024;
const folder = mkdtempSync(join(tmpdir(), 'mounts-'));
afterAll(() => rmSync(folder, { recursive: true }));

const open = (host_path: string) =>
  createSandbox({ runtime: 'javascript', policy: { mounts: [{ host_path, guest_path: '/external' }] } });
const shown = async (host_path: string, file = 'f') => {
  await using sandbox = await open(host_path);
  return (await sandbox.execute(`std.loadFile('/external/${file}')`)).metadata.result;
};

describe('a mounted folder', () => {
  // guarantee: memory-limit
  test('is held in memory once for all sandboxes that mount it', async () => {
    const path = join(folder, 'large');
    mkdirSync(path);
    writeFileSync(join(path, 'f'), Buffer.alloc(32 * MiB, 1));
    const before = process.memoryUsage().rss;
    const sandboxes = await Promise.all(Array.from({ length: 20 }, () => open(path)));
    const lengths = await Promise.all(
      sandboxes.map((sandbox) => sandbox.execute('const [stat] = os.stat("/external/f"); stat.size')),
    );
    expect(lengths.map(({ metadata }) => metadata.result)).toEqual(sandboxes.map(() => 32 * MiB));
    // 20 copies are 640 MiB; the worker threads and the interpreters take some memory, too.
    expect(process.memoryUsage().rss - before).toBeLessThan(400 * MiB);
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
