/** Calls of C functions and callbacks from C through ctypes. */
import { describe, expect, test } from 'vitest';
import { attack, tryPython } from './attack.ts';

describe('ctypes call', () => {
  // guarantee: memory-isolation
  test('raises an exception', async () => {
    const imported = "__import__('ctypes')";
    const seen = await tryPython([
      `${imported}.string_at(1024, 8)`,
      `${imported}.pythonapi.Py_GetVersion()`,
      `${imported}.CDLL(None).system(b'id')`,
      `${imported}.CDLL('libc.so.6')`,
      `${imported}.CFUNCTYPE(None)(lambda: None)`,
      `${imported}.util.find_library('c')`,
    ]);
    const allowed = ['OSError', 'AttributeError', 'RuntimeError', 'None'];
    for (const [call, outcome] of Object.entries(seen)) {
      expect(allowed, `${call} gave ${outcome}`).toContain(outcome);
    }
  });

  test.each(['1', '0', '5000', '0xffffffff', '123456789'])(
    'stays in the guest when it targets address %s',
    async (address) => {
      const result = await attack(
        'python',
        `import ctypes\nprint('there', flush=True)\nctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_longlong)(${address})(7)`,
      );
      expect(result.stdout).toBe('there\n');
      expect(result.success).toBe(false);
    },
  );

  test('cannot load a library', async () => {
    const result = await attack(
      'python',
      `import ctypes, importlib.machinery, importlib.util
open('evil.so', 'wb').write(b'\\0asm\\1\\0\\0\\0' + bytes(100))
seen = []
for load in (lambda: ctypes.CDLL('/app/evil.so'),
             lambda: importlib.machinery.ExtensionFileLoader('evil', '/app/evil.so').create_module(
                 importlib.util.spec_from_file_location('evil', '/app/evil.so'))):
    try: load(); seen.append('loaded')
    except (OSError, ImportError) as error: seen.append(type(error).__name__)
seen`,
    );
    expect(result.metadata.result).toEqual(['OSError', 'ImportError']);
  });
});
