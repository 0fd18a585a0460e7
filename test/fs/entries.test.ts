import { describe, expect, it } from 'vitest';
import { type Entry, putEntry } from '../../packages/core/src/fs/flat-entries.ts';
import { codeOf, dir, file, link, newVolume, recount, writeText } from './support.ts';

const START = [dir('d'), file('d/in', 'in'), file('a', 'A'), file('b', 'B'), link('l', 'a'), dir('e')];

function filled() {
  const volume = newVolume();
  volume.fill('/app', START);
  return volume;
}

describe('Volume.fill', () => {
  it('returns the same entries sorted, whatever the input order', () => {
    const volume = newVolume();
    volume.fill('/app', [...START].reverse());
    expect(volume.entries('/app').map(({ path }) => path)).toEqual(['a', 'b', 'd', 'd/in', 'e', 'l']);
    expect(volume.usage()).toEqual(recount(volume));
    expect(volume.entries('/app')).toEqual(filled().entries('/app'));
  });

  it('replaces the old contents and charges an open file until it is released', () => {
    const volume = filled();
    const node = volume.lookup('/app/a', '/', true);
    volume.retain(node);
    volume.fill('/app', [file('x', '123')]);
    expect(volume.usage()).toEqual({ bytes: 4, files: 2 });
    volume.release(node);
    expect(volume.usage()).toEqual({ bytes: 3, files: 1 });
  });

  it('rejects malicious entries and changes nothing', () => {
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

  it('rejects paths that are too long below the writable root', () => {
    const deep: Entry[] = [];
    for (let path = 'x'.repeat(255); path.length <= 4096; path += `/${'x'.repeat(255)}`) deep.push(dir(path));
    expect(deep.at(-1)?.path).toHaveLength(4095);
    expect(codeOf(() => newVolume().fill('/app', deep))).toBe('invalid_path');
    expect(codeOf(() => newVolume().fill('/app', deep.slice(0, -1)))).toBe('ok');
  });

  it('enforces the quota in bytes and files, and leaves the writable root empty on failure', () => {
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

  it('stores the data of a Buffer as a plain Uint8Array', () => {
    const volume = newVolume();
    volume.fill('/app', [{ ...file('f'), data: Buffer.from('abc') }]);
    expect(volume.entries('/app')[0]?.data?.constructor).toBe(Uint8Array);
  });
});

describe('putEntry', () => {
  it('adds missing parent directories', () => {
    const mirror = new Map<string, Entry>();
    putEntry(mirror, file('x/y/z', 'text'));
    putEntry(mirror, file('x/w'));
    expect([...mirror.keys()].sort()).toEqual(['x', 'x/w', 'x/y', 'x/y/z']);
    expect(codeOf(() => newVolume().fill('/app', mirror.values()))).toBe('ok');
  });
});
