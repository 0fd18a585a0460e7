/** Hooks into the import system. They may change the program that installs them and nothing else. */
import { createSandbox } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import { attack } from './attack.ts';

describe('import hook', () => {
  test.each([
    [
      'a finder that claims every module',
      "import sys\nclass F:\n    def find_spec(self, *a): raise SystemError('mine')\nsys.meta_path.insert(0, F())\nimport nothing_there",
    ],
    [
      'a replaced __import__',
      "import builtins\nbuiltins.__import__ = lambda *a, **k: (_ for _ in ()).throw(SystemError('mine'))\nimport os",
    ],
    [
      'emptied module tables',
      "import sys\nsys.modules.clear(); sys.meta_path.clear(); sys.path_hooks.clear()\nraise SystemError('mine')",
    ],
    [
      'a replaced loader',
      "import importlib._bootstrap_external as b\ndef bad(*a): raise SystemError('mine')\nb.SourceFileLoader.exec_module = bad\nimport colorsys",
    ],
  ])('affects only one run: %s', async (_, code) => {
    const result = await attack('python', code);
    expect(result.exit_code).not.toBe(0);
    expect(result.metadata.trapped).toBe(false);
  });

  // guarantee: file-isolation
  test('cannot change the standard library', async () => {
    const result = await attack(
      'python',
      `import json, os
seen = []
for act in (lambda: open(json.__file__, 'w'), lambda: os.remove(json.__file__), lambda: os.rename(json.__file__, '/app/x'),
            lambda: os.chmod(json.__file__, 0o777), lambda: os.utime(json.__file__, (1, 1)), lambda: os.truncate(json.__file__, 0),
            lambda: os.mkdir('/lib/python3.14/evil'), lambda: os.symlink('/app', '/lib/python3.14/evil'),
            lambda: os.rename('/app', '/lib/app'), lambda: os.rmdir('/app'), lambda: os.rename('/tmp', '/app/t')):
    try: act(); seen.append('done')
    except OSError as error: seen.append(os.strerror(error.errno))
seen`,
    );
    const readOnly = 'Read-only file system';
    expect(result.metadata.result).toEqual(
      [
        ...Array(8).fill(readOnly),
        'Device or resource busy',
        'Device or resource busy',
        'Device or resource busy',
      ].map((text) => expect.stringMatching(new RegExp(`${text}|Resource busy`))),
    );
  });

  // guarantee: fresh-state
  test('in a workspace file affects only that sandbox', async () => {
    await using sandbox = await createSandbox({ runtime: 'python' });
    await sandbox.writeFile('colorsys.py', "raise SystemError('mine')");
    const own = await sandbox.execute('import colorsys');
    expect(own.metadata.error?.type).toBe('SystemError');
    await using other = await createSandbox({ runtime: 'python' });
    expect((await other.execute('import colorsys')).success).toBe(true);
  });

  test('of JavaScript cannot replace a built-in module', async () => {
    const result = await attack(
      'javascript',
      `
import * as std from 'std';
const write = (name, text) => { const f = std.open(name, 'w'); f.puts(text); f.close(); };
write('std.js', 'export const evil = 1;'); write('std', 'export const evil = 1;');
write('a.js', "import './b.js'; export const a = 1;"); write('b.js', "import './a.js'; export const b = 1;");
write('self.js', 'export { x } from "./self.js";');
const seen = [];
for (const name of ['std', './a.js', './self.js', './none.js', '../../../etc/passwd', '/lib/../app/b.js']) {
  try { seen.push(Object.keys(await import(name)).includes('evil') ? 'evil' : 'fine'); } catch (error) { seen.push(error.name); }
}
seen`,
    );
    expect(result.metadata.result).toEqual([
      'fine',
      'fine',
      'SyntaxError',
      'ReferenceError',
      'ReferenceError',
      'fine',
    ]);
  });
});
