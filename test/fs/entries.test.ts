import { describe, expect, it } from 'vitest';
import { type Entry, putEntry } from '../../src/fs/entries.ts';
import { applyChanges, type TreeChanges } from '../../src/fs/tree-changes.ts';
import { bytes, codeOf, dir, file, link, newVolume, readText, recount, writeText } from './support.ts';

const START = [dir('d'), file('d/in', 'in'), file('a', 'A'), file('b', 'B'), link('l', 'a'), dir('e')];

function filled() {
  const volume = newVolume();
  volume.fill('/app', START);
  return volume;
}

/** What `act` changes, having checked that a mirror of START can follow. */
function changesOf(act: (volume: ReturnType<typeof newVolume>) => void): TreeChanges {
  const volume = filled();
  act(volume);
  const changes = volume.changes('/app');
  const mirror = new Map(START.map((entry) => [entry.path, entry]));
  applyChanges(mirror, changes);
  const byPath = (a: Entry, b: Entry) => (a.path < b.path ? -1 : 1);
  expect([...mirror.values()].sort(byPath)).toEqual(volume.entries('/app'));
  return changes;
}

const lists = ({ created, modified, deleted, removed }: TreeChanges) => ({
  created,
  modified,
  deleted,
  removed,
});
const none = { created: [], modified: [], deleted: [], removed: [] };

describe('changes', () => {
  it('are empty after fill and after reading', () => {
    const changes = changesOf((volume) => readText(volume, '/app/a'));
    expect(changes).toEqual({ ...none, entries: [] });
  });

  it('tell created, modified and deleted files', () => {
    const changes = changesOf((volume) => {
      writeText(volume, '/app/new', 'n');
      writeText(volume, '/app/a', 'A');
      volume.unlink('/app/b', '/');
    });
    expect(lists(changes)).toEqual({ created: ['new'], modified: ['a'], deleted: ['b'], removed: ['b'] });
    expect(changes.entries.map(({ path }) => path)).toEqual(['a', 'new']);
  });

  it('tell a file replaced by rename, or removed and made again, as modified', () => {
    const replaced = changesOf((volume) => {
      writeText(volume, '/app/tmp', 'x');
      volume.rename('/app/tmp', '/', '/app/a', '/');
      volume.unlink('/app/b', '/');
      writeText(volume, '/app/b', 'B');
    });
    expect(lists(replaced)).toEqual({ ...none, modified: ['a', 'b'] });
  });

  it('tell a moved directory as deleted and created files', () => {
    const moved = changesOf((volume) => volume.rename('/app/d', '/', '/app/e', '/'));
    expect(lists(moved)).toEqual({
      created: ['e/in'],
      modified: [],
      deleted: ['d/in'],
      removed: ['d', 'd/in'],
    });
  });

  it('forget what was moved and moved back', () => {
    const changes = changesOf((volume) => {
      volume.rename('/app/d/in', '/', '/tmp/in', '/');
      volume.rename('/tmp/in', '/', '/app/d/in', '/');
    });
    expect(lists(changes)).toEqual(none);
    expect(changes.entries.map(({ path }) => path)).toEqual(['d']);
  });

  it('tell touched time and mode only to the mirror', () => {
    const changes = changesOf((volume) => {
      volume.utimes(volume.lookup('/app/a', '/', true), 99);
      volume.chmod(volume.lookup('/app/b', '/', true), 0o600);
      volume.chmod(volume.lookup('/app/d', '/', true), 0o700);
    });
    expect(lists(changes)).toEqual(none);
    expect(changes.entries.map(({ path, mode, mtimeMs }) => [path, mode, mtimeMs])).toEqual([
      ['a', 0o644, 99],
      ['b', 0o600, 5],
      ['d', 0o700, 5],
    ]);
  });

  it('tell links and directories only to the mirror, and what takes the place of a file as deleted', () => {
    const changes = changesOf((volume) => {
      volume.unlink('/app/l', '/');
      volume.symlink('b', '/app/l', '/');
      volume.unlink('/app/a', '/');
      volume.mkdir('/app/a', '/', 0o755);
      volume.unlink('/app/d/in', '/');
      volume.rmdir('/app/d', '/');
      writeText(volume, '/app/d', 'file now');
    });
    expect(lists(changes)).toEqual({
      created: ['d'],
      modified: [],
      deleted: ['a', 'd/in'],
      removed: ['d/in'],
    });
    expect(changes.entries.map(({ path, kind }) => `${kind} ${path}`)).toEqual([
      'dir a',
      'file d',
      'symlink l',
    ]);
  });

  it('tell every name of a written hard-linked file', () => {
    const changes = changesOf((volume) => {
      volume.link('/app/a', '/', '/app/a2', '/', true);
      volume.write(volume.lookup('/app/a2', '/', true), 0, bytes('Z'));
    });
    expect(lists(changes)).toEqual({ ...none, created: ['a2'], modified: ['a'] });
  });

  it('do not mix the areas, and start anew with mark and fill', () => {
    const volume = filled();
    writeText(volume, '/tmp/t', 'x');
    expect(volume.changes('/app').entries).toEqual([]);
    expect(volume.changes('/tmp').created).toEqual(['t']);
    writeText(volume, '/app/a', 'x');
    volume.setBaseline('/app');
    expect(volume.changes('/app').entries).toEqual([]);
    volume.unlink('/app/b', '/');
    volume.fill('/app', []);
    expect(volume.changes('/app')).toEqual({ ...none, entries: [] });
  });

  it('are not altered by later writes', () => {
    const volume = filled();
    const node = writeText(volume, '/app/a', '12345678');
    const [entry] = volume.changes('/app').entries;
    volume.write(node, 0, bytes('XX'));
    volume.truncate(node, 1);
    expect(entry?.data).toEqual(bytes('12345678'));
  });
});

