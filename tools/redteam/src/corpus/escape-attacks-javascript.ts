/** JavaScript programs that try to reach files, memory, processes or objects of the host. */
import type { AttackRow, ProgramAttack } from '../attack.ts';
import { type ExpressionRow, expressions } from './rows.ts';

const UP = '../'.repeat(60);

const GLOBALS = expressions(
  [
    'WebAssembly',
    'Worker',
    'BroadcastChannel',
    'Atomics',
    'postMessage',
    'parentPort',
    'window',
    'Deno',
    'Bun',
    'importScripts',
    'bjson',
    'onmessage',
    'self',
  ].map((name): ExpressionRow => [`global-${name}`, `typeof ${name}`, 'undefined']),
);

/** The modules of Node.js that guests have are written in JavaScript and see only the guest. */
const NODE_MODULES = expressions([
  ['process-of-host', 'typeof process.versions.uv', 'undefined'],
  ['process-environment', 'Object.keys(process.env).sort().join()', 'HOME,LANG,LOGNAME,PATH,SHELL,USER'],
  ['process-binding', "process.binding('fs')"],
  ['process-dlopen', "process.dlopen({}, '/lib/x.node')"],
  ['module-load', "require('module')._load('/etc/passwd')"],
  ['require-addon', "require('/lib/x.node')"],
  ['fs-read', "require('fs').readFileSync('/etc/passwd')"],
  ['fs-list', "require('fs').readdirSync('/proc')"],
  ['fs-of-promises', "require('fs/promises').readFile('/proc/self/environ')"],
  ['fs-parent-path', `require('fs').readFileSync('${UP}etc/passwd')`],
  [
    'child-process',
    "require('child_process').execFileSync('/sbin/init')",
    undefined,
    'GHSA-8hr7-r645-pc6w (vm2)',
  ],
  ['net', "require('net').connect(80, '127.0.0.1')"],
  ['http', "require('http').get('http://127.0.0.1/')"],
  ['fetch', "fetch('http://127.0.0.1/').catch((e) => e.cause.code)", 'ENETUNREACH'],
  ['fetch-cloud-metadata', "fetch('http://169.254.169.254/').catch((e) => e.cause.code)", 'ENETUNREACH'],
  ['fetch-file', "fetch('file:///etc/passwd').catch((e) => e.name)", 'TypeError'],
]);

const IMPORTS = expressions(
  [
    ['file-url', 'file:///etc/passwd'],
    ['http-url', 'https://example.com/x.js'],
    ['data-url', 'data:text/javascript,1'],
    ['parent-path', '../../../etc/passwd'],
  ].map(([name, specifier]): ExpressionRow => [`import-${name}`, `import('${specifier}')`, 'ReferenceError']),
);

