import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readOnlyTree } from '../../packages/core/src/fs/flat-entries.ts';
import { type FinalLink, walk } from '../../packages/core/src/fs/resolve-path.ts';
import { codeOf, dir, file, link } from './support.ts';

const root = readOnlyTree([
  dir('app'),
  dir('app/sub'),
  file('app/file'),
  link('app/up', '../..'),
  link('app/abs', '/app/sub'),
  link('app/dangling', 'sub/new'),
  link('app/loop', 'loop'),
  link('app/slashed', 'sub/'),
  link('app/tofile', 'file'),
]);

const path = (at: string, cwd = '/', last: FinalLink = 'follow') => walk(root, at, cwd, last).path;
const code = (at: string, last: FinalLink = 'follow') => codeOf(() => walk(root, at, '/', last));

describe('walk', () => {
  it('resolves dots, double slashes and relative paths to a canonical path', () => {
    expect(path('/app//./sub/../file')).toBe('/app/file');
    expect(path('sub', '/app')).toBe('/app/sub');
    expect(path('.', '/app')).toBe('/app');
    expect(path('sub/', '/app')).toBe('/app/sub');
    expect(path('///')).toBe('/');
  });

  it('does not leave the root, however many .. components there are', () => {
    expect(path('/../../..')).toBe('/');
    expect(path('../../../app/file', '/app/sub')).toBe('/app/file');
    expect(path('/app/up/app/up/app/file')).toBe('/app/file');
  });

  it('always follows links in the middle of a path, and a final link on request', () => {
    expect(path('/app/abs/../file')).toBe('/app/file');
    expect(path('/app/abs')).toBe('/app/sub');
    expect(path('/app/abs', '/', 'nofollow')).toBe('/app/abs');
    expect(path('/app/abs/', '/', 'nofollow')).toBe('/app/sub');
    expect(path('/app/abs/', '/', 'entry')).toBe('/app/abs');
    expect(path('/app/slashed')).toBe('/app/sub');
  });

  it('resolves a dangling link to the path of its missing target', () => {
    expect(walk(root, '/app/dangling', '/', 'follow')).toMatchObject({
      node: undefined,
      path: '/app/sub/new',
      name: 'new',
    });
  });

  it('reports loops, missing parents and files used as directories', () => {
    expect(code('/app/loop')).toBe('ELOOP');
    expect(code('/app/loop', 'nofollow')).toBe('ok');
    expect(code('/app/loop/x', 'nofollow')).toBe('ELOOP');
    expect(code('')).toBe('ENOENT');
    expect(code('/app/none/x')).toBe('ENOENT');
    expect(code('/app/none/..')).toBe('ENOENT');
    expect(code('/app/file/x')).toBe('ENOTDIR');
    expect(code('/app/file/..')).toBe('ENOTDIR');
    expect(code('/app/file/')).toBe('ENOTDIR');
    expect(code('/app/tofile/')).toBe('ENOTDIR');
    expect(code('/app/file/', 'entry')).toBe('ok');
  });

  it('allows exactly 40 link expansions', () => {
    const chain = (length: number) =>
      readOnlyTree([file('l0'), ...Array.from({ length }, (_, i) => link(`l${i + 1}`, `l${i}`))]);
    expect(codeOf(() => walk(chain(40), '/l40', '/', 'follow'))).toBe('ok');
    expect(codeOf(() => walk(chain(41), '/l41', '/', 'follow'))).toBe('ELOOP');
  });

  it('counts the length of names and paths in UTF-8 bytes', () => {
    expect(code(`/app/${'x'.repeat(255)}`)).toBe('ok');
    expect(code(`/app/${'x'.repeat(256)}`)).toBe('ENAMETOOLONG');
    expect(code(`/app/${'é'.repeat(127)}`)).toBe('ok');
    expect(code(`/app/${'é'.repeat(128)}`)).toBe('ENAMETOOLONG');
    expect(code(`${'/.'.repeat(2048)}`)).toBe('ok');
    expect(code(`${'/.'.repeat(2048)}/`)).toBe('ENAMETOOLONG');
  });

  it('marks paths that do not name a directory entry', () => {
    for (const at of ['/', '/app/..', '/app/sub/.'])
      expect(walk(root, at, '/', 'entry').endsInDots).toBe(true);
    expect(walk(root, '/app/sub/', '/', 'entry')).toMatchObject({
      endsInDots: false,
      trailingSlash: true,
      name: 'sub',
    });
    expect(walk(root, '/app/sub/.', '/', 'entry')).toMatchObject({ name: 'sub', path: '/app/sub' });
  });

  it('never ends outside the tree, for any path', () => {
    const part = fc.constantFrom('app', 'sub', 'file', 'up', 'abs', 'slashed', 'loop', '..', '.', '', 'none');
    fc.assert(
      fc.property(
        fc.array(part, { minLength: 1, maxLength: 12 }),
        fc.constantFrom('', '/'),
        (parts, lead) => {
          const at = lead + parts.join('/');
          if (codeOf(() => walk(root, at, '/app', 'follow')) !== 'ok') return;
          const found = walk(root, at, '/app', 'follow');
          expect(found.path).toMatch(/^(\/|(\/(?!\.\.?(\/|$))[^/]+)+)$/);
          // The canonical path resolves to the same node.
          expect(walk(root, found.path, '/', 'entry').node).toBe(found.node);
        },
      ),
    );
  });
});
