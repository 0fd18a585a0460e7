import { describe, expect, it } from 'vitest';
import type { FileNode } from '../../packages/core/src/fs/nodes.ts';
import {
  bytes,
  codeOf,
  file,
  link,
  newVolume,
  readText,
  recount,
  recountPaths,
  writeText,
} from './support.ts';

const create = { create: true, write: true };

describe('the quota', () => {
  it('counts bytes in both writable roots and rejects a write that exceeds the limit as a whole', () => {
    const volume = newVolume({ maxBytes: 10, maxFiles: 10 });
    writeText(volume, '/app/a', '123456');
    const node = writeText(volume, '/tmp/b', '1234');
    expect(codeOf(() => volume.write(node, 4, bytes('5')))).toBe('ENOSPC');
    expect(codeOf(() => volume.write(node, 0, bytes('wxyz')))).toBe('ok');
    expect(volume.usage()).toEqual({ bytes: 10, files: 2 });
    expect(readText(volume, '/tmp/b')).toBe('wxyz');
  });

  it('counts files, directories and links together', () => {
    const volume = newVolume({ maxBytes: 10, maxFiles: 3 });
    volume.open('/app/f', '/', create, 0o644);
    volume.mkdir('/app/d', '/', 0o755);
    volume.symlink('f', '/app/l', '/');
    expect(codeOf(() => volume.open('/app/g', '/', create, 0o644))).toBe('ENOSPC');
    expect(codeOf(() => volume.mkdir('/app/e', '/', 0o755))).toBe('ENOSPC');
    expect(codeOf(() => volume.symlink('f', '/app/m', '/'))).toBe('ENOSPC');
    volume.rmdir('/app/d', '/');
    expect(codeOf(() => volume.mkdir('/app/e', '/', 0o755))).toBe('ok');
  });

  it('reports once which limit refused the last change', () => {
    const volume = newVolume({ maxBytes: 10, maxFiles: 126 });
    const node = writeText(volume, '/app/a', '123456');
    expect(volume.takeExceededLimit()).toBeUndefined();
    expect(codeOf(() => volume.write(node, 6, bytes('78901')))).toBe('ENOSPC');
    expect(volume.takeExceededLimit()).toBe('bytes');
    expect(codeOf(() => volume.truncate(node, 11))).toBe('ENOSPC');
    expect([volume.takeExceededLimit(), volume.takeExceededLimit()]).toEqual(['bytes', undefined]);
    const parent = `/app/${'d'.repeat(250)}`;
    const makeDirectories = () => {
      for (const path of [parent, `${parent}/${'d'.repeat(250)}`]) volume.mkdir(path, '/', 0o755);
      for (let i = 0; i < 120; i++)
        volume.mkdir(`${parent}/${'d'.repeat(250)}/${String(i).padStart(100, 'd')}`, '/', 0o755);
    };
    expect(codeOf(makeDirectories)).toBe('ENOSPC');
    expect(volume.takeExceededLimit()).toBe('path_bytes');
    const few = newVolume({ maxBytes: 10, maxFiles: 1 });
    few.open('/app/f', '/', create, 0o644);
    expect(codeOf(() => few.open('/app/g', '/', create, 0o644))).toBe('ENOSPC');
    expect(few.takeExceededLimit()).toBe('files');
  });

  it('charges the whole size of extended files and allocates nothing for a write that does not fit', () => {
    const volume = newVolume({ maxBytes: 100, maxFiles: 10 });
    const { node } = volume.open('/app/f', '/', create, 0o644);
    for (const pos of [100, 2 ** 31, 2 ** 40, Number.MAX_SAFE_INTEGER - 1]) {
      expect(codeOf(() => volume.write(node, pos, bytes('x')))).toBe('ENOSPC');
      expect(codeOf(() => volume.truncate(node, pos + 1))).toBe('ENOSPC');
    }
    for (const pos of [-1, 0.5, Number.NaN, 2 ** 60]) {
      expect(codeOf(() => volume.write(node, pos, bytes('x')))).toBe('EINVAL');
      expect(codeOf(() => volume.truncate(node, pos))).toBe('EINVAL');
      expect(codeOf(() => volume.read(node, pos, new Uint8Array(1)))).toBe('EINVAL');
    }
    volume.write(node, 59, bytes('x'));
    expect(volume.usage().bytes).toBe(60);
    expect(codeOf(() => volume.truncate(volume.open('/app/g', '/', create, 0).node, 41))).toBe('ENOSPC');
    volume.truncate(node, 10);
    expect(volume.usage().bytes).toBe(10);
  });

  it('reads zeros instead of old bytes in gaps and after truncation', () => {
    const volume = newVolume();
    const node = writeText(volume, '/app/f', 'secret-secret-secret');
    volume.truncate(node, 12);
    volume.truncate(node, 14);
    volume.write(node, 16, bytes('x'));
    expect(readText(volume, '/app/f')).toBe('secret-secre\0\0\0\0x');
  });

  it('refunds files that are unlinked, replaced by rename or truncated on open', () => {
    const volume = newVolume();
    writeText(volume, '/app/a', 'aaaa');
    writeText(volume, '/app/b', 'bb');
    volume.rename('/app/a', '/', '/app/b', '/');
    expect(volume.usage()).toEqual({ bytes: 4, files: 1 });
    volume.open('/app/b', '/', { truncate: true, write: true }, 0);
    expect(volume.usage()).toEqual({ bytes: 0, files: 1 });
    volume.unlink('/app/b', '/');
    expect(volume.usage()).toEqual({ bytes: 0, files: 0 });
  });

  it('charges an unlinked file until its last descriptor is released', () => {
    const volume = newVolume({ maxBytes: 10, maxFiles: 2 });
    const node = writeText(volume, '/app/f', '12345678');
    volume.retain(node);
    volume.retain(node);
    volume.unlink('/app/f', '/');
    expect(volume.usage()).toEqual({ bytes: 8, files: 1 });
    volume.write(node, 8, bytes('9'));
    expect(codeOf(() => volume.write(node, 9, bytes('ab')))).toBe('ENOSPC');
    volume.release(node);
    expect(volume.usage()).toEqual({ bytes: 9, files: 1 });
    volume.release(node);
    volume.release(node);
    expect(volume.usage()).toEqual({ bytes: 0, files: 0 });
    expect(codeOf(() => volume.write(node, 0, bytes('x')))).toBe('EINVAL');
  });

  it('limits host memory: no buffer is longer than twice its file or longer than the quota', () => {
    const volume = newVolume({ maxBytes: 1000, maxFiles: 10 });
    const node = volume.open('/app/f', '/', create, 0o644).node as FileNode;
    for (let size = 0; size < 1000; size++) {
      volume.write(node, size, bytes('x'));
      expect(node.data.length).toBeLessThanOrEqual(Math.min(2 * node.size, 1000));
    }
    for (const size of [600, 500, 499, 3, 0]) {
      volume.truncate(node, size);
      expect(node.data.length).toBeLessThanOrEqual(Math.max(1, 2 * size));
    }
  });

  it('copies borrowed data before the first write and leaves the original unchanged', () => {
    const volume = newVolume();
    const shared = new Uint8Array(new SharedArrayBuffer(3));
    shared.set(bytes('abc'));
    volume.fill('/app', [
      { ...file('f'), data: shared },
      { ...file('g'), data: shared },
      { ...file('h'), data: shared },
    ]);
    volume.write(volume.lookup('/app/f', '/', true), 1, bytes('X'));
    volume.truncate(volume.lookup('/app/g', '/', true), 5);
    const cut = volume.lookup('/app/h', '/', true);
    volume.truncate(cut, 2);
    volume.truncate(cut, 3);
    expect(['f', 'g', 'h'].map((name) => readText(volume, `/app/${name}`))).toEqual([
      'aXc',
      'abc\0\0',
      'ab\0',
    ]);
    expect(shared).toEqual(Uint8Array.from(bytes('abc')));
    expect(volume.usage()).toEqual(recount(volume));
  });

  it('charges link targets', () => {
    const volume = newVolume({ maxBytes: 5, maxFiles: 5 });
    volume.fill('/app', [link('l', 'é')]);
    expect(volume.usage().bytes).toBe(2);
    expect(codeOf(() => volume.symlink('abcd', '/app/m', '/'))).toBe('ENOSPC');
  });

  // guarantee: workspace-limit
  it('limits the total length of all paths, including after renames', () => {
    const volume = newVolume({ maxBytes: 1000, maxFiles: 200 });
    const name = 'x'.repeat(250);
    let folder = '/app';
    for (let depth = 0; depth < 12; depth++) {
      folder += `/${name}`;
      volume.mkdir(folder, '/', 0o755);
    }
    const fillFolder = (path: string) => () => {
      for (let i = 0; ; i++) volume.open(`${path}/${i}`, '/', { create: true }, 0o644);
    };
    expect(codeOf(fillFolder(folder))).toBe('ENOSPC');
    expect(volume.pathBytes).toBe(recountPaths(volume));
    expect(volume.pathBytes).toBeGreaterThan(512 * 200 - 4096);
    expect(volume.pathBytes).toBeLessThanOrEqual(512 * 200);
    // Shorter paths make room, and longer ones are refused.
    volume.rename(`/app/${name}`, '/', '/app/y', '/');
    expect(volume.pathBytes).toBe(recountPaths(volume));
    expect(codeOf(fillFolder(folder.replace(name, 'y')))).toBe('ENOSPC');
    const before = volume.usage();
    expect(codeOf(() => volume.rename('/app/y', '/', `/app/${name.slice(1)}yy`, '/'))).toBe('ENOSPC');
    expect([volume.pathBytes, volume.usage()]).toEqual([recountPaths(volume), before]);
    volume.asHost(() => volume.mkdir('/tmp/host', '/', 0o755));
    volume.fill('/app', []);
    expect(volume.pathBytes).toBe('/tmp/host'.length);
    const long = Array.from({ length: 60 }, (_, i) => file(`${i}`.padEnd(250, 'x'), ''));
    volume.fill('/app', long);
    expect(volume.pathBytes).toBe(recountPaths(volume));
  });
});
