/** Files of Linux and of the host that other sandboxes have leaked. None of them exists in a guest. */
import { describe, expect, test } from 'vitest';
import { canaryFile, tryJavaScript, tryPython } from './attack.ts';

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

describe('host file system', () => {
  // guarantee: file-isolation
  test('is not visible to Python', async () => {
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

  // guarantee: file-isolation
  test('is not visible to JavaScript', async () => {
    const paths = [...PATHS, canaryFile(), process.execPath, process.cwd()];
    const seen = await tryJavaScript(paths.map((path) => `std.loadFile(${JSON.stringify(path)})`));
    expect(new Set(Object.values(seen))).toEqual(new Set(['null']));
    const more = await tryJavaScript(["os.readdir('/')[0].sort()", 'Object.keys(std.getenviron()).sort()']);
    expect(more["os.readdir('/')[0].sort()"]).toBe('.,..,app,data,lib,tmp');
    expect(more['Object.keys(std.getenviron()).sort()']).not.toContain('CANARY');
  });

  test('is replaced by /dev/null and the standard streams as the only devices', async () => {
    const seen = await tryPython([
      "open('/dev/null').read()",
      "open('/dev/stdin').read()",
      "open('/dev/null', 'w').write('x')",
      "open('/dev/zero').read(1)",
    ]);
    expect(Object.values(seen)).toEqual(["''", "''", '1', 'FileNotFoundError']);
  });
});
