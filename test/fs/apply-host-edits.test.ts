import { describe, expect, it } from 'vitest';
import { applyHostEdit } from '../../src/fs/apply-host-edits.ts';
import { codeOf, dir, file, link, newVolume, readText } from './support.ts';

function filled() {
  const volume = newVolume();
  volume.fill('/app', [dir('d'), dir('d/e'), file('d/e/f', 'old'), file('a', 'A'), link('l', 'a')]);
  return volume;
}

describe('applyHostEdit', () => {
  it('replaces the contents of a file that the guest has open', () => {
    const volume = filled();
    const open = volume.lookup('/app/d/e/f', '/', true);
    volume.retain(open);
    applyHostEdit(volume, '/app', { removed: [], entries: [file('d/e/f', 'new text')] });
    expect(volume.lookup('/app/d/e/f', '/', true)).toBe(open);
    expect(readText(volume, '/app/d/e/f')).toBe('new text');
    expect(open.mtimeMs).toBe(5);
  });

  it('removes a directory with its contents, and ignores paths that are already gone', () => {
    const volume = filled();
    applyHostEdit(volume, '/app', { removed: ['d', 'd/e', 'd/e/f', 'gone'], entries: [] });
    expect(volume.entries('/app').map(({ path }) => path)).toEqual(['a', 'l']);
  });

  it('replaces entries of another kind, without following links', () => {
    const volume = filled();
    const entries = [dir('a'), file('a/in', 'in'), file('l', 'a file now')];
    applyHostEdit(volume, '/app', { removed: [], entries });
    expect(readText(volume, '/app/a/in')).toBe('in');
    expect(volume.lookup('/app/l', '/', false).kind).toBe('file');
    applyHostEdit(volume, '/app', { removed: [], entries: [link('l', 'a/in')] });
    expect(volume.readlink('/app/l', '/')).toBe('a/in');
  });

  it('makes the result the new baseline', () => {
    const volume = filled();
    applyHostEdit(volume, '/app', { removed: ['a'], entries: [file('new', 'n')] });
    expect(volume.changes('/app').entries).toEqual([]);
    expect(codeOf(() => volume.lookup('/app/a', '/', false))).toBe('ENOENT');
  });
});
