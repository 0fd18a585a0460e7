import { describe, expect, test } from 'vitest';
import { code, javascript } from '../support/sandbox.ts';

const value = async (program: string, files = {}) => {
  const { metadata, stderr } = await javascript(program, { files });
  expect(stderr).toBe('');
  return metadata.result;
};

describe('os', () => {
  test('returns [result, errno] for the functions that QuickJS documents that way', async () => {
    expect(
      await value(code`
        os.mkdir('/app/d'); os.symlink('d', '/app/l');
        [os.getcwd(), os.realpath('l'), os.realpath('nope'), os.readlink('l'), os.readlink('d'), os.readdir('/app'),
         os.readdir('/nope'), os.stat('/nope'), os.lstat('l')[0].mode & os.S_IFMT, os.stat('l')[0].mode & os.S_IFMT]
      `),
    ).toEqual([
      ['/app', 0],
      ['/app/d', 0],
      ['', 2],
      ['d', 0],
      ['', 22],
      [['.', '..', 'd', 'l'], 0],
      [[], 2],
      [null, 2],
      0o120000,
      0o040000,
    ]);
  });

  test('returns 0, a number or a negated errno for the others', async () => {
    expect(
      await value(code`
        [os.mkdir('d'), os.mkdir('d'), os.rename('d', 'e'), os.remove('e'), os.remove('e'), os.chdir('/tmp'),
         os.chdir('/nope'), os.close(99), os.open('/nope'), os.remove('/lib/javascript/boot.js'), os.mkdir('/x')]
      `),
    ).toEqual([0, -17, 0, 0, -2, 0, -2, -9, -2, -30, -30]);
  });

  test('reads, writes and seeks in ArrayBuffers', async () => {
    expect(
      await value(code`
        const fd = os.open('f', os.O_RDWR | os.O_CREAT, 0o644);
        const bytes = new TextEncoder().encode('hello');
        const wrote = os.write(fd, bytes.buffer, 1, 4);
        const at = os.seek(fd, 0, std.SEEK_SET);
        const big = os.seek(fd, 0n, std.SEEK_CUR);
        const into = new ArrayBuffer(8);
        const read = os.read(fd, into, 2, 6);
        let refused; try { os.read(fd, into, 4, 5) } catch (e) { refused = e.name }
        os.close(fd);
        [wrote, at, String(big), read, [...new Uint8Array(into)], refused, os.stat('f')[0].size]
      `),
    ).toEqual([4, 0, '0', 4, [0, 0, 101, 108, 108, 111, 0, 0], 'RangeError', 4]);
  });

  test('supports pipes and duplicated descriptors', async () => {
    expect(
      await value(code`
        const [r, w] = os.pipe();
        const copy = os.dup(w);
        os.write(copy, new Uint8Array([1, 2, 3]).buffer);
        const into = new ArrayBuffer(8);
        const first = os.read(r, into), empty = os.read(r, into);
        os.close(w); os.close(copy);
        [first, empty, os.read(r, into), os.dup2(1, 9), os.isatty(1)]
      `),
    ).toEqual([3, -11, 0, 9, false]);
  });

  test('sets modification times and rejects unsupported functions', async () => {
    expect(
      await value(code`
        std.writeFile('f', 'x'); os.utimes('f', 1000, 2000);
        const refusals = [() => os.exec(['ls']), () => new os.Worker('x'), () => std.popen('ls', 'r'), () => std.urlGet('http://x'),
          () => std.sprintf('%d', 1), () => std.parseExtJSON('{}'), () => std.evalScript('1'), () => std.out.printf('x')];
        [os.stat('f')[0].mtime, refusals.map((f) => { try { f() } catch (e) { return e.message } })]
      `),
    ).toEqual([
      2000,
      [
        'os.exec is not available in the sandbox. Use child_process.spawnSync.',
        'os.Worker is not available in the sandbox. Call the function directly.',
        'std.popen is not available in the sandbox. Use child_process.execSync.',
        'std.urlGet is not available in the sandbox. Use fetch.',
        'std.sprintf is not available in the sandbox. Use a template literal with toFixed and padStart.',
        "std.parseExtJSON is not available in the sandbox. Use JSON.parse, or eval('(' + text + ')') for text that you trust.",
        'std.evalScript is not available in the sandbox. Use eval.',
        'FILE.printf is not available in the sandbox. Use puts and a template literal.',
      ],
    ]);
  });
});

