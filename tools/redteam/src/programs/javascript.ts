/** What the red team runs in JavaScript. */
import type { AttackPrograms, LimitProgram, RecursiveProgram } from './attack-programs.ts';

/** Work that the host does for a program: each byte, or each call, has to be charged and limited. */
const hostWork: readonly LimitProgram[] = [
  ...['big5', 'euc-jp', 'euc-kr', 'gbk', 'iso-2022-jp', 'shift_jis'].map(
    (encoding): LimitProgram => ({
      name: `decode-${encoding}`,
      breaks: ['fuel', 'time'],
      sandboxOnly: true,
      code: `const bytes = new Uint8Array(1 << 20).map((_, i) => [0x8f, 0xa1, 0x81, 0xff, 0x0a][i % 5]);
const decoder = new TextDecoder('${encoding}');
for (;;) decoder.decode(bytes, { stream: Math.random() < 0.5 });`,
    }),
  ),
  {
    name: 'decode-invalid-utf-8',
    breaks: ['fuel', 'time'],
    sandboxOnly: true,
    code: 'const bytes = new Uint8Array(1 << 22).fill(0xff); for (;;) new TextDecoder().decode(bytes);',
  },
  {
    name: 'hmac-with-long-key',
    breaks: ['fuel', 'time'],
    sandboxOnly: true,
    code: "const { createHmac } = require('crypto'); const key = Buffer.alloc(1 << 23); for (;;) createHmac('sha256', key).digest();",
  },
  {
    name: 'deflate-slowest-level',
    breaks: ['fuel', 'time'],
    sandboxOnly: true,
    code: "const { deflateSync } = require('zlib'); const data = Buffer.alloc(1 << 18).map((_, i) => (i % 258 < 256 ? 0 : i * 31)); for (;;) deflateSync(data, { level: 9 });",
  },
  {
    name: 'inflate-bomb',
    breaks: ['fuel', 'time'],
    sandboxOnly: true,
    code: "const { deflateSync, inflateSync } = require('zlib'); const bomb = deflateSync(Buffer.alloc(1 << 18), { level: 1 }); for (;;) inflateSync(bomb);",
  },
  {
    name: 'pbkdf2-forever',
    breaks: ['fuel', 'time'],
    sandboxOnly: true,
    code: "const { pbkdf2Sync } = require('crypto'); for (;;) pbkdf2Sync('p', 's', 30_000, 32, 'sha256');",
  },
  {
    name: 'scrypt-forever',
    breaks: ['fuel', 'time'],
    sandboxOnly: true,
    code: "const { scryptSync } = require('crypto'); for (;;) scryptSync('p', 's', 32, { N: 4096 });",
  },
  {
    name: 'random-bytes-forever',
    breaks: ['fuel', 'time'],
    sandboxOnly: true,
    code: 'const bytes = new Uint8Array(65_536); for (;;) crypto.getRandomValues(bytes);',
  },
];

