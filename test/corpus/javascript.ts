import type { FailingProgram } from './failing-program.ts';

const small = { fuel_budget: 50_000_000 };
const short = { timeout_seconds: 0.2 };

/** Programs that models write, grouped by topic. */
export const JAVASCRIPT: readonly FailingProgram[] = [
  // ---- limits ----
  { code: 'while (true) {}', type: 'OutOfFuel', says: 'endless loop at line 1', options: small },
  {
    code: 'let n = 0;\nfor (;;) n++;',
    type: 'OutOfFuel',
    says: 'More fuel or time does not help',
    options: small,
  },
  {
    code: 'function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }\nfib(45);',
    type: 'OutOfFuel',
    options: small,
  },
  { code: "/(a+)+$/.test('a'.repeat(40) + 'b');", type: 'OutOfFuel', options: small },
  { code: "new Array(200_000_000) + '';", type: 'OutOfFuel', options: small },
  { code: 'const a = [];\nfor (let i = 0; i < 1e9; i++) a[i % 100] = i;', type: 'OutOfFuel', options: small },
  { code: 'await new Promise((done) => setTimeout(done, 60_000));', type: 'Timeout', options: short },
  { code: 'os.sleep(60_000);', type: 'Timeout', options: short },
  {
    code: 'const parts = [];\nwhile (true) parts.push(new Uint8Array(20_000_000));',
    type: 'MemoryExhausted',
    says: '256 MiB',
  },
  {
    code: "let s = 'x'.repeat(1000);\nconst keep = [];\nwhile (true) { s += s; keep.push(s + 1); }",
    type: 'InvalidValue',
  },
  { code: 'function f(n) { return f(n + 1) + 1; }\nf(0);', type: 'RecursionLimit' },
  { code: 'const a = () => b();\nconst b = () => a();\na();', type: 'RecursionLimit' },

  // ---- tuples ----
  {
    code: "const files = os.readdir('/app');\nfor (const [name] of files) console.log(name);",
    type: 'QuickJSTupleDestructuring',
    says: 'Correct: const [files, err]',
  },
  {
    code: "const [fd, err] = os.open('/app/x.txt', os.O_RDONLY);",
    type: 'QuickJSTupleDestructuring',
    says: 'os.open returns a number',
  },
  {
    code: "const files = os.readdir('/app');\nfiles.forEach((f) => console.log(f.toUpperCase()));",
    type: 'QuickJSTupleDestructuring',
  },
  {
    code: "const info = os.stat('/app');\nconsole.log(info.size.toFixed(1));",
    type: 'QuickJSTupleDestructuring',
  },
  { code: "const dir = os.getcwd();\nconsole.log(dir.split('/'));", type: 'QuickJSTupleDestructuring' },
  {
    code: "const names = os.readdir('.');\nconst js = names.filter((n) => n.endsWith('.js'));",
    type: 'QuickJSTupleDestructuring',
  },
  { code: "const [ok, error] = os.remove('/app/none');", type: 'QuickJSTupleDestructuring' },
  {
    code: "const [text, err] = std.loadFile('/app/none.txt');",
    type: 'QuickJSTupleDestructuring',
    says: 'std.loadFile returns the value, or null on failure',
  },

  // ---- files ----
  {
    code: "const text = std.loadFile('/etc/passwd');\nconsole.log(text.split('\\n'));",
    type: 'PathRestriction',
    says: "'/etc/passwd'",
  },
  { code: "std.loadFile('/home/me/data.csv').trim();", type: 'PathRestriction' },
  { code: "const f = std.open('/var/log/x.log', 'w');\nf.puts('x');", type: 'PathRestriction' },
  {
    code: "const text = std.loadFile('data.csv');\nconst lines = text.split('\\n');",
    type: 'UndefinedValue',
    says: "std.loadFile('data.csv') returns null",
    files: { 'date.csv': 'x' },
  },
  {
    code: "const f = std.open('none.txt', 'r');\nf.readAsString();",
    type: 'UndefinedValue',
    says: '/app is empty',
  },

  // ---- imports and features ----
  { code: "const fs = require('fs');\nfs.readFileSync('nope.txt');", type: 'FileNotFoundInWorkspace' },
  { code: "import fs from 'fs';\nfs.readFileSync('nope.txt');", type: 'FileNotFoundInWorkspace' },
  { code: "const _ = require('left-pad');", type: 'PackageNotAvailable' },
  { code: "requireVendor('left-pad');", type: 'PackageNotAvailable' },
  {
    code: "import { add } from 'calc';\nadd(1, 2);",
    type: 'PackageNotAvailable',
    says: "import { f } from './lib/calc.js'",
    files: { 'lib/calc.js': 'export const add = (a, b) => a + b;' },
  },
  {
    code: "import { DatabaseSync } from 'node:sqlite';\nnew DatabaseSync(':memory:');",
    type: 'UnsupportedFeature',
    says: "execFileSync('sqlite3'",
  },
  {
    code: "require('better-sqlite3')('app.db');",
    type: 'PackageNotAvailable',
    says: "execFileSync('sqlite3'",
  },
  { code: "import sqlite3 from 'sqlite3';", type: 'PackageNotAvailable', says: "execFileSync('sqlite3'" },
  { code: "require('jspdf');", type: 'PackageNotAvailable', says: 'pdfkit' },
  { code: "import _ from 'underscore';", type: 'PackageNotAvailable', says: 'lodash' },
  { code: "require('lodash/groupBy');", type: 'PackageNotAvailable', says: "import lodash from 'lodash'" },
  { code: "import format from 'date-fns/format';", type: 'PackageNotAvailable', says: "from 'date-fns'" },
  { code: "import ExcelJS from 'exceljs';", type: 'PackageNotAvailable', says: 'xlsx' },
  { code: "import _ from 'Lodash';", type: 'MissingRequireVendor', says: "requireVendor('lodash')" },
  { code: 'console.log(_.chunk([1, 2], 1));', type: 'MissingRequireVendor', says: 'not global variables' },
  { code: "dayjs('2026-01-31').year();", type: 'MissingRequireVendor', says: "import dayjs from 'dayjs'" },
  { code: "import axios from 'axios';", type: 'PackageNotAvailable', says: 'no network' },
  { code: "import React from 'react';", type: 'PackageNotAvailable' },
  {
    code: "const res = await fetch('https://example.com');",
    type: 'UnsupportedFeature',
    says: 'network access',
  },
  { code: "document.getElementById('x');", type: 'UnsupportedFeature', says: 'a browser' },
  { code: 'window.location.href;', type: 'UnsupportedFeature' },
  { code: "localStorage.setItem('a', '1');", type: 'UnsupportedFeature' },
  { code: "alert('hi');", type: 'UnsupportedFeature', says: 'console.log' },
  { code: 'new XMLHttpRequest();', type: 'UnsupportedFeature' },
  { code: "new Intl.NumberFormat('ru').format(1);", type: 'InvalidValue', says: 'locale' },
  { code: "std.popen('ls', 'r');", type: 'UnsupportedFeature', says: 'child_process' },
  { code: "os.exec(['ls']);", type: 'UnsupportedFeature', says: 'child_process' },
  { code: "std.sprintf('%d', 1);", type: 'UnsupportedFeature', says: "this function ('std.sprintf')" },
  { code: "std.urlGet('https://example.com');", type: 'UnsupportedFeature', says: 'network access' },
  { code: "new os.Worker('./x.js');", type: 'UnsupportedFeature', says: 'threads' },

  { code: "import { f } from './lib/f.js';", type: 'FileNotFoundInWorkspace', says: 'does not exist' },
  { code: "await crypto.subtle.wrapKey('raw', 1, 2, { name: 'AES-KW' });", type: 'UnsupportedFeature' },
  { code: 'const line = std.in.getline();\nline.trim();', type: 'InputExhausted', says: 'stdin' },

  // ---- names, types, values ----
  { code: 'const total = 3;\nconsole.log(totl);', type: 'UndefinedName', says: "mean 'total'" },
  { code: 'console.log(undefinedVariable);', type: 'UndefinedName' },
  { code: "'use strict';\ncounter = 1;", type: 'UndefinedName' },
  { code: 'console.log(x);\nlet x = 1;', type: 'UndefinedName', says: 'before its declaration' },
  { code: 'print_total(3);', type: 'UndefinedName' },
  { code: 'const user = {};\nconsole.log(user.address.city);', type: 'UndefinedValue', says: 'line 2' },
  { code: 'let data;\ndata.items.map((x) => x);', type: 'UndefinedValue' },
  { code: 'const m = /x/.exec("y");\nconsole.log(m[0]);', type: 'UndefinedValue' },
  { code: 'const { a } = null;', type: 'UndefinedValue' },
  { code: '[1, 2].find((x) => x > 5).toString();', type: 'UndefinedValue' },
  { code: 'const o = null;\no.x = 1;', type: 'UndefinedValue' },
  { code: "const text = 'a,b';\ntext.map((x) => x);", type: 'NotAFunction' },
  { code: 'const o = {};\no.run();', type: 'NotAFunction' },
  { code: 'const n = 5;\nn();', type: 'NotAFunction' },
  { code: 'class A {}\nA();', type: 'NotAFunction' },
  { code: 'const d = {};\nnew d.Thing();', type: 'NotAFunction' },
  { code: '({ a: 1 }).forEach((x) => x);', type: 'NotAFunction' },
  {
    code: 'const scores = { a: 1 };\nscores.map((x) => x);',
    type: 'NotAFunction',
    says: 'Object.values(scores).map(...)',
  },
  { code: "' '.repeat(-1);", type: 'InvalidValue', says: 'padEnd()' },
  { code: 'function f() {\n  if (true) {\n    f;\n}\n', type: 'SyntaxError', says: 'is not closed' },
  { code: "const term = '[';\nnew RegExp(term, 'g');", type: 'RegexError', says: 'term is "["' },
  {
    code: "import { readJson } from 'node:fs/promises';",
    type: 'WrongImportName',
    says: "does not export 'readJson'",
  },
  { code: 'const n = 1;\nn = 2;', type: 'ReadOnlyValue' },
  { code: 'Object.freeze([1]).push(2);', type: 'ReadOnlyValue' },
  { code: "'use strict';\nconst o = Object.freeze({ a: 1 });\no.a = 2;", type: 'ReadOnlyValue' },
  { code: 'const [a, b] = 5;', type: 'TypeMismatch' },
  { code: 'for (const x of { a: 1 }) {}', type: 'TypeMismatch', says: 'for...of' },
  { code: '1n + 1;', type: 'TypeMismatch', says: 'BigInt' },
  { code: 'JSON.stringify(1n);', type: 'TypeMismatch', says: 'toString()' },
  {
    code: 'async function load() {\n  return [1];\n}\nconst items = load();\nitems.map((n) => n);',
    type: 'AsyncMisuse',
    says: 'await load(',
  },
  {
    code: 'const d = () => {};\nclass A { constructor(@d a: number) {} }',
    type: 'SyntaxError',
    says: 'decorator',
  },
  {
    code: 'namespace N { const a: number = 1; export { a } }',
    type: 'SyntaxError',
    says: 'Write export in front',
  },
  { code: 'const o = { a: 1, b: 2 ;', type: 'SyntaxError' },
  { code: 'const a = {};\na.a = a;\nJSON.stringify(a);', type: 'TypeMismatch', says: 'circular' },
  { code: '[].reduce((a, b) => a + b);', type: 'TypeMismatch' },
  { code: "'x' in 'abc';", type: 'TypeMismatch' },
  { code: 'new Array(-1);', type: 'InvalidValue' },
  { code: "new Date('x').toISOString();", type: 'InvalidValue', says: 'date' },
  { code: "'x'.repeat(-1);", type: 'InvalidValue' },
  { code: '(1).toFixed(200);', type: 'InvalidValue' },
  { code: "new RegExp('(');", type: 'RegexError' },
  { code: "decodeURIComponent('%');", type: 'EncodingError' },

  {
    code: 'class C {\n  n = 0;\n  inc() { return ++this.n; }\n}\nconst f = new C().inc;\nf();',
    type: 'UndefinedValue',
    says: 'this is undefined',
  },
  {
    code: 'const cfg = { db: 1 };\nconsole.log(cfg.database.host);',
    type: 'UndefinedValue',
    says: 'cfg has the properties: db',
  },
  {
    code: "for (const user of [{ name: 'Ada', address: { city: 'London' } }, { name: 'Bob' }])\n  console.log(user.address.city);",
    type: 'UndefinedValue',
    says: 'use optional chaining: user.address?.city',
  },
  {
    code: 'const xs = [{ v: 1 }];\nfor (let i = 0; i <= xs.length; i++) xs[i].v++;',
    type: 'UndefinedValue',
    says: 'use i < xs.length',
  },
  {
    code: 'const out = [];\n[1].forEach(async (x) => { await null; out.push({ x }); });\nout[0].x;',
    type: 'UndefinedValue',
    says: 'forEach does not wait',
  },
  {
    code: "const s = 'abc';\ns.push('d');",
    type: 'NotAFunction',
    says: 's.push is not a function: s is "abc"',
  },
  {
    code: "const s = 'a b';\ns.map(x => x);",
    type: 'NotAFunction',
    says: 's.map is not a function: s is "a b"',
  },
  {
    code: "const s = 'a b';\nconst f = (x) => x;\nif (s.trim().map(f)) console.log(s);",
    type: 'NotAFunction',
    says: 'map is not a function',
  },
  {
    code: "const o = {};\nconsole.log(o.run('(', function () {}));",
    type: 'NotAFunction',
    says: 'o.run is not a function: o is {}',
  },
  { code: 'console.log(Math.rnd(2.5))', type: 'NotAFunction', says: 'Did you mean Math.round()?' },
  { code: 'console.log([1, 2].flatmap(x => [x]))', type: 'NotAFunction', says: '[1, 2].flatMap()?' },
  {
    code: 'console.log("a".toFixed(2))',
    type: 'NotAFunction',
    says: 'a method of numbers, and the value is text',
  },
  {
    code: 'console.log(`\u0024{Math.rnd(1, 2)}`, 1)',
    type: 'NotAFunction',
    says: 'Math.rnd is not a function',
  },
  {
    code: 'const o = { a: {} };\nshow(o.a.b(1, 2 + 3, show(3)));\nfunction show() {}',
    type: 'NotAFunction',
    says: 'o.a.b is not a function',
  },
  {
    code: 'const count = 1;\nconsole.log([3].map((x) => count(x)));',
    type: 'NotAFunction',
    says: 'count is not a function: count is 1',
  },
  {
    code: 'const count = 1; [1].map(count)',
    type: 'NotAFunction',
    says: 'An argument of [1].map must be a function',
  },
  { code: 'const m = new Map(); m.put(1)', type: 'NotAFunction', says: 'm.put is not a function: m is <Map' },
  { code: 'const xs = []; xs["run"](1)', type: 'NotAFunction', says: 'xs["run"] is not a function' },
  {
    code: 'const xs = []; console.log(xs.append(1))',
    type: 'NotAFunction',
    says: 'Instead of append() use push()',
  },
  {
    code: "import os from 'os';\nconsole.log(os.getName());",
    type: 'NotAFunction',
    says: 'os.getName is not a function',
  },
  { code: 'function* g() {}\ng.next();', type: 'NotAFunction', says: 'g is a generator function' },
  { code: 'class P {}\n\nP();', type: 'NotAFunction', says: 'line 3: P();' },
  {
    code: 'class A {}\nclass B extends A { constructor() { this.m = 1; } }\nnew B();',
    type: 'UndefinedName',
    says: 'call super(...) first',
  },
  { code: 'await Promise.all(1, 2);', type: 'TypeMismatch', says: 'Promise.all([first, second])' },
  { code: "new URL('example.com/path');", type: 'TypeMismatch', says: 'needs a scheme' },
  { code: "require('crypto').createHash('md6');", type: 'InvalidValue', says: 'getHashes()' },
  {
    code: "require('assert').strictEqual(1, 2);",
    type: 'AssertionFailed',
    says: 'strictly equal',
  },
  {
    code: 'setInterval(() => {}, 50);',
    type: 'Timeout',
    says: 'clearInterval',
    options: { timeout_seconds: 0.3 },
  },

  // ---- data ----
  { code: "JSON.parse('');", type: 'DataShape', says: 'empty' },
  { code: "JSON.parse('{bad}');", type: 'DataShape', says: 'not valid JSON' },
  {
    code: "const data = JSON.parse(std.loadFile('d.json'));",
    type: 'DataShape',
    files: { 'd.json': "{'a': 1}" },
  },
  { code: 'JSON.parse(undefined);', type: 'DataShape' },

  // ---- syntax ----
  { code: 'let a = ;', type: 'SyntaxError', says: 'line 1' },
  { code: 'function f( {\n}', type: 'SyntaxError' },
  { code: 'const x = 1;\nconst x = 2;', type: 'SyntaxError' },
  { code: 'if (true {\n}', type: 'SyntaxError' },
  { code: "console.log('open);", type: 'SyntaxError' },
  { code: 'def f():\n    return 1\nprint(f())', type: 'SyntaxError', says: "language='python'" },
  { code: '```js\nconsole.log(1);\n```', type: 'NotAFunction', says: 'Markdown fence' },
  { code: 'const o = { a: 1, b: };', type: 'SyntaxError' },

  // ---- promises, exceptions and exit codes of the program itself ----
  { code: 'await new Promise(() => {});', type: 'UnsettledPromise' },
  { code: "throw new Error('bad input');", type: 'RaisedByProgram', says: 'bad input' },
  {
    code: "async function main() {\n  throw new RangeError('no rows');\n}\nawait main();",
    type: 'RaisedByProgram',
    says: 'line 2',
  },
  {
    code: "class BadRow extends Error {}\nfunction check() {\n  throw new BadRow('row 3');\n}\ncheck();",
    type: 'RaisedByProgram',
  },
  { code: "throw 'just text';", type: 'RaisedByProgram' },
  {
    code: "const err = new Error('made earlier');\nPromise.reject(err);",
    type: 'RaisedByProgram',
    says: 'line 1',
  },
  { code: 'std.exit(3);', type: null },
  { code: 'process.exit(3);', type: null },
  {
    code: 'async function main() {\n  return JSON.parse("{\'a\': 1}");\n}\nmain().catch((error) => { console.error(error); process.exit(1); });',
    type: 'DataShape',
    says: "Text near the error: {'a': 1}",
  },
  {
    code: "try {\n  undefined.rows;\n} catch (error) {\n  console.error('failed:', error);\n  process.exitCode = 1;\n}",
    type: 'UndefinedValue',
    says: 'line 2',
  },
  // Other output follows, so the error need not be the reason for the exit code.
  {
    code: "try { null.x; } catch (error) { console.error(error); }\nconsole.log('done');\nprocess.exit(2);",
    type: null,
  },
  { code: 'try { null.x; } catch (error) { console.error(error.message); process.exit(1); }', type: null },
  {
    code: "await Promise.any([Promise.reject(new Error('a failed')), Promise.reject(new TypeError('b failed'))]);",
    type: 'GroupedErrors',
    says: 'Error: a failed; TypeError: b failed',
  },
  { code: "throw new AggregateError([new Error('a')], 'all failed');", type: 'RaisedByProgram' },

  // ---- values ----
  { code: 'JSON.parse(\'{\\n  "a": 1,\\n  "b": [1, 2,]\\n}\');', type: 'DataShape', says: '"b": [1, 2,]' },
  {
    code: "async function f() { return '{}'; }\nJSON.parse(f());",
    type: 'DataShape',
    says: 'is a promise: await it',
  },
  { code: "console.log(fs.readFileSync('a'));", type: 'UndefinedName', says: "import fs from 'node:fs'" },
  {
    code: "new Intl.DateTimeFormat('en').format(new Date('31/12/2024'));",
    type: 'InvalidValue',
    says: 'date is invalid',
  },
  {
    code: "const price = '12.5';\nconsole.log(price.toFixed(2));",
    type: 'NotAFunction',
    says: 'Number(price)',
  },
  {
    code: 'const data = { items: null };\nfor (const item of data.items) console.log(item);',
    type: 'UndefinedValue',
    says: 'data.items ?? []',
  },
  { code: 'new Array(-1);', type: 'InvalidValue', says: 'from 0 to 4294967295' },
];
