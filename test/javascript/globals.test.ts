import { describe, expect, test } from 'vitest';
import { code, javascript } from '../support/sandbox.ts';

const value = async (program: string) => (await javascript(program)).metadata.result;

describe('console', () => {
  test('prints log, info and debug to stdout, and error, warn and trace to stderr', async () => {
    const { stdout, stderr } = await javascript(
      'console.log("l"); console.info("i"); console.debug("d"); console.error("e"); console.warn("w"); console.trace("t")',
    );
    expect(stdout).toBe('l\ni\nd\n');
    expect(stderr).toMatch(/^e\nw\nTrace: t\n {4}at <eval> \(\/app\/main.js:1:/);
  });

  test.each([
    ["'a', 1, true, null, undefined, 5n, -0", 'a 1 true null undefined 5n -0'],
    ["{ a: 1, 'b-c': 'x', f() {}, g: class A {} }", "{ a: 1, 'b-c': 'x', f: [Function: f], g: [class A] }"],
    ['[1, , 3, [4, [5, [6]]]]', '[ 1, <1 empty item>, 3, [ 4, [ 5, [Array] ] ] ]'],
    ["new Map([['k', { v: 1 }]]), new Set([1, 'a'])", "Map(1) { 'k' => { v: 1 } } Set(2) { 1, 'a' }"],
    ['new (class Foo extends Map {})(), Object.create(null)', 'Foo(0) [Map] {} [Object: null prototype] {}'],
    ['new Uint8Array([1, 2]), /x/g, Symbol("s")', 'Uint8Array(2) [ 1, 2 ] /x/g Symbol(s)'],
    ['{ get a() { return 1 }, set b(v) {} }', '{ a: [Getter], b: [Setter] }'],
    [
      "'%s=%d %i %f %j %o %O %c%%', 'x', '4', 5.9, '1.5', [1], [2], { a: 1 }, 'css', 'rest'",
      'x=4 5 1.5 [1] [ 2, [length]: 1 ] { a: 1 } % rest',
    ],
    ['"it\'s", ["it\'s"]', 'it\'s [ "it\'s" ]'],
    ['new Proxy({ a: 1 }, { ownKeys() { throw 1 } })', '{ a: 1 }'],
  ])('formats console.log(%s)', async (args, expected) => {
    expect((await javascript(`console.log(${args})`)).stdout).toBe(`${expected}\n`);
  });

  test('limits the output for a huge object', async () => {
    const { stdout, fuel_consumed } = await javascript(
      'const o = {}; for (let i = 0; i < 1e4; i++) o["k" + i] = Array(100).fill([o]); console.log(o, Array(1e6).fill(0))',
    );
    expect(stdout.length).toBeLessThan(200_000);
    expect(fuel_consumed).toBeLessThan(1_500_000_000);
  });

  test('supports tables, groups, counters and assertions', async () => {
    const { stdout, stderr } = await javascript(code`
      console.table([{ a: 1 }, { a: 2, b: 'x' }]);
      console.group('G'); console.log('in\\nside'); console.groupEnd(); console.count(); console.count('x'); console.count();
      console.assert(1 === 2, 'math'); console.assert(true, 'no'); console.dir({ a: { b: { c: { d: 1 } } } }, { depth: 0 });
    `);
    expect(stdout).toContain("│ 1       │ 2 │ 'x' │\n");
    expect(stdout).toContain('G\n  in\n  side\ndefault: 1\nx: 1\ndefault: 2\n{ a: [Object] }\n');
    expect(stderr).toBe('Assertion failed: math\n');
  });

  test('prints errors with stack, cause and own properties', async () => {
    const { stdout } = await javascript(
      'console.log(Object.assign(new Error("a", { cause: new TypeError("b") }), { code: "E" }))',
    );
    expect(stdout).toMatch(
      /^Error: a\n {4}at <eval> \([^\n]*\) \{\n {2}code: 'E',\n {2}\[cause\]: TypeError: b\n {6}at <eval> \([^\n]*\)\n\}\n$/,
    );
  });
});

describe('TextEncoder and TextDecoder', () => {
  test('encode lone surrogates as replacement characters', async () => {
    expect(await value("[...new TextEncoder().encode('aé€😀\\ud800b')]")).toEqual([
      ...new TextEncoder().encode('aé€😀\ud800b'),
    ]);
    expect(
      await value(
        "const u = new Uint8Array(4); const r = new TextEncoder().encodeInto('a€b€', u); [r, [...u]]",
      ),
    ).toEqual([{ read: 2, written: 4 }, [97, 226, 130, 172]]);
  });

  test.each([
    [[0xef, 0xbb, 0xbf, 0x61], {}],
    [[0xef, 0xbb, 0xbf, 0x61], { ignoreBOM: true }],
    [[0x61, 0xff, 0xc3, 0xe2, 0x82, 0xf0, 0x9f, 0x98, 0x62], {}],
    [[0xed, 0xa0, 0x80, 0xc0, 0xaf], {}],
  ])('decode %j like the Encoding Standard', async (bytes, options) => {
    const program = `new TextDecoder('utf-8', ${JSON.stringify(options)}).decode(new Uint8Array(${JSON.stringify(bytes)}))`;
    expect(await value(program)).toBe(new TextDecoder('utf-8', options).decode(new Uint8Array(bytes)));
  });

  test('reject invalid input if the decoder is fatal', async () => {
    const program = 'new TextDecoder("utf-8", { fatal: true }).decode(new Uint8Array([0xff]))';
    expect((await javascript(program)).metadata.error?.type).toBe('TypeError');
    expect((await javascript('new TextDecoder("klingon")')).metadata.error?.type).toBe('RangeError');
  });

  test('decode a stream in chunks', async () => {
    const program = code`
      const bytes = new TextEncoder().encode('\ufeff€😀é');
      const decoder = new TextDecoder();
      let text = '';
      for (const byte of bytes) text += decoder.decode(new Uint8Array([byte]), { stream: true });
      text + decoder.decode() + '|' + decoder.decode(new Uint8Array([0xe2]), { stream: true }) + decoder.decode()
    `;
    expect(await value(program)).toBe('€😀é|\ufffd');
  });

  test('decode UTF-16 and Latin-1', async () => {
    expect(
      await value(
        "new TextDecoder('utf-16le').decode(new Uint8Array([0xff, 0xfe, 0x61, 0, 0x3d, 0xd8, 0, 0xde]))",
      ),
    ).toBe('a😀');
    expect(await value("new TextDecoder('latin1').decode(new Uint8Array([0xe9, 0x80]))")).toBe('é€');
    expect(await value("[atob(btoa('abc')), btoa('\\xff')]")).toEqual(['abc', '/w==']);
  });
});

describe('other globals', () => {
  test('include URL and URLSearchParams of the WHATWG standard', async () => {
    const program = code`
      const u = new URL('../x y?a=1&b=%20#h', 'https://user:pw@exämple.com:8080/a/b/c');
      u.searchParams.append('c', 'é');
      [u.href, u.host, u.origin, [...u.searchParams], new URLSearchParams({ q: 'a b' }).toString(), URL.canParse('nope')]
    `;
    expect(await value(program)).toEqual([
      'https://user:pw@xn--exmple-cua.com:8080/a/x%20y?a=1&b=+&c=%C3%A9#h',
      'xn--exmple-cua.com:8080',
      'https://xn--exmple-cua.com:8080',
      [
        ['a', '1'],
        ['b', ' '],
        ['c', 'é'],
      ],
      'q=a+b',
      false,
    ]);
    expect((await javascript("new URL('nope')")).metadata.error?.type).toBe('TypeError');
  });

  test('include structuredClone, which copies cycles and rejects values that cannot be cloned', async () => {
    const program = code`
      const a = { d: new Date(5), m: new Map([[{ k: 1 }, new Set([1n])]]), r: /x/gi, e: new RangeError('no'), u: new Float32Array([1.5]), n: [1, , 3] };
      a.self = a;
      const b = structuredClone(a);
      const buffer = new ArrayBuffer(4); const moved = structuredClone(buffer, { transfer: [buffer] });
      let refused; try { structuredClone({ f() {} }) } catch (e) { refused = e.name }
      [b !== a, b.self === b, b.d.getTime(), [...b.m.keys()][0].k, b.m !== a.m, b.r.flags, b.e instanceof RangeError, b.e.message, b.u[0], 1 in b.n,
       buffer.byteLength, moved.byteLength, refused]
    `;
    expect(await value(program)).toEqual([
      true,
      true,
      5,
      1,
      true,
      'gi',
      true,
      'no',
      1.5,
      false,
      0,
      4,
      'DataCloneError',
    ]);
  });

  test('include crypto with random bytes and UUIDs', async () => {
    const program = code`
      const a = crypto.getRandomValues(new Uint8Array(64));
      let quota; try { crypto.getRandomValues(new Uint8Array(65537)) } catch (e) { quota = e.name }
      [new Set(a).size > 20, quota, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(crypto.randomUUID())]
    `;
    expect(await value(program)).toEqual([true, 'QuotaExceededError', true]);
  });

  test('do not expose the host calls', async () => {
    const names = (await value('Object.getOwnPropertyNames(globalThis)')) as string[];
    for (const name of ['__door', 'boot', 'sandbox:std', 'WebAssembly']) expect(names).not.toContain(name);
    expect(names).toEqual(
      expect.arrayContaining([
        'std',
        'os',
        'process',
        'require',
        'console',
        'setTimeout',
        'URL',
        'structuredClone',
        'performance',
      ]),
    );
  });
});
