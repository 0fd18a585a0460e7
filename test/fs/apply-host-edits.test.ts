import { describe, expect, it } from 'vitest';
import { applyHostEdit } from '../../packages/core/src/fs/apply-host-edits.ts';
import type { TreeEdit } from '../../packages/core/src/fs/flat-entries.ts';
import type { Node } from '../../packages/core/src/fs/nodes.ts';
import type { Volume } from '../../packages/core/src/fs/volume.ts';
import { applyEdit, codeOf, dir, file, link, newVolume, readText } from './support.ts';

function filled() {
  const volume = newVolume();
  volume.fill('/app', [dir('d'), dir('d/e'), file('d/e/f', 'old'), file('a', 'A'), link('l', 'a')]);
  return volume;
}

const apply = (volume: Volume, edit: TreeEdit, inUse: Node[] = []) =>
  applyHostEdit(volume, '/app', edit, new Set(inUse));

describe('applyHostEdit', () => {
  it('replaces the contents of a file that the guest has open', () => {
    const volume = filled();
    const open = volume.lookup('/app/d/e/f', '/', true);
    volume.retain(open);
    apply(volume, { removed: [], entries: [file('d/e/f', 'new text')] });
    expect(volume.lookup('/app/d/e/f', '/', true)).toBe(open);
    expect(readText(volume, '/app/d/e/f')).toBe('new text');
    expect(open.mtimeMs).toBe(5);
  });

  it('removes a directory with its contents, and ignores paths that are already gone', () => {
    const volume = filled();
    apply(volume, { removed: ['d', 'd/e', 'd/e/f', 'gone'], entries: [] });
    expect(volume.entries('/app').map(({ path }) => path)).toEqual(['a', 'l']);
  });

  it('replaces entries of another kind, without following links', () => {
    const volume = filled();
    const entries = [dir('a'), file('a/in', 'in'), file('l', 'a file now')];
    apply(volume, { removed: [], entries });
    expect(readText(volume, '/app/a/in')).toBe('in');
    expect(volume.lookup('/app/l', '/', false).kind).toBe('file');
    apply(volume, { removed: [], entries: [link('l', 'a/in')] });
    expect(volume.readlink('/app/l', '/')).toBe('a/in');
  });

  it('makes the result the new baseline', () => {
    const volume = filled();
    apply(volume, { removed: ['a'], entries: [file('new', 'n')] });
    expect(volume.changes('/app').entries).toEqual([]);
    expect(codeOf(() => volume.lookup('/app/a', '/', false))).toBe('ENOENT');
  });

  it.each<[string, TreeEdit]>([
    ['a new file in an old folder', { removed: [], entries: [file('d/new', 'n')] }],
    ['a modified file', { removed: [], entries: [{ ...file('a', 'B'), mode: 0o600, mtimeMs: 7 }] }],
    ['a modified folder', { removed: [], entries: [{ ...dir('d'), mode: 0o700, mtimeMs: 7 }, dir('d/x')] }],
    ['a modified link', { removed: [], entries: [{ ...link('l', 'd'), mtimeMs: 7 }] }],
    ['a removed file', { removed: ['d/e/f'], entries: [] }],
    ['a file in place of a folder', { removed: ['d/e', 'd/e/f'], entries: [file('d', 'D')] }],
    ['a folder in place of a link', { removed: [], entries: [dir('l'), file('l/x', 'x')] }],
  ])('gives the same tree and times as filling a new volume: %s', (_, edit) => {
    const volume = filled();
    const rootTime = volume.lookup('/app', '/', true).mtimeMs;
    const entries = new Map(volume.entries('/app').map((entry) => [entry.path, entry]));
    applyEdit(entries, edit);
    const expected = newVolume();
    expected.fill('/app', entries.values());
    expect(apply(volume, edit)).toBe(true);
    expect(volume.entries('/app')).toEqual(expected.entries('/app'));
    expect(volume.lookup('/app', '/', true).mtimeMs).toBe(rootTime);
  });

  it.each<TreeEdit>([
    { removed: ['d/e/f'], entries: [] },
    { removed: [], entries: [dir('d/e/f')] },
  ])('changes nothing if it would remove an open file', (edit) => {
    const volume = filled();
    const before = volume.entries('/app');
    const open = volume.lookup('/app/d/e/f', '/', true);
    volume.retain(open);
    expect(apply(volume, edit, [open])).toBe(false);
    expect(volume.entries('/app')).toEqual(before);
  });
});
