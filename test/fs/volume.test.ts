import { describe, expect, it } from 'vitest';
import { readOnlyTree } from '../../packages/core/src/fs/flat-entries.ts';
import { bytes, codeOf, dir, file, link, newVolume, readText, writeText } from './support.ts';

describe('read-only layers', () => {
  const layer = readOnlyTree([dir('os'), file('os/path.py', 'code'), link('l', 'os')]);
  const setup = () => {
    const volume = newVolume();
    volume.mount('/lib/python', layer);
    writeText(volume, '/app/f', 'x');
    return volume;
  };

  it('can be read and listed in code unit order', () => {
    const volume = setup();
    expect(readText(volume, '/lib/python/l/path.py')).toBe('code');
    expect(volume.readdir(volume.lookup('/lib/python', '/', true)).map(({ name }) => name)).toEqual([
      'l',
      'os',
    ]);
    expect(volume.readdir(volume.root).map(({ name }) => name)).toEqual(['app', 'lib', 'tmp']);
  });

  it('reject every modification with EROFS', () => {
    const volume = setup();
    const at = '/lib/python/os/path.py';
    const node = volume.lookup(at, '/', true);
    const operations = {
      create: () => volume.open('/lib/new', '/', { create: true, write: true }, 0o644),
      createAtRoot: () => volume.open('/new', '/', { create: true, write: true }, 0o644),
      openForWrite: () => volume.open(at, '/', { write: true }, 0),
      openTruncating: () => volume.open(at, '/', { truncate: true }, 0),
      mkdir: () => volume.mkdir('/lib/python/d', '/', 0o755),
      symlink: () => volume.symlink('x', '/lib/python/s', '/'),
      unlink: () => volume.unlink(at, '/'),
      rmdir: () => volume.rmdir('/lib/python/os', '/'),
      renameOut: () => volume.rename(at, '/', '/app/stolen', '/'),
      renameInto: () => volume.rename('/app/f', '/', at, '/'),
      chmod: () => volume.chmod(node, 0),
      utimes: () => volume.utimes(node, 1),
      truncate: () => volume.truncate(node, 0),
      write: () => volume.write(node, 0, bytes('x')),
    };
    for (const [name, operation] of Object.entries(operations))
      expect([name, codeOf(operation)]).toEqual([name, 'EROFS']);
    expect(readText(volume, at)).toBe('code');
    expect(volume.usage()).toEqual({ bytes: 1, files: 1 });
  });

  it('do not allow the removal of mount points and writable roots', () => {
    const volume = setup();
    for (const at of ['/', '/app', '/tmp', '/lib/python'])
      expect(codeOf(() => volume.rmdir(at, '/'))).toBe('EBUSY');
    expect(codeOf(() => volume.rename('/app', '/', '/tmp/app', '/'))).toBe('EBUSY');
    volume.mkdir('/app/d', '/', 0o755);
    expect(codeOf(() => volume.rename('/app/d', '/', '/tmp', '/'))).toBe('EBUSY');
  });

  it('do not change when their nodes are retained and released', () => {
    const volume = setup();
    const node = volume.lookup('/lib/python/os/path.py', '/', true);
    volume.retain(node);
    expect(node.openCount).toBe(0);
    volume.release(node);
    expect(node.nlink).toBe(1);
  });
});