describe('std', () => {
  test('opens, writes and reads files line by line', async () => {
    expect(
      await value(code`
        const f = std.open('a.txt', 'w'); f.puts('héllo', '\\n'); f.puts('007|ab  |1.50', '\\n'); f.puts('A'); f.close();
        const g = std.open('a.txt', 'r');
        const lines = [g.getline(), g.tell(), g.getline(), g.eof(), g.getline(), g.getline(), g.eof()];
        g.seek(1, std.SEEK_SET); const rest = g.readAsString(3); const at = String(g.tell()); g.close();
        [lines, rest, at, std.loadFile('a.txt'), std.loadFile('/nope'), std.loadFile('/app')]
      `),
    ).toEqual([
      ['héllo', 7, '007|ab  |1.50', false, 'A', null, true],
      'él',
      '4',
      'héllo\n007|ab  |1.50\nA',
      null,
      null,
    ]);
  });

  test('stores the errno of a file that cannot be opened', async () => {
    expect(
      await value(code`
        const e = {}; const f = std.open('/nope/x', 'r', e);
        let mode; try { std.open('x', 'q') } catch (error) { mode = error.name }
        [f, e.errno === std.Error.ENOENT, std.strerror(e.errno), mode, std.open('/lib/x', 'w')]
      `),
    ).toEqual([null, true, 'No such file or directory', 'TypeError', null]);
  });

  test('appends, updates in place and reads after writing', async () => {
    expect(
      await value(code`
        const f = std.open('f', 'w+'); f.puts('one two'); f.seek(4, std.SEEK_SET); f.puts('TWO'); f.seek(0); const all = f.readAsString();
        f.close(); const g = std.open('f', 'a'); g.puts('!'); g.close();
        [all, std.loadFile('f')]
      `),
    ).toEqual(['one TWO', 'one TWO!']);
  });

  test('reads standard input', async () => {
    const result = await javascript(
      'const lines = []; for (let l; (l = std.in.getline()) !== null; ) lines.push(l); lines',
      {
        stdin: 'a\nb\nc',
      },
    );
    expect(result.metadata.result).toEqual(['a', 'b', 'c']);
  });

  test.each(["'/dev/stdin'", '0'])('reads standard input with readFileSync(%s)', async (file) => {
    const result = await javascript(`require('fs').readFileSync(${file}, 'utf8')`, { stdin: 'ä\nb' });
    expect(result.metadata.result, result.stderr).toBe('ä\nb');
  });

  test('reads and writes devices', async () => {
    const code = `
const fs = require('fs');
const read = (path) => { const bytes = Buffer.alloc(3, 9), fd = fs.openSync(path, 'r+'); fs.readSync(fd, bytes); fs.closeSync(fd); return bytes.join(); };
let full; try { fs.writeFileSync('/dev/full', 'x'); } catch ({ code }) { full = code; }
fs.writeFileSync('/dev/null', 'x'); fs.writeFileSync('/dev/urandom', 'x');
[read('/dev/zero'), read('/dev/full'), read('/dev/urandom') !== read('/dev/random'), full, fs.statSync('/dev/zero').isCharacterDevice()]`;
    expect(await value(code)).toEqual(['0,0,0', '0,0,0', true, 'ENOSPC', true]);
  });

  test('reads and writes large files', async () => {
    expect(
      await value(
        "std.writeFile('big', 'é'.repeat(2_000_000)); const t = std.loadFile('big'); [t.length, t === 'é'.repeat(2_000_000), std.loadFile('big', { binary: true }).length]",
      ),
    ).toEqual([2_000_000, true, 4_000_000]);
  });

  test('supports environment variables', async () => {
    expect(
      await value(code`
        std.setenv('X', '1'); const had = std.getenv('X'); std.unsetenv('X');
        [had, std.getenv('X') === undefined, std.getenviron().HOME]
      `),
    ).toEqual(['1', true, '/app']);
  });
});
