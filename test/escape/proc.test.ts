/** Files of the host and of Linux that sandboxes have leaked: none of them is there. */
import { describe, expect, test } from 'vitest';
import { canaryFile, tryJavaScript, tryPython } from './witness.ts';

const PATHS = [
  '/proc',
  '/proc/self/environ',
  '/proc/self/mem',
  '/proc/1/root',
  '/sys',
  '/etc/passwd',
  '/etc/hosts',
  '/dev/mem',
  '/dev/tty',
  '/dev/fd/3',
  '/dev/random',
  '/root',
  '/home',
  '/usr/bin/node',
  '/var/run/docker.sock',
  '//etc/passwd',
  'C:\\Windows\\win.ini',
];

describe('the file system of the host', () => {
  test('is not there for Python', async () => {
    const paths = [...PATHS, canaryFile(), process.execPath, process.cwd()];
    const seen = await tryPython(paths.map((path) => `open(${JSON.stringify(path)}, 'rb').read(9)`));
    expect(new Set(Object.values(seen))).toEqual(new Set(['FileNotFoundError']));
    const root = await tryPython([
      "sorted(os.listdir('/'))",
      'sorted(os.environ)',
      'os.getuid()',
      'os.getpid()',
    ]);
    expect(root["sorted(os.listdir('/'))"]).toBe("['app', 'data', 'lib', 'tmp']");
    expect(root['sorted(os.environ)']).not.toContain('CANARY');
  });

  test('is not there for JavaScript', async () => {
    const paths = [...PATHS, canaryFile(), process.execPath, process.cwd()];
    const seen = await tryJavaScript(paths.map((path) => `std.loadFile(${JSON.stringify(path)})`));
    expect(new Set(Object.values(seen))).toEqual(new Set(['null']));
    const more = await tryJavaScript(["os.readdir('/')[0].sort()", 'Object.keys(std.getenviron()).sort()']);
    expect(more["os.readdir('/')[0].sort()"]).toBe('.,..,app,data,lib,tmp');
    expect(more['Object.keys(std.getenviron()).sort()']).not.toContain('CANARY');
  });

  test('has only the devices that a program without a machine needs', async () => {
    const seen = await tryPython([
      "open('/dev/null').read()",
      "open('/dev/stdin').read()",
      "open('/dev/null', 'w').write('x')",
      "open('/dev/zero').read(1)",
    ]);
    expect(Object.values(seen)).toEqual(["''", "''", '1', 'FileNotFoundError']);
  });
});