describe('mount', () => {
  it('merges directories without modifying the shared layers', () => {
    const a = readOnlyTree([dir('ns'), file('ns/a.py', 'a'), file('one')], 1);
    const b = readOnlyTree([dir('ns'), file('ns/b.py', 'b'), file('two')], 2);
    const volume = newVolume();
    volume.mount('/lib/site', a);
    volume.mount('/lib/site', b);
    volume.mount('/lib/site/ns/deep', readOnlyTree([file('c.py', 'c')], 3));
    for (const name of ['a', 'b', 'deep/c'])
      expect(readText(volume, `/lib/site/ns/${name}.py`)).toBe(name.at(-1));
    expect([...a.entries.keys()]).toEqual(['ns', 'one']);
    expect(a.entries.get('ns')).toMatchObject({ entries: new Map([['a.py', expect.anything()]]) });
  });

  it('rejects existing names, writable roots, paths that are not canonical and writable subtrees', () => {
    const layer = readOnlyTree([file('f')]);
    const volume = newVolume();
    volume.mount('/lib', layer);
    expect(codeOf(() => volume.mount('/lib', layer))).toBe('EEXIST');
    expect(codeOf(() => volume.mount('/lib/f/x', layer))).toBe('EEXIST');
    for (const at of ['/', '', 'lib2', '/lib2/', '/a/../b', '/app', '/app/data', '/tmp/x']) {
      expect([at, codeOf(() => volume.mount(at, layer))]).toEqual([at, 'EINVAL']);
    }
    expect(codeOf(() => volume.mount('/x', volume.lookup('/app', '/', true)))).toBe('EINVAL');
  });

  it('gives every node of a volume a unique inode number', () => {
    const volume = newVolume();
    volume.mount('/a', readOnlyTree([file('f')], 1));
    volume.mount('/b', readOnlyTree([file('f')], 2));
    writeText(volume, '/app/f', '');
    const inos = ['/', '/app', '/app/f', '/a', '/a/f', '/b', '/b/f'].map(
      (at) => volume.lookup(at, '/', true).ino,
    );
    expect(new Set(inos).size).toBe(inos.length);
  });
});

describe('open', () => {
  it('follows the rules of open(2)', () => {
    const volume = newVolume();
    volume.fill('/app', [
      dir('d'),
      file('f', 'text'),
      link('to-f', 'f'),
      link('dangling', 'born'),
      link('to-d', 'd'),
    ]);
    const open = (path: string, flags: Parameters<typeof volume.open>[2]) =>
      codeOf(() => volume.open(path, '/app', flags, 0o644));
    expect(open('none', {})).toBe('ENOENT');
    expect(open('f', { create: true, exclusive: true })).toBe('EEXIST');
    expect(open('dangling', { create: true, exclusive: true })).toBe('EEXIST');
    expect(open('to-f', { nofollow: true })).toBe('ELOOP');
    expect(open('to-d', { nofollow: true, directory: true })).toBe('ENOTDIR');
    expect(open('f', { directory: true })).toBe('ENOTDIR');
    expect(open('d', { directory: true })).toBe('ok');
    expect(open('d', { write: true })).toBe('EISDIR');
    expect(open('d', { create: true })).toBe('EISDIR');
    expect(open('new/', { create: true })).toBe('EISDIR');
    expect(open('f/', {})).toBe('ENOTDIR');
    expect(open('new\0', { create: true })).toBe('EINVAL');
    expect(open('\ud800', { create: true })).toBe('EINVAL');
    expect(open('dangling', { create: true, write: true })).toBe('ok');
    expect(volume.lookup('/app/born', '/', false).kind).toBe('file');
    expect(open('f', { truncate: true, write: true })).toBe('ok');
    expect(readText(volume, '/app/f')).toBe('');
  });
});

