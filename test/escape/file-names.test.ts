/** File names that are not valid text, are too long, or are special to JavaScript, a shell or another system. */
import { createSandbox } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import { attack, tryJavaScript, useCanary } from './attack.ts';

useCanary();

describe('a file name', () => {
  const ODD = [
    '__proto__',
    'constructor',
    'toString',
    'hasOwnProperty',
    'con',
    'a\nb',
    ' ',
    '-rf',
    '*',
    '\u202e',
    'a:b',
    '\\x',
    '☃'.repeat(80),
  ];

  // guarantee: system-calls
  // proves: Names of inherited properties and names that are special to shells are ordinary file names.
  test('can equal the name of an inherited property of JavaScript objects or be special to a shell', async () => {
    await using sandbox = await createSandbox({ runtime: 'python' });
    const result = await sandbox.execute(
      `import os, json
for name in json.loads(${JSON.stringify(JSON.stringify(ODD))}):
    with open(name, 'w') as f: f.write(ascii(name))
    assert os.fstat(os.open(name, os.O_RDONLY)).st_size == len(ascii(name))
    os.mkdir(name + '.d')
len(os.listdir('.'))`,
    );
    expect(result.metadata.result).toBe(ODD.length * 2);
    expect([...result.files_created].sort()).toEqual([...ODD].sort());
    expect(await sandbox.readFile('__proto__', 'utf8')).toBe("'__proto__'");
    expect(Object.keys(Object.prototype)).toEqual([]);
    const again = await sandbox.execute(`open('constructor').read() + open('__proto__').read()`);
    expect(again.metadata.result).toBe("'constructor''__proto__'");
  });

  test('has the same rules in JavaScript', async () => {
    const seen = await tryJavaScript([
      "os.mkdir('a\\0b')",
      "os.mkdir('x'.repeat(256))",
      "os.mkdir('\\ud800')",
      "os.mkdir('d/'.repeat(3000))",
      "os.mkdir('')",
      "os.mkdir('__proto__')",
      "os.mkdir('constructor')",
      "os.readdir('.')[0].sort()",
    ]);
    expect(Object.values(seen)).toEqual([
      '-22',
      '-36',
      '-84',
      '-36',
      '-2',
      '0',
      '0',
      '.,..,__proto__,constructor',
    ]);
  });

  // guarantee: untrusted-reports
  // proves: A result key with the name of a prototype property changes no prototype.
  test('of a prototype property is harmless as a key of a result', async () => {
    const result = await attack(
      'python',
      `{'__proto__': {'polluted': 1}, 'constructor': {'prototype': {'polluted': 1}}}`,
    );
    const value = result.metadata.result as Record<string, unknown>;
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(Object.hasOwn(value, '__proto__')).toBe(false);
    expect((Object.assign({}, value) as { polluted?: unknown }).polluted).toBeUndefined();
  });
});