/** Ways to get from a guest object to a constructor of the host. */
const CONSTRUCTORS = expressions(
  [
    ['function', "Function('return typeof process.versions.uv')()", undefined, 'CVE-2017-16088 (safe-eval)'],
    [
      'function-of-function',
      "(() => {}).constructor.constructor('return typeof process.versions.uv')()",
      undefined,
      'CVE-2025-68613 (n8n)',
    ],
    ['async-function', "(async () => {}).constructor('return typeof process.versions.uv')()"],
    [
      'generator-function',
      "(function* () {}).constructor('yield typeof process.versions.uv')().next().value",
    ],
    [
      'async-generator-function',
      "(async function* () {}).constructor('yield typeof process.versions.uv')().next().then((r) => r.value)",
    ],
    [
      'console',
      "console.log.constructor('return typeof process.versions.uv')()",
      undefined,
      'CVE-2021-21413 (isolated-vm)',
    ],
    [
      'host-function',
      "std.open.constructor('return typeof process.versions.uv')()",
      undefined,
      'CVE-2021-21413 (isolated-vm)',
    ],
    [
      'promise-then',
      "Promise.resolve().then.constructor('return typeof process.versions.uv')()",
      undefined,
      'CVE-2023-37466 (vm2)',
    ],
    [
      'proto-getter',
      "Object.getOwnPropertyDescriptor(Object.prototype, '__proto__').get.constructor('return typeof process.versions.uv')()",
    ],
    [
      'lookup-getter',
      "({}).__lookupGetter__('__proto__').call(std.open).constructor('return typeof process.versions.uv')()",
      undefined,
      'GHSA-grj5-jjm8-h35p (vm2)',
    ],
    [
      'recursion-error',
      "(() => { const f = () => { try { return f(); } catch (e) { return e.constructor.constructor('return typeof process.versions.uv')(); } }; return f(); })()",
      undefined,
      'CVE-2019-10761 (vm2)',
    ],
    [
      'call-sites',
      "(() => { Error.prepareStackTrace = (_, sites) => sites; const sites = new Error().stack; delete Error.prepareStackTrace; return [...sites].map((s) => typeof s.getThis?.()).find((t) => t !== 'undefined') ?? 'undefined'; })()",
      undefined,
      'CVE-2022-36067 (vm2)',
    ],
    [
      'prepare-stack-trace-async',
      "(async () => { Error.prepareStackTrace = (e, s) => { s.constructor.constructor('throw 1'); return s; }; try { await import('./none.js'); } catch (e) { return e.constructor.constructor('return typeof process.versions.uv')(); } finally { delete Error.prepareStackTrace; } })()",
      undefined,
      'CVE-2023-29017 (vm2)',
    ],
    [
      'error-of-proxy-trap',
      '(() => { try { new Proxy({}, { getPrototypeOf() { throw { constructor: 1 }; } }) instanceof Object; } catch (e) { return typeof e.process; } })()',
      undefined,
      'CVE-2023-30547 (vm2)',
    ],
    [
      'error-with-symbol-name',
      "(async () => { const e = new Error(); e.name = Symbol(); return e.stack; })().then(() => 'undefined', (e) => e.constructor.constructor('return typeof process.versions.uv')())",
      undefined,
      'CVE-2026-22709 (vm2)',
    ],
    [
      'promise-species',
      "(() => { const p = Promise.reject(1); p.constructor = { [Symbol.species]: function (run) { run(() => {}, () => {}); } }; try { p.then(); } catch (e) { return e.constructor.constructor('return typeof process.versions.uv')(); } return 'undefined'; })()",
      undefined,
      'CVE-2023-37466 (vm2)',
    ],
    [
      'inspect-custom',
      "(() => { let seen = 'undefined'; console.log({ [Symbol.for('nodejs.util.inspect.custom')](d, o, inspect) { seen = typeof inspect?.constructor?.('return process.versions.uv')(); return ''; } }); return seen; })()",
      undefined,
      'CVE-2023-37903 (vm2)',
    ],
    [
      'suppressed-error',
      "(() => { try { throw typeof SuppressedError === 'function' ? new SuppressedError(1, 2) : new Error(); } catch (e) { return e.constructor.constructor('return typeof process.versions.uv')(); } })()",
      undefined,
      'GHSA-55hx-c926-fr95 (vm2)',
    ],
    [
      'with-statement',
      "new Function('with ({ constructor: 1 }) { return typeof process.versions.uv; }')()",
      undefined,
      'CVE-2026-1470 (n8n)',
    ],
    [
      'array-species-proxy',
      '(() => { class A extends Array { static get [Symbol.species]() { return function () { return new Proxy([], { defineProperty(t, k, d) { return true; } }); }; } } return typeof new A(1, 2).map((x) => x).process; })()',
      undefined,
      'CVE-2023-32314 (vm2)',
    ],
    [
      'property-names-of-host-type',
      'typeof Object.getOwnPropertyNames({}).__getattribute__',
      undefined,
      'CVE-2024-28397 (js2py)',
    ],
  ].map(
    ([name, evaluate, , reference]): ExpressionRow => [
      `constructor-${name}`,
      evaluate!,
      'undefined',
      reference,
    ],
  ),
);

const SAME_REALM = expressions(
  [
    ['realm-of-error', "new Error().constructor.constructor('return this')() === globalThis"],
    ['realm-of-eval', "(0, eval)('this') === globalThis"],
    [
      'realm-of-rejected-import',
      "import('./none.js').catch((e) => e instanceof Error && Object.getPrototypeOf(e.constructor) === Error)",
    ],
    [
      'realm-of-range-error',
      '(() => { try { new Array(-1); } catch (e) { return e instanceof RangeError; } })()',
      undefined,
      'CVE-2021-23594 (realms-shim)',
    ],
  ],
  'true',
);