describe('directory entries', () => {
  it('are removed only by the operation for their kind', () => {
    const volume = newVolume();
    volume.fill('/app', [dir('d'), file('d/f'), file('f'), link('l', 'd')]);
    expect(codeOf(() => volume.unlink('d', '/app'))).toBe('EISDIR');
    expect(codeOf(() => volume.unlink('f/', '/app'))).toBe('ENOTDIR');
    expect(codeOf(() => volume.rmdir('f', '/app'))).toBe('ENOTDIR');
    expect(codeOf(() => volume.rmdir('l/', '/app'))).toBe('ENOTDIR');
    expect(codeOf(() => volume.rmdir('d', '/app'))).toBe('ENOTEMPTY');
    expect(codeOf(() => volume.rmdir('d/.', '/app'))).toBe('EINVAL');
    expect(codeOf(() => volume.unlink('none', '/app'))).toBe('ENOENT');
    volume.unlink('l', '/app');
    volume.unlink('d/f', '/app');
    volume.rmdir('d/', '/app');
    expect(volume.entries('/app').map(({ path }) => path)).toEqual(['f']);
  });

  it('are created once; only directories accept a trailing slash', () => {
    const volume = newVolume();
    volume.mkdir('d/', '/app', 0o755);
    expect(codeOf(() => volume.mkdir('d', '/app', 0o755))).toBe('EEXIST');
    expect(codeOf(() => volume.mkdir('/lib/..', '/', 0o755))).toBe('ENOENT');
    expect(codeOf(() => volume.mkdir('/', '/', 0o755))).toBe('EEXIST');
    expect(codeOf(() => volume.symlink('x', 's/', '/app'))).toBe('ENOENT');
    expect(codeOf(() => volume.symlink('', 's', '/app'))).toBe('ENOENT');
    expect(codeOf(() => volume.symlink('x'.repeat(4096), 's', '/app'))).toBe('ENAMETOOLONG');
    volume.symlink('x', 's', '/app');
    expect(volume.readlink('s', '/app')).toBe('x');
    expect(codeOf(() => volume.readlink('d', '/app'))).toBe('EINVAL');
  });

  it('cannot exceed the maximum path length, by nesting or by moving', () => {
    const volume = newVolume({ maxBytes: 1000, maxFiles: 10_000 });
    const name = 'x'.repeat(200);
    let cwd = '/app';
    while (codeOf(() => volume.mkdir(name, cwd, 0o755)) === 'ok') cwd += `/${name}`;
    expect(codeOf(() => volume.mkdir(name, cwd, 0o755))).toBe('ENAMETOOLONG');
    volume.mkdir('/tmp/deeper', '/', 0o755);
    expect(codeOf(() => volume.rename(`/app/${name}`, '/', `/tmp/deeper/${name}`, '/'))).toBe('ok');
    volume.mkdir(`/tmp/${name}`, '/', 0o755);
    expect(codeOf(() => volume.rename(`/tmp/deeper/${name}`, '/', `/tmp/${name}/${name}`, '/'))).toBe(
      'ENAMETOOLONG',
    );
  });
});

describe('rename', () => {
  const setup = () => {
    const volume = newVolume();
    const entries = [
      dir('d'),
      file('d/f', 'inner'),
      dir('empty'),
      file('a', 'A'),
      file('b', 'B'),
      link('l', 'a'),
    ];
    volume.fill('/app', entries);
    return volume;
  };
  const code = (from: string, to: string) => codeOf(() => setup().rename(from, '/app', to, '/app'));

  it('replaces a file with a file and an empty directory with a directory', () => {
    const volume = setup();
    volume.rename('a', '/app', 'b', '/app');
    expect(readText(volume, '/app/b')).toBe('A');
    volume.rename('d', '/app', 'empty/', '/app');
    expect(readText(volume, '/app/empty/f')).toBe('inner');
    expect(volume.entries('/app').map(({ path }) => path)).toEqual(['b', 'empty', 'empty/f', 'l']);
  });

  it('fails with the error codes of rename(2)', () => {
    expect(code('none', 'x')).toBe('ENOENT');
    expect(code('a', 'd')).toBe('EISDIR');
    expect(code('d', 'a')).toBe('ENOTDIR');
    expect(code('empty', 'd')).toBe('ENOTEMPTY');
    expect(code('d', 'd/sub')).toBe('EINVAL');
    expect(code('d', 'none/x')).toBe('ENOENT');
    expect(code('a', 'x/')).toBe('ENOTDIR');
    expect(code('l/', 'x')).toBe('ENOTDIR');
    expect(code('d/.', 'x')).toBe('EBUSY');
    expect(code('a', '..')).toBe('EBUSY');
    expect(code('a', 'x'.repeat(256))).toBe('ENAMETOOLONG');
    expect(code('d', 'dd')).toBe('ok');
  });

  it('moves a link itself and ignores a rename to the same path', () => {
    const volume = setup();
    volume.rename('l', '/app', '/tmp/l', '/app');
    expect(volume.readlink('/tmp/l', '/')).toBe('a');
    volume.rename('a', '/app', 'a', '/app');
    expect(readText(volume, '/app/a')).toBe('A');
  });
});