const limitPrograms: readonly LimitProgram[] = [
  ...hostWork,
  { name: 'while-true', breaks: ['fuel', 'time'], code: 'while (true) {}' },
  { name: 'count-up', breaks: ['fuel', 'time'], code: 'let n = 0; for (;;) n++;' },
  { name: 'catch-everything', breaks: ['fuel', 'time'], code: 'for (;;) { try { for (;;) {} } catch {} }' },
  {
    name: 'loop-in-finally',
    breaks: ['fuel', 'time'],
    code: 'for (;;) { try { for (;;) {} } finally { for (;;) {} } }',
  },
  {
    name: 'loop-in-getter',
    breaks: ['fuel', 'time'],
    code: '({ get x() { for (;;) { try { for (;;) {} } catch {} } } }).x',
  },
  {
    name: 'loop-in-proxy',
    breaks: ['fuel', 'time'],
    code: 'const p = new Proxy({}, { get() { for (;;) { try { for (;;) {} } catch {} } } }); p.x;',
  },
  {
    name: 'loop-in-to-primitive',
    breaks: ['fuel', 'time'],
    code: "const o = { [Symbol.toPrimitive]() { for (;;) {} } }; o + '';",
  },
  {
    name: 'loop-in-to-string',
    breaks: ['fuel', 'time'],
    code: "const o = { toString() { for (;;) {} } }; '' + o;",
  },
  {
    name: 'loop-in-value-of',
    breaks: ['fuel', 'time'],
    code: 'const o = { valueOf() { for (;;) {} } }; o * 2;',
  },
  {
    name: 'promise-jobs',
    reference: 'vm2: timeout does not cover promise jobs',
    breaks: ['fuel', 'time'],
    code: 'const again = () => { Promise.resolve().then(again); }; again();',
  },
  {
    name: 'async-loop',
    breaks: ['fuel', 'time'],
    code: '(async () => { for (;;) { try { await null; } catch {} } })();',
  },
  {
    name: 'generator-return',
    breaks: ['fuel', 'time'],
    code: 'function* g() { try { yield 1; } finally { for (;;) {} } } const it = g(); it.next(); it.return();',
  },
  {
    name: 'iterator-without-end',
    breaks: ['fuel', 'time'],
    code: 'const it = { [Symbol.iterator]() { return { next: () => ({ done: false }) }; } }; for (const _ of it) {}',
  },
  {
    name: 'loop-in-message-of-error',
    breaks: ['fuel', 'time'],
    code: 'const e = new Error(); Object.defineProperty(e, "message", { get() { for (;;) {} } }); throw e;',
  },
  {
    name: 'array-to-text',
    reference: 'quickjs-emscripten: ran for 15 s despite a limit of 1 s',
    breaks: ['fuel', 'time'],
    code: "new Array(2e8) + ''",
  },
  { name: 'array-join', breaks: ['fuel', 'time'], code: "new Array(4e8).join('')" },
  {
    name: 'array-fill',
    breaks: ['fuel', 'time'],
    code: 'const a = []; a.length = 4294967295; a.fill.call({ length: 2 ** 53 - 1 }, 0);',
  },
  {
    name: 'index-of',
    breaks: ['fuel', 'time'],
    code: 'Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)',
  },
  {
    name: 'reverse',
    breaks: ['fuel', 'time'],
    code: 'Array.prototype.reverse.call({ length: 2 ** 53 - 1 })',
  },
  { name: 'catastrophic-regex', breaks: ['fuel', 'time'], code: "/^(a+)+$/.test('a'.repeat(60) + 'b')" },
  { name: 'power', breaks: ['fuel', 'time'], code: 'for (;;) 3n ** 600000n;' },
  { name: 'bigint-to-text', breaks: ['fuel', 'time'], code: 'for (;;) (3n ** 600000n).toString();' },
  {
    name: 'sort-with-slow-comparison',
    breaks: ['fuel', 'time'],
    code: '[2, 1].sort(() => { for (;;) {} })',
  },
  {
    name: 'sort-large',
    breaks: ['fuel', 'time'],
    code: 'const x = Array.from({ length: 300000 }, (_, i) => (i * 7919) % 300007); for (;;) [...x].sort((a, b) => a - b);',
  },
  {
    name: 'json-round-trip',
    breaks: ['fuel', 'time'],
    code: 'const x = Array.from({ length: 50000 }, (_, i) => [i, String(i)]); for (;;) JSON.parse(JSON.stringify(x));',
  },
  {
    name: 'text-search',
    breaks: ['fuel', 'time'],
    code: "const s = 'ab'.repeat(500000); for (;;) s.replaceAll('a', 'bb').lastIndexOf('x');",
  },
  {
    name: 'evaluate-source',
    breaks: ['fuel', 'time'],
    code: "const s = 'x=[' + '1+2*3,'.repeat(100000) + ']'; for (;;) new Function(s);",
  },
  {
    name: 'spread-of-arguments',
    breaks: ['fuel', 'time'],
    code: 'const x = new Array(60000).fill(1); for (;;) Math.max(...x);',
  },
  // Waiting.
  {
    name: 'sleep',
    breaks: ['time'],
    sandboxOnly: true,
    code: "import * as os from 'os'; os.sleep(3600_000);",
  },
  { name: 'timer', breaks: ['time'], sandboxOnly: true, code: 'setTimeout(() => {}, 3600_000);' },
  { name: 'interval', breaks: ['time'], sandboxOnly: true, code: 'setInterval(() => {}, 1);' },
  // Memory.
  {
    name: 'text-doubling',
    breaks: ['memory'],
    code: "let s = 'a'; const keep = []; for (;;) { s += s; keep.push(s.toUpperCase()); }",
  },
  {
    name: 'array-growing',
    breaks: ['memory'],
    code: 'const a = []; for (;;) a.push(new Uint8Array(100000).fill(1));',
  },
  { name: 'array-buffer', breaks: ['memory'], code: 'new Uint8Array(1000000000).fill(1)' },
  {
    name: 'repeat',
    breaks: ['memory'],
    code: "const a = []; for (;;) a.push('x'.repeat(5000000) + a.length);",
  },
  {
    name: 'map-growing',
    breaks: ['memory'],
    code: 'const m = new Map(); for (let i = 0; ; i++) m.set(i, { i });',
  },
  {
    name: 'catch-memory-error',
    breaks: ['fuel', 'time'],
    code: 'const a = []; for (;;) { try { a.push(new Uint8Array(10000000).fill(1)); } catch {} }',
  },
  {
    name: 'closures',
    breaks: ['memory'],
    code: 'let f = null; for (;;) { const g = f; const x = new Array(100).fill(0); f = () => [g, x]; }',
  },
  {
    name: 'resizable-buffer',
    breaks: ['memory'],
    code: 'const a = []; for (;;) { const b = new ArrayBuffer(8, { maxByteLength: 20000000 }); b.resize(20000000); a.push(b, new Uint8Array(20000000)); }',
  },
  {
    name: 'error-with-huge-message',
    breaks: ['memory'],
    code: "const s = 'a'.repeat(20000000); const a = []; for (;;) a.push(new Error(s + a.length));",
  },
  // Output.
  { name: 'print-forever', breaks: ['output', 'fuel', 'time'], code: "for (;;) console.log('spam');" },
  { name: 'one-huge-write', breaks: ['output'], ends: true, code: "console.log('x'.repeat(5000000));" },
  {
    name: 'tiny-writes',
    breaks: ['output'],
    ends: true,
    code: "for (let i = 0; i < 20000; i++) console.log('x');",
  },
  {
    name: 'errors-forever',
    breaks: ['output', 'fuel', 'time'],
    code: "for (;;) console.error('spam');",
  },
];

