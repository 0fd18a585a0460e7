// program: requires a CommonJS file
const fs = require('fs');
fs.writeFileSync('math.js', 'exports.add = (a, b) => a + b;\nmodule.exports.name = "math";');
const math = require('./math');
console.log(math.add(1, 2), math, require('./math') === math, require('./math.js') === math);
// program: requires JSON, folders and index files
const fs = require('node:fs');
fs.mkdirSync('lib/sub', { recursive: true });
fs.writeFileSync('lib/index.js', 'module.exports = { sub: require("./sub"), data: require("../data.json") };');
fs.writeFileSync('lib/sub/package.json', '{ "main": "entry.js" }');
fs.writeFileSync('lib/sub/entry.js', 'module.exports = "entry " + require("path").basename(__dirname) + " " + require("path").basename(__filename);');
fs.writeFileSync('data.json', '{ "list": [1, 2, { "x": null }] }');
console.log(require('./lib'), require('./lib/').data === require('./data'));
// program: finds packages in node_modules
const fs = require('fs');
fs.mkdirSync('node_modules/plain', { recursive: true });
fs.mkdirSync('node_modules/@scope/pkg/dist', { recursive: true });
fs.writeFileSync('node_modules/plain/index.js', 'module.exports = () => "plain";');
fs.writeFileSync('node_modules/@scope/pkg/package.json', JSON.stringify({ exports: { '.': { require: './dist/main.cjs', import: './dist/main.mjs' }, './feature/*': './dist/*.js', './private': null } }));
fs.writeFileSync('node_modules/@scope/pkg/dist/main.cjs', 'module.exports = "cjs";');
fs.writeFileSync('node_modules/@scope/pkg/dist/main.mjs', 'export default "esm";');
fs.writeFileSync('node_modules/@scope/pkg/dist/one.js', 'module.exports = "feature one";');
console.log(require('plain')(), require('@scope/pkg'), require('@scope/pkg/feature/one'));
try { require('@scope/pkg/private'); } catch (e) { console.log(e.code); }
try { require('@scope/pkg/other'); } catch (e) { console.log(e.code); }
import('@scope/pkg').then((m) => console.log(m.default));
// program: reports modules that do not exist
try { require('./nope'); } catch (e) { console.log(e.code, e.message.split('\n')[0], e instanceof Error); }
try { require('no-such-package-xyz'); } catch (e) { console.log(e.code, e.message.split('\n')[0]); }
try { require('node:nope'); } catch (e) { console.log(e.code, e.message); }
try { require(5); } catch (e) { console.log(e.code, e.message); }
try { require(''); } catch (e) { console.log(e.code, e.message); }
// program: caches modules and lists them
const fs = require('fs');
fs.writeFileSync('counter.js', 'let n = 0; exports.next = () => ++n;');
const a = require('./counter');
a.next();
console.log(require('./counter').next());
delete require.cache[require.resolve('./counter')];
console.log(require('./counter').next(), typeof require.resolve, require.resolve('fs'), require.resolve('node:path'));
// program: handles circular requires
const fs = require('fs');
fs.writeFileSync('a.js', 'exports.done = false; const b = require("./b"); exports.seen = b.done; exports.done = true;');
fs.writeFileSync('b.js', 'exports.done = false; const a = require("./a"); exports.seen = a.done; exports.done = true;');
console.log(require('./a'), require('./b'));
// process: is the main module
console.log(require.main === module, module.id, module.loaded, typeof module.exports, exports === module.exports, module.children.length);
module.exports = { answer: 42 };
console.log(exports === module.exports, typeof __filename, typeof __dirname, require('path').dirname(__filename) === __dirname);
// program: runs in sloppy mode
undeclared = 5;
console.log(undeclared, (function () { return this === globalThis; })(), 010, typeof require);
with ({ inWith: 1 }) { console.log(inWith); }
delete globalThis.undeclared;
// program: honours the strict directive
'use strict';
try { undeclaredStrict = 5; } catch (e) { console.log(e.name); }
console.log((function () { return this; })(), typeof require('os').EOL);
// program: returns at the top level
console.log('before', require('path').sep);
if (true) return;
console.log('never');
// program: requires ES modules
const fs = require('fs');
fs.writeFileSync('esm.mjs', 'export const a = 1; export function f() { return a; } export default class D {}');
fs.writeFileSync('plain.mjs', 'export const only = "named";');
const m = require('./esm.mjs');
console.log(m.a, m.f(), m.default.name, m.__esModule, Object.keys(m).sort());
console.log(require('./plain.mjs').only, require('./plain.mjs').__esModule);
fs.writeFileSync('waits.mjs', 'export const x = await 1;');
try { require('./waits.mjs'); } catch (e) { console.log(e.code); }
// program: detects ES module syntax in .js files
const fs = require('fs');
fs.writeFileSync('detected.js', 'import path from "path"; export const base = path.basename("/a/b.txt");');
fs.mkdirSync('typed');
fs.writeFileSync('typed/package.json', '{ "type": "module" }');
fs.writeFileSync('typed/x.js', 'export const strict = (function () { return this === undefined; })();');
fs.writeFileSync('typed/y.cjs', 'exports.sloppy = (function () { return this !== undefined; })();');
console.log(require('./typed/x.js').strict, require('./typed/y.cjs').sloppy);
import('./detected.js').then((m) => console.log(m.base));
// program: throws the error of a module at each require
const fs = require('fs');
fs.writeFileSync('broken.js', 'throw new RangeError("at load");');
for (let i = 0; i < 2; i++) try { require('./broken'); } catch (e) { console.log(e.name, e.message); }
fs.writeFileSync('bad.json', '{ nope }');
try { require('./bad.json'); } catch (e) { console.log(e.name, e.message.includes('bad.json')); }
// program: creates require functions and lists built-in modules
const { createRequire, builtinModules, isBuiltin } = require('module');
console.log(createRequire('/app/x.js')('path') === require('path'), builtinModules.includes('fs'), isBuiltin('node:fs'), isBuiltin('nope'), isBuiltin('fs/promises'));
try { createRequire('relative'); } catch (e) { console.log(e.code); }
// program: shares built-in modules between all forms
const fs = require('fs');
console.log(require('node:fs') === fs, require('fs').promises === require('fs/promises'), require('path').posix === require('path'), require('util').types === require('util/types'), require('assert').strict === require('assert/strict'), require('buffer').Buffer === Buffer, require('process') === process, require('timers').setTimeout === setTimeout, require('url').URL === URL, require('events') === require('events').EventEmitter);
// program: loads modules that need a network or processes
for (const name of ['http', 'https', 'net', 'child_process', 'cluster', 'dgram', 'dns', 'tls', 'http2']) console.log(name, typeof require(name), typeof require('node:' + name));
console.log(require('http').STATUS_CODES[404], require('http').METHODS.includes('GET'), require('net').isIP('1.2.3.4'), require('net').isIP('::1'), require('net').isIP('x'), require('cluster').isPrimary);
// module: imports names, defaults and namespaces of built-in modules
import fs, { readFileSync, writeFileSync as write } from 'node:fs';
import * as path from 'path';
import { default as util, inspect } from 'util';
console.log(fs.readFileSync === readFileSync, typeof write, path.join('a', 'b'), path.default.sep, util.inspect === inspect);
// module: imports CommonJS files
import fs from 'fs';
fs.writeFileSync('c.cjs', 'exports.a = 1; exports.b = function () { return 2; }; module.exports.c = [3];');
fs.writeFileSync('d.cjs', 'module.exports = class Foo {};');
const c = await import(`${process.cwd()}/c.cjs`);
console.log(c.a, c.b(), c.c, Object.keys(c).filter((k) => k !== 'module.exports').sort(), c.default);
const d = await import(`${process.cwd()}/d.cjs`);
console.log(d.default.name, typeof d.default);
// module: imports JSON through require
import { createRequire } from 'node:module';
import { writeFileSync } from 'node:fs';
const require = createRequire(`${process.cwd()}/x.js`);
writeFileSync('data.json', '{"a":1}');
console.log(require('./data.json'), (await import('node:path')).sep);
// module: has live bindings and top-level await
import { writeFileSync } from 'fs';
writeFileSync('live.mjs', 'export let n = 0; export const inc = () => ++n; export default function named() {}');
const live = await import(`${process.cwd()}/live.mjs`);
live.inc();
console.log(live.n, live.default.name, Object.prototype.toString.call(live), live);
try { live.n = 5; } catch (e) { console.log(e.name); }
// module: has import.meta and no CommonJS names in strict mode
console.log(typeof import.meta.url, import.meta.url.startsWith('file:///'), typeof import.meta.dirname, typeof import.meta.filename, typeof import.meta.resolve);
console.log((function () { return this; })());
// module: handles cycles and evaluation order of ES modules
import { writeFileSync } from 'fs';
writeFileSync('x.mjs', 'import { y } from "./y.mjs"; console.log("x"); export const x = 1; export const getY = () => y;');
writeFileSync('y.mjs', 'import { getY } from "./x.mjs"; console.log("y"); export const y = 2; export const viaX = () => getY();');
const y = await import(`${process.cwd()}/y.mjs`);
console.log(y.viaX());
// module: rejects imports of missing modules
for (const name of ['./missing.mjs', 'no-such-package-xyz', 'node:nope']) await import(name).catch((e) => console.log(e instanceof Error, typeof e.message));