describe('fill', () => {
  it('gives the same entries back, sorted, whatever their order', () => {
    const volume = newVolume();
    volume.fill('/app', [...START].reverse());
    expect(volume.entries('/app').map(({ path }) => path)).toEqual(['a', 'b', 'd', 'd/in', 'e', 'l']);
    expect(volume.usage()).toEqual(recount(volume));
    expect(volume.entries('/app')).toEqual(filled().entries('/app'));
  });

  it('replaces what was there, and keeps an open file charged until it is released', () => {
    const volume = filled();
    const node = volume.lookup('/app/a', '/', true);
    volume.retain(node);
    volume.fill('/app', [file('x', '123')]);
    expect(volume.usage()).toEqual({ bytes: 4, files: 2 });
    volume.release(node);
    expect(volume.usage()).toEqual({ bytes: 3, files: 1 });
  });

  it('refuses hostile entries and changes nothing', () => {
    const paths = [
      '',
      '/',
      '/etc',
      'a/',
      'a//b',
      '.',
      '..',
      '../x',
      'd/..',
      'd/../x',
      'none/x',
      'd/./x',
      'x\0y',
      '\ud800',
    ];
    const long = ['x'.repeat(256), 'é'.repeat(128), `d/${'x'.repeat(256)}`];
    for (const path of [...paths, ...long]) {
      const volume = filled();
      expect([path, codeOf(() => volume.fill('/app', [dir('d'), file(path)]))]).toEqual([
        path,
        'invalid_path',
      ]);
      expect(volume.entries('/app')).toHaveLength(START.length);
    }
    const volume = filled();
    expect(codeOf(() => volume.fill('/app', [file('x'), file('x')]))).toBe('invalid_path');
    expect(codeOf(() => volume.fill('/app', [file('x'), file('x/y')]))).toBe('invalid_path');
    expect(codeOf(() => volume.fill('/app', [link('x', '/etc'), file('x/y')]))).toBe('invalid_path');
    const odd = [
      { ...file('x'), data: undefined },
      { ...file('x'), data: 'text' },
      { ...file('x'), mode: 0o10000 },
      { ...file('x'), mode: -1 },
      { ...file('x'), mtimeMs: Number.NaN },
      { ...file('x'), mtimeMs: Number.POSITIVE_INFINITY },
      { ...file('x'), kind: 'device' },
      link('x', ''),
      link('x', 'a\0b'),
      link('x', 'x'.repeat(4096)),
      { ...link('x', 'y'), target: 7 },
    ];
    for (const entry of odd)
      expect(codeOf(() => volume.fill('/app', [entry as Entry]))).toBe('invalid_argument');
    for (const entry of [null, 7, {}]) {
      expect(codeOf(() => volume.fill('/app', [entry as unknown as Entry]))).toBe('invalid_path');
    }
    expect(volume.entries('/app')).toHaveLength(START.length);
  });

  it('refuses paths that would be too long inside the area', () => {
    const deep: Entry[] = [];
    for (let path = 'x'.repeat(255); path.length <= 4096; path += `/${'x'.repeat(255)}`) deep.push(dir(path));
    expect(deep.at(-1)?.path).toHaveLength(4095);
    expect(codeOf(() => newVolume().fill('/app', deep))).toBe('invalid_path');
    expect(codeOf(() => newVolume().fill('/app', deep.slice(0, -1)))).toBe('ok');
  });

  it('enforces the quota in bytes and in files and leaves the area empty then', () => {
    const volume = newVolume({ maxBytes: 4, maxFiles: 2 });
    volume.fill('/app', [file('a', '12')]);
    expect(codeOf(() => volume.fill('/app', [file('a', '12345')]))).toBe('quota_exceeded');
    expect(volume.usage()).toEqual({ bytes: 0, files: 0 });
    expect(volume.changes('/app').removed).toEqual([]);
    expect(codeOf(() => volume.fill('/app', [dir('a'), dir('b'), dir('c')]))).toBe('quota_exceeded');
    writeText(volume, '/tmp/t', '123');
    expect(codeOf(() => volume.fill('/app', [file('a', '12')]))).toBe('quota_exceeded');
    expect(codeOf(() => volume.fill('/app', [file('a', '1')]))).toBe('ok');
  });

  it('takes Buffers as plain bytes', () => {
    const volume = newVolume();
    volume.fill('/app', [{ ...file('f'), data: Buffer.from('abc') }]);
    expect(volume.entries('/app')[0]?.data?.constructor).toBe(Uint8Array);
  });
});

describe('putEntry', () => {
  it('adds the parents a new entry needs', () => {
    const mirror = new Map<string, Entry>();
    putEntry(mirror, file('x/y/z', 'text'));
    putEntry(mirror, file('x/w'));
    expect([...mirror.keys()].sort()).toEqual(['x', 'x/w', 'x/y', 'x/y/z']);
    expect(codeOf(() => newVolume().fill('/app', mirror.values()))).toBe('ok');
  });
});
