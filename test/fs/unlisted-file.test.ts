/** The file of a program, which paths lead to and listings omit. */
import { describe, expect, it } from 'vitest';
import type { Volume } from '../../packages/core/src/fs/volume.ts';
import { bytes, codeOf, newVolume, readText, writeText } from './support.ts';

const MAIN = '/app/main.sh';

/** A volume with the file, and a function that returns what a guest has changed at the end of the call. */
function setup(limits?: Parameters<typeof newVolume>[0]) {
  const volume = newVolume(limits);
  const before = volume.usage();
  expect(volume.addUnlisted('main.sh', bytes('echo hi'), 0o755)).toBe('main.sh');
  const end = () => {
    volume.removeUnlisted();
    const { created, modified, deleted } = volume.commit('/app');
    return { created, modified, deleted };
  };
  return { volume, before, end };
}

const names = (volume: Volume) => volume.readdir(volume.lookup('/app', '/', true)).map(({ name }) => name);
const UNCHANGED = { created: [], modified: [], deleted: [] };

describe('the file of a program', () => {
  it('can be read by its path, and is not listed, charged or part of the changes', () => {
    const { volume, before, end } = setup();
    expect(readText(volume, MAIN)).toBe('echo hi');
    expect(volume.lookup(MAIN, '/', true)).toMatchObject({ mode: 0o755, nlink: 1, size: 7 });
    expect(names(volume)).toEqual([]);
    expect(volume.usage()).toEqual(before);
    expect(end()).toEqual(UNCHANGED);
    expect(volume.exists(MAIN)).toBe(false);
    expect(volume.usage()).toEqual(before);
  });

  it('gets a free name if another file, folder or link has its name', () => {
    const volume = newVolume();
    writeText(volume, MAIN, 'mine');
    volume.mkdir('/app/main-1.sh', '/', 0o755);
    volume.symlink('/nowhere', '/app/main-2.sh', '/');
    expect(volume.addUnlisted('main.sh', bytes('echo hi'), 0o644)).toBe('main-3.sh');
    expect(readText(volume, MAIN)).toBe('mine');
    expect(readText(volume, '/app/main-3.sh')).toBe('echo hi');
  });

  it('is the file that has its name and its contents', () => {
    const volume = newVolume();
    writeText(volume, MAIN, 'echo hi');
    expect(volume.addUnlisted('main.sh', bytes('echo hi'), 0o644)).toBe('main.sh');
    expect(names(volume)).toEqual(['main.sh']);
    volume.removeUnlisted();
    expect(readText(volume, MAIN)).toBe('echo hi');
  });

  it.each<[string, (volume: Volume) => unknown]>([
    ['is written', (volume) => writeText(volume, MAIN, 'new')],
    ['is truncated', (volume) => volume.truncate(volume.lookup(MAIN, '/', true), 0)],
    ['gets another mode', (volume) => volume.chmod(volume.lookup(MAIN, '/', true), 0o600)],
    ['gets another time', (volume) => volume.utimes(volume.lookup(MAIN, '/', true), 1)],
    [
      'is renamed and renamed back',
      (volume) => {
        volume.rename(MAIN, '/', '/app/x', '/');
        volume.rename('/app/x', '/', MAIN, '/');
      },
    ],
    [
      'is replaced by another file',
      (volume) => {
        writeText(volume, '/app/x', 'y');
        volume.rename('/app/x', '/', MAIN, '/');
      },
    ],
  ])('is a file of the workspace when it %s', (_title, change) => {
    const { volume, before, end } = setup();
    change(volume);
    expect(names(volume)).toEqual(['main.sh']);
    expect(volume.usage().files).toBe(before.files + 1);
    expect(end()).toEqual({ ...UNCHANGED, created: ['main.sh'] });
    expect(names(volume)).toEqual(['main.sh']);
  });

  it('can be removed, also if the quota is used up', () => {
    const { volume, before, end } = setup({ maxBytes: 3, maxFiles: 0 });
    expect(codeOf(() => writeText(volume, MAIN, 'new'))).toBe('ENOSPC');
    expect(readText(volume, MAIN)).toBe('echo hi');
    expect(names(volume)).toEqual([]);
    volume.unlink(MAIN, '/');
    expect(codeOf(() => volume.lookup(MAIN, '/', true))).toBe('ENOENT');
    expect(end()).toEqual(UNCHANGED);
    expect(volume.usage()).toEqual(before);
  });

  it('can be replaced by a link', () => {
    const { volume, end } = setup();
    volume.unlink(MAIN, '/');
    volume.symlink('x', MAIN, '/');
    end();
    expect(volume.readlink(MAIN, '/')).toBe('x');
  });

  it('stays readable and is charged while it is open without a name', () => {
    const { volume, before, end } = setup();
    const node = volume.lookup(MAIN, '/', true);
    volume.retain(node);
    volume.retain(node);
    expect(volume.usage()).toEqual(before);
    expect(end()).toEqual(UNCHANGED);
    expect(node).toMatchObject({ nlink: 0, openCount: 2, readonly: false });
    expect(volume.usage()).toEqual({ bytes: before.bytes + 7, files: before.files + 1 });
    volume.release(node);
    volume.release(node);
    expect(volume.usage()).toEqual(before);
  });

  it('is readable through a descriptor after it was removed', () => {
    const { volume, before } = setup();
    const node = volume.lookup(MAIN, '/', true);
    volume.retain(node);
    volume.unlink(MAIN, '/');
    const into = new Uint8Array(7);
    expect(volume.read(node, 0, into)).toBe(7);
    volume.release(node);
    expect(volume.usage()).toEqual(before);
  });

  it('has a name of its own for each call', () => {
    const { volume, end } = setup();
    end();
    expect(volume.addUnlisted('call-2.sh', bytes('2'), 0o644)).toBe('call-2.sh');
    expect(volume.exists(MAIN)).toBe(false);
    expect(readText(volume, '/app/call-2.sh')).toBe('2');
  });
});