const recursion: Readonly<Record<string, RecursiveProgram>> = {
  functions: ['function f() { return f() + 1; } f()', 'RangeError'],
  getters: ['const o = { get x() { return this.x; } }; o.x', 'RangeError'],
  'text of nested arrays': ['let a = []; for (let i = 0; i < 2e4; i++) a = [a]; String(a)', 'RangeError'],
  'JSON serialisation': [
    'let a = []; for (let i = 0; i < 2e4; i++) a = [a]; JSON.stringify(a)',
    'out_of_fuel',
  ],
  'JSON parsing': ["JSON.parse('['.repeat(1e6))", 'RangeError'],
  'brackets in source': ["eval('['.repeat(1e5) + ']'.repeat(1e5))", 'RangeError'],
  'parentheses in source': ["eval('('.repeat(1e6))", 'RangeError'],
  proxies: ['let p = {}; for (let i = 0; i < 3e4; i++) p = new Proxy(p, {}); p.x', 'RangeError'],
  'keys of proxies': [
    'let p = {}; for (let i = 0; i < 8e4; i++) p = new Proxy(p, {}); Object.keys(p)',
    'RangeError',
  ],
  'realms of proxies': [
    'let f = function () {}; for (let i = 0; i < 3e4; i++) f = new Proxy(f, {}); Reflect.construct(Array, [], f)',
    'RangeError',
  ],
  prototypes: ['let o = {}; for (let i = 0; i < 3e4; i++) o = Object.create(o); o.x', 'finished'],
  'bound functions': ['let f = () => 1; for (let i = 0; i < 3e3; i++) f = f.bind(null); f()', 'finished'],
  promises: [
    'let p = Promise.resolve(1); for (let i = 0; i < 1e4; i++) p = p.then((x) => x); await p',
    'finished',
  ],
  'structured clones': [
    'let a = {}; for (let i = 0; i < 2e4; i++) a = { a }; structuredClone(a)',
    'RangeError',
  ],
  'groups of a regular expression': ["new RegExp('(?:'.repeat(1e5) + ')'.repeat(1e5))", 'SyntaxError'],
  backtracking: ["/(?:a|b)*c/.test('ab'.repeat(3e4))", 'out_of_fuel'],
  iterators: ['function* g() { yield* g(); } [...g()]', 'RangeError'],
  sorting: ['[2, 1].sort(function c() { return [2, 1].sort(c); })', 'RangeError'],
  deallocation: ['let o = null; for (let i = 0; i < 1e5; i++) o = { o }; o = null; 1', 'finished'],
  replacing: ["'a'.replace(/a/, function f() { return 'a'.replace(/a/, f); })", 'RangeError'],
};

export const javascriptAttackPrograms: AttackPrograms = {
  nextRun: `
console.log(Object.getOwnPropertyNames(globalThis).length, Reflect.ownKeys(Object.prototype).length);
console.log(JSON.stringify([1, 'a', { b: [null] }]), [3, 1, 2].sort().join(), typeof Function('return 1'), \`\${[] + {}}\`);
`,
  neighbour:
    "import * as std from 'std'; let total = 0; for (let i = 0; i < 3000; i++) total += i; console.log(total, std.loadFile('own.txt'));",
  evaluator: (expressions) => `
import * as std from 'std';
import * as os from 'os';
const lines = ${JSON.stringify(expressions)};
for (let number = 0; number < lines.length; number++) {
  let seen;
  try { const value = await eval(lines[number]); seen = typeof value === 'function' ? 'function' : String(value).slice(0, 200); }
  catch (error) { seen = error?.name ?? String(error); }
  console.log('\\n' + JSON.stringify([number, seen]));
}
`,
  toolProbe: 'process.stdout.write(JSON.stringify(Object.values(await tools.echo({ n: 1 }))) + "\\n");',
  limitPrograms,
  // QuickJS throws null if it has no memory for an error.
  memory: {
    bytes: 16 * 1024 * 1024,
    outcomes: ['memory_limit', 'InternalError', 'RangeError', 'null'],
  },
  longPrograms: {
    fuel: ';'.repeat(100_000),
    memory: 'let x;{}'.repeat(300_000),
    memoryOutcomes: ['SyntaxError'],
  },
  recursion,
  recursionReferences: {
    proxies: 'CVE-2023-31922 (QuickJS)',
    'parentheses in source': 'CVE-2024-13903 (QuickJS)',
    'brackets in source': 'CVE-2023-48183 (QuickJS)',
  },
};
