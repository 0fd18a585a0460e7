import { describe, expect, it } from 'vitest';
import type { Entry } from '../../packages/core/src/fs/flat-entries.ts';
import type { TreeChanges } from '../../packages/core/src/fs/tree-changes.ts';
import { applyEdit, bytes, dir, file, link, newVolume, readText, writeText } from './support.ts';

const START = [dir('d'), file('d/in', 'in'), file('a', 'A'), file('b', 'B'), link('l', 'a'), dir('e')];

function filled() {
  const volume = newVolume();
  volume.fill('/app', START);
  return volume;
}

/** The changes that `act` causes. Also checks that a mirror of START reaches the same state. */
function changesOf(act: (volume: ReturnType<typeof newVolume>) => void): TreeChanges {
  const volume = filled();
  act(volume);
  const changes = volume.changes('/app');
  const mirror = new Map(START.map((entry) => [entry.path, entry]));
  applyEdit(mirror, changes);
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

describe('Volume.changes', () => {
  it('is empty after a fill and a read', () => {
    const changes = changesOf((volume) => readText(volume, '/app/a'));
    expect(changes).toEqual({ ...none, entries: [] });
  });

  it('lists created, modified and deleted files', () => {
    const changes = changesOf((volume) => {
      writeText(volume, '/app/new', 'n');
      writeText(volume, '/app/a', 'A');
      volume.unlink('/app/b', '/');
    });
    expect(lists(changes)).toEqual({ created: ['new'], modified: ['a'], deleted: ['b'], removed: ['b'] });
    expect(changes.entries.map(({ path }) => path)).toEqual(['a', 'new']);
  });

  it('lists a file that was replaced by rename, or removed and created again, as modified', () => {
    const replaced = changesOf((volume) => {
      writeText(volume, '/app/tmp', 'x');
      volume.rename('/app/tmp', '/', '/app/a', '/');
      volume.unlink('/app/b', '/');
      writeText(volume, '/app/b', 'B');
    });
    expect(lists(replaced)).toEqual({ ...none, modified: ['a', 'b'] });
  });

  it('lists the files of a moved directory as deleted and created', () => {
    const moved = changesOf((volume) => volume.rename('/app/d', '/', '/app/e', '/'));
    expect(lists(moved)).toEqual({
      created: ['e/in'],
      modified: [],
      deleted: ['d/in'],
      removed: ['d', 'd/in'],
    });
  });

  it('does not list a file that was moved away and back', () => {
    const changes = changesOf((volume) => {
      volume.rename('/app/d/in', '/', '/tmp/in', '/');
      volume.rename('/tmp/in', '/', '/app/d/in', '/');
    });
    expect(lists(changes)).toEqual(none);
    expect(changes.entries.map(({ path }) => path)).toEqual(['d']);
  });

  it('reports a new mode or time only in the entries for the mirror', () => {
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

  it('reports links and directories only to the mirror, and a file that one of them replaced as deleted', () => {
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

  it('is separate for each writable root and is reset by commit and fill', () => {
    const volume = filled();
    writeText(volume, '/tmp/t', 'x');
    expect(volume.changes('/app').entries).toEqual([]);
    expect(volume.changes('/tmp').created).toEqual(['t']);
    writeText(volume, '/app/a', 'x');
    volume.commit('/app');
    expect(volume.changes('/app').entries).toEqual([]);
    volume.unlink('/app/b', '/');
    volume.fill('/app', []);
    expect(volume.changes('/app')).toEqual({ ...none, entries: [] });
  });

  it('is not affected by later writes', () => {
    const volume = filled();
    const node = writeText(volume, '/app/a', '12345678');
    const [entry] = volume.changes('/app').entries;
    volume.write(node, 0, bytes('XX'));
    volume.truncate(node, 1);
    expect(entry?.data).toEqual(bytes('12345678'));
  });
});