const RESOURCES = expressions([
  ['popen', "std.popen('id', 'r')"],
  ['url-get', "std.urlGet('http://127.0.0.1/')"],
  ['exec', "os.exec(['id'])"],
  ['kill', 'os.kill(1, 9)'],
  ['wait', 'os.waitpid(1, 0)'],
  ['signal', 'os.signal(60, () => {})'],
  ['terminal', 'os.ttySetRaw(0)'],
  ['worker', "new os.Worker('./x.js')"],
  ['load-script', "std.loadScript('/etc/passwd')"],
  ['bytecode-value', "(0, eval)('\\u0000\\u0001\\u0002')", 'SyntaxError', 'CVE-2025-46687 (QuickJS)'],
  ['bytecode-loader', 'typeof std.evalBinary', 'undefined', 'CVE-2022-39266 (isolated-vm)'],
  ['utimes-of-library', "os.utimes('/lib', 1, 1)", '-30'],
  ['chdir-undefined', 'os.chdir(undefined)', '-2'],
  ['sleep-negative', 'os.sleep(-1)', '0'],
  ['sleep-nan', 'os.sleep(NaN)', '0'],
  ['strerror-out-of-range', 'std.strerror(1e9)', 'Unknown error 1000000000'],
  ['getenv-object', 'std.getenv({})', 'undefined'],
  ['open-invalid-mode', "std.open('x', 'no such mode')", 'TypeError'],
  ['readdir-number', 'os.readdir(1)', ',2'],
  ['no-hard-link', 'typeof os.link', 'undefined'],
  ['function-invalid-escape', "new Function('\\\\\\\\u{110000}')", 'SyntaxError'],
  ['eval-open-brackets', "eval('('.repeat(200000))", 'RangeError'],
  ['regexp-open-groups', "new RegExp('('.repeat(100000))", 'SyntaxError'],
  ['environment-prototype', "std.setenv('__proto__', 'x') ?? ({}).x", 'undefined'],
  [
    'environment',
    'Object.keys(std.getenviron()).filter((n) => /REDTEAM|^(HOSTNAME|OLDPWD|SSH_\\w+)$/.test(n)).join()',
    '',
  ],
]);

const FILES = expressions(
  (
    [
      ['environ', '/proc/self/environ'],
      ['process-memory', '/proc/self/mem'],
      ['passwd', '/etc/passwd', 'CVE-2023-51661 (Wasmer)'],
      ['inherited-descriptor', '/dev/fd/7', 'CVE-2024-21626 (runc)'],
      ['physical-memory', '/dev/mem'],
      ['docker-socket', '/var/run/docker.sock'],
      ['proc', '/proc'],
      ['sys', '/sys'],
      ['hosts', '/etc/hosts'],
      ['terminal', '/dev/tty'],
      ['root', '/root'],
      ['home', '/home'],
      ['working-folder', '{{cwd}}'],
      ['double-slash', '//etc/passwd'],
      ['windows', 'C:\\\\Windows\\\\win.ini'],
      ['secret', '{{secret_file}}'],
      ['secret-upwards', `${UP}..{{secret_file}}`, 'CVE-2025-53110 (MCP filesystem server)'],
      ['passwd-upwards', `${UP}etc/passwd`],
    ] as const
  ).map(
    ([name, path, reference]): ExpressionRow => [
      `file-${name}`,
      `std.loadFile('${path}')`,
      'null',
      reference,
    ],
  ),
);

const TREE = expressions([
  // The path may be that of a command of the sandbox, whose file has another content.
  ['file-node', "std.loadFile('/usr/bin/node').slice(0, 4)", 'The '],
  ['file-interpreter', "(std.loadFile('{{node}}') ?? 'The ').slice(0, 4)", 'The '],
  ['list-root', "os.readdir('/')[0].sort()", '.,..,app,bin,data,lib,tmp,usr'],
  ['root-is-its-own-parent', `os.realpath('${UP}')`, '/,0'],
  ['make-folder-outside', `os.mkdir('${UP}evil')`, '-30'],
  ['open-outside', "std.open('../evil', 'w')", 'null'],
  [
    'link-to-secret',
    "(os.symlink('{{secret_file}}', 'a'), std.loadFile('a'))",
    'null',
    'CVE-2025-53109 (MCP filesystem server)',
  ],
  ['link-to-root', "(os.symlink('/', 'r'), os.readdir('r/r')[0].includes('etc'))", 'false'],
  ['link-to-itself', "(os.symlink('l', 'l'), os.stat('l')[1])", '40'],
  ['remove-root', "os.remove('/')", /^-\d+$/],
  ['rename-library', "os.rename('/lib', '/x')", /^-\d+$/],
  ['name-with-nul', "os.mkdir('a\\0b')", '-22'],
  ['name-too-long', "os.mkdir('x'.repeat(256))", '-36'],
  ['name-lone-surrogate', "os.mkdir('\\ud800')", '-84'],
  ['path-too-long', "os.mkdir('d/'.repeat(3000))", '-36'],
  ['name-prototype', "os.mkdir('__proto__')", '0'],
  [
    'descriptors',
    "(() => { const fds = []; let fd; while ((fd = os.open('/dev/null', os.O_RDONLY)) >= 0) fds.push(fd); fds.forEach((x) => os.close(x)); return fds.length; })()",
    '253',
  ],
  ['descriptor-out-of-range', 'os.dup2(1, 100000)', '-24'],
  ['read-negative-offset', 'os.read(0, new ArrayBuffer(16), -1, 16)', 'RangeError'],
  ['read-four-gigabytes', 'os.read(0, new ArrayBuffer(16), 0, 2 ** 32)', 'RangeError'],
  ['write-past-buffer', 'os.write(1, new ArrayBuffer(16), 8, 9)', 'RangeError'],
  [
    'read-into-detached',
    '(() => { const b = new ArrayBuffer(16); b.transfer(); return os.read(0, b, 0, 16); })()',
    'RangeError',
  ],
  ['read-into-object', 'os.read(0, {}, 0, 1)', 'TypeError'],
]);

