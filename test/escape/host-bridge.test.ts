/** Attempts to reach the host's JavaScript: through Pyodide's bridge from Python, and directly from QuickJS. */
import { describe, expect, test } from 'vitest';
import { attack, tryJavaScript } from './attack.ts';

describe('Pyodide bridge to JavaScript', () => {
  // guarantee: no-bridge
  test.each([
    'js',
    'pyodide_js',
    '_pyodide_core',
    '_pyodide',
    'pyodide',
    'pyodide.ffi',
    'pyodide.code',
    'pyodide.http',
    'pyodide_http',
    'micropip',
    '_pyodide._base',
    '_pyodide._core_docs',
  ])('is not importable: %s', async (name) => {
    const result = await attack('python', `import ${name}`);
    expect(result.metadata.error).toMatchObject({ type: 'ModuleNotFoundError', name: name.split('.')[0] });
  });

  // guarantee: no-bridge
  test('leaves no module, type or object in the interpreter', async () => {
    const result = await attack(
      'python',
      `import gc, sys
names = set(sys.modules) | set(sys.builtin_module_names)
kinds = {type(o).__name__ for o in gc.get_objects()} | {c.__name__ for c in object.__subclasses__()}
sorted(n for n in names | kinds if 'pyodide' in n.lower() or n == 'js' or n.startswith(('Js', 'PyProxy')))`,
    );
    expect(result.metadata.result).toEqual([]);
  });

  test('is only an ordinary module when the program creates one of that name', async () => {
    const result = await attack(
      'python',
      `import sys, types
js = types.ModuleType('js'); js.process = 'fake'; sys.modules['js'] = js
import js
js.process`,
    );
    expect(result.metadata.result).toBe('fake');
  });
});

describe('host JavaScript in a JavaScript guest', () => {
  // guarantee: no-host-objects
  test('has no global of the host', async () => {
    const names = [
      'process',
      'require',
      'module',
      'Buffer',
      'fetch',
      'WebAssembly',
      'Worker',
      'postMessage',
      'onmessage',
      'parentPort',
      'self',
      'window',
      'Deno',
      'Bun',
      'importScripts',
      '__door',
      'bjson',
    ];
    const seen = await tryJavaScript(names.map((name) => `typeof ${name}`));
    expect(seen).toEqual(Object.fromEntries(names.map((name) => [`typeof ${name}`, 'undefined'])));
  });

  test.each([
    'fs',
    'node:fs',
    'node:worker_threads',
    'child_process',
    'file:///etc/passwd',
    'https://example.com/x.js',
    'data:text/javascript,1',
  ])('cannot import %s', async (name) => {
    const seen = await tryJavaScript([`import(${JSON.stringify(name)})`]);
    expect(Object.values(seen)).toEqual(['ReferenceError']);
  });
});