/** Accesses past the ends of buffers and broken invariants of built-in objects. */
const BUFFERS = expressions([
  ['buffer-past-end', 'new Uint8Array(8)[8]', 'undefined'],
  ['buffer-negative', 'new Uint8Array(8)[-1]', 'undefined'],
  ['buffer-four-gigabytes', 'new Uint8Array(8)[2 ** 32]', 'undefined'],
  ['view-past-end', 'new DataView(new ArrayBuffer(8)).getUint8(8)', 'RangeError'],
  ['view-larger-than-buffer', 'new Uint8Array(new ArrayBuffer(8), 4, 8)', 'RangeError'],
  ['buffer-eight-gigabytes', 'new Uint8Array(2 ** 33)', 'RangeError'],
  [
    'view-of-shrunk-buffer',
    '(() => { const b = new ArrayBuffer(8, { maxByteLength: 64 }); const v = new Uint8Array(b, 4); b.resize(64); b.resize(0); return v[0]; })()',
    'undefined',
    'CVE-2023-48184 (QuickJS)',
  ],
  [
    'view-of-transferred-buffer',
    '(() => { const b = new ArrayBuffer(8); const v = new DataView(b); b.transfer(); return v.getInt8(0); })()',
    'TypeError',
  ],
  [
    'fill-that-shrinks',
    '(() => { const v = new Uint8Array(new ArrayBuffer(1000, { maxByteLength: 1000 })); v.fill({ valueOf() { v.buffer.resize(1); return 7; } }); return v.length; })()',
    '1',
  ],
  [
    'set-that-shrinks',
    '(() => { const v = new Uint8Array(new ArrayBuffer(1000, { maxByteLength: 1000 })); v.set({ length: 1, get 0() { v.buffer.resize(0); return 1; } }); return v.length; })()',
    '0',
  ],
  [
    'sort-that-shrinks',
    "(() => { const a = Array.from({ length: 1000 }, (_, i) => i); a.sort(() => { a.length = 0; return -1; }); return 'sorted'; })()",
    'sorted',
  ],
  ['concat-overflow', '[1].concat({ length: 2 ** 53, [Symbol.isConcatSpreadable]: true })', 'TypeError'],
  ['push-overflow', 'Array.prototype.push.call({ length: 2 ** 53 - 1 }, 1)', 'TypeError'],
  ['frozen-write', "(() => { 'use strict'; const o = Object.freeze({ x: 1 }); o.x = 2; })()", 'TypeError'],
  [
    'proxy-keys-invariant',
    "Object.keys(new Proxy(Object.freeze({ x: 1 }), { ownKeys: () => ['y'] }))",
    'TypeError',
  ],
  ['prototype-of-frozen', 'Object.setPrototypeOf(Object.freeze({}), null)', 'TypeError'],
  ['construct-non-constructor', 'Reflect.construct(function () {}, [], Math.abs)', 'TypeError'],
  ['subarray-out-of-range', 'new Uint8Array(8).subarray(-100, 100).length', '8'],
  [
    'species-returns-frozen',
    'new (class extends Array { static get [Symbol.species]() { return function () { return Object.freeze({}); }; } })(1, 2).map((x) => x)',
    'TypeError',
  ],
  ['proxy-invariant', 'new Proxy(Object.freeze({ x: 1 }), { get: () => 2 }).x', 'TypeError'],
  [
    'prototype-cycle',
    '(() => { const a = {}; const b = { __proto__: a }; Object.setPrototypeOf(a, b); })()',
    'TypeError',
  ],
  ['prototype-of-object', 'Object.setPrototypeOf(Object.prototype, {})', 'TypeError'],
  [
    'private-field-of-another',
    '(() => { class A { #x = 1; static read(o) { return o.#x; } } return A.read({}); })()',
    'TypeError',
  ],
  [
    'is-array-of-proxies',
    '(() => { let p = []; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); return Array.isArray(p); })()',
    'true',
    'CVE-2023-31922 (QuickJS)',
  ],
]);

const PROGRAMS: readonly ProgramAttack[] = [
  {
    name: 'object-graph',
    code: `
import * as std from 'std';
import * as os from 'os';
const seen = new Set();
const odd = [];
const queue = [globalThis, std, os, console, std.in, std.out, new Error(), (async () => {}), function* () {}, Symbol.prototype, import.meta];
while (queue.length > 0 && seen.size < 20000) {
  const value = queue.pop();
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null || seen.has(value)) continue;
  seen.add(value);
  if (typeof value === 'function') {
    let made;
    try { made = value.constructor('return this')(); } catch {}
    if (typeof made === 'object' && made !== null && made !== globalThis && typeof made.next !== 'function' && typeof made.then !== 'function') odd.push(value.name);
  }
  queue.push(Object.getPrototypeOf(value));
  for (const key of Reflect.ownKeys(value)) {
    const { value: own, get, set } = Object.getOwnPropertyDescriptor(value, key) ?? {};
    queue.push(own, get, set);
    try { if (own?.versions?.uv !== undefined) odd.push(String(key)); } catch {}
  }
}
({ many: seen.size > 300, odd })`,
    expect: { metadata: { result: { many: true, odd: [] } } },
    reference: 'CVE-2021-23449 (vm2)',
  },
  {
    name: 'stack-frames-of-the-runtime',
    code: `
Error.prepareStackTrace = (error, sites) => sites;
const sites = new Error().stack;
sites.map((site) => [site.getFileName(), typeof site.getThis?.()])`,
    expect: { metadata: { result: [['/app/main.js', 'undefined']] } },
    reference: 'GHSA-r273-hxvj-fxhp (vm2)',
  },
  {
    name: 'host-paths-in-stack',
    code: '(() => { try { null.x; } catch (error) { return /node_modules|dist|redteam-/.test(error.stack); } })()',
    expect: { metadata: { result: false } },
    reference: 'GHSA-x6m4-chr9-cg97 (vm2)',
  },
  {
    name: 'replaced-built-in-module',
    code: `
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
    expect: {
      metadata: { result: ['fine', 'fine', 'SyntaxError', 'ReferenceError', 'ReferenceError', 'fine'] },
    },
  },
  {
    name: 'polluted-prototypes',
    code: `
Object.prototype.exit_code = 0; Object.prototype.toJSON = () => ({ exit_code: 0 });
Array.prototype.toJSON = () => 1; JSON.stringify = () => '{"exit_code":0}';
Array.from = Object.keys = Object.create = String = Number = RegExp.prototype.exec = () => { throw 1; };
Promise.prototype.then = () => { throw 2; };
Object.defineProperty(Object.prototype, 'error', { get() { throw 3; }, set() { throw 4; } });
throw new TypeError('still seen');`,
    expect: { success: false, exit_code: 1, stderr: /Uncaught/ },
    reference: 'CVE-2025-34146 (SandboxJS)',
  },
  {
    name: 'exit',
    code: "import * as std from 'std'; std.exit(7)",
    expect: { exit_code: 7 },
  },
  {
    name: 'exit-from-promise',
    code: "import * as std from 'std'; (async () => { await null; std.exit(7); })()",
    expect: { exit_code: 7 },
  },
];

export const ESCAPES_JAVASCRIPT: readonly AttackRow[] = [
  ...GLOBALS,
  ...NODE_MODULES,
  ...IMPORTS,
  ...CONSTRUCTORS,
  ...SAME_REALM,
  ...RESOURCES,
  ...FILES,
  ...TREE,
  ...BUFFERS,
  ...PROGRAMS,
];
