// program: counts words in a file
const fs = require('fs');
fs.writeFileSync('text.txt', 'the cat and the dog\nand the bird\n');
const counts = {};
for (const word of fs.readFileSync('text.txt', 'utf8').split(/\s+/).filter(Boolean)) counts[word] = (counts[word] || 0) + 1;
console.log(Object.entries(counts).sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0])));
console.table(Object.entries(counts).map(([word, count]) => ({ word, count })));
// program: parses CSV and groups rows
const fs = require('node:fs');
fs.writeFileSync('sales.csv', 'region,amount\nnorth,10.5\nsouth,20\nnorth,4.25\n');
const [header, ...lines] = fs.readFileSync('sales.csv', 'utf8').trim().split('\n').map((line) => line.split(','));
const rows = lines.map((line) => Object.fromEntries(line.map((cell, i) => [header[i], cell])));
const totals = rows.reduce((map, { region, amount }) => map.set(region, (map.get(region) ?? 0) + Number(amount)), new Map());
console.log(rows, totals, [...totals].map(([k, v]) => `${k}: ${v.toFixed(2)}`).join('; '));
// program: writes a report in Markdown
const fs = require('fs');
const path = require('path');
fs.mkdirSync('out/reports', { recursive: true });
const data = [{ name: 'A', ok: true }, { name: 'B', ok: false }];
const lines = ['# Report', '', '| name | ok |', '|---|---|', ...data.map((row) => `| ${row.name} | ${row.ok ? 'yes' : 'no'} |`)];
const file = path.join('out', 'reports', 'report.md');
fs.writeFileSync(file, `${lines.join('\n')}\n`);
console.log(fs.readFileSync(file, 'utf8'), fs.statSync(file).size, path.parse(file));
// program: merges JSON configurations deeply
const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);
function merge(target, source) {
  for (const key of Object.keys(source)) target[key] = isObject(source[key]) && isObject(target[key]) ? merge({ ...target[key] }, source[key]) : source[key];
  return target;
}
console.log(merge({ a: { b: 1, c: [1] }, d: 1 }, { a: { c: [2], e: { f: null } }, d: undefined }));
// program: implements an LRU cache with a Map
class LRU extends Map {
  #max;
  constructor(max) { super(); this.#max = max; }
  get(key) { if (!this.has(key)) return undefined; const value = super.get(key); super.delete(key); super.set(key, value); return value; }
  set(key, value) { super.delete(key); super.set(key, value); if (this.size > this.#max) super.delete(this.keys().next().value); return this; }
}
const cache = new LRU(2);
cache.set('a', 1).set('b', 2); cache.get('a'); cache.set('c', 3);
console.log(cache, [...cache.keys()]);
// program: solves a maze with breadth-first search
const maze = ['S.#', '..#', '#.E'].map((row) => [...row]);
const queue = [[0, 0, 0]]; const seen = new Set(['0,0']); let answer = -1;
while (queue.length) {
  const [r, c, d] = queue.shift();
  if (maze[r][c] === 'E') { answer = d; break; }
  for (const [dr, dc] of [[0, 1], [1, 0], [0, -1], [-1, 0]]) {
    const [y, x] = [r + dr, c + dc];
    if (maze[y]?.[x] && maze[y][x] !== '#' && !seen.has(`${y},${x}`)) { seen.add(`${y},${x}`); queue.push([y, x, d + 1]); }
  }
}
console.log(answer, seen);
// program: computes primes, factorials and Fibonacci numbers with BigInt
const sieve = (n) => { const s = new Uint8Array(n + 1); const out = []; for (let i = 2; i <= n; i++) { if (s[i]) continue; out.push(i); for (let j = i * i; j <= n; j += i) s[j] = 1; } return out; };
const factorial = (n) => (n <= 1n ? 1n : n * factorial(n - 1n));
function* fibonacci() { let [a, b] = [0n, 1n]; for (;;) { yield a; [a, b] = [b, a + b]; } }
const iterator = fibonacci(); const first = Array.from({ length: 12 }, () => iterator.next().value);
console.log(sieve(60), factorial(25n), first, 2n ** 64n, -7n / 2n, BigInt.asUintN(8, 257n));
// program: matches text with regular expressions
const text = 'Order #123 from 2024-03-01, order #77 from 2023-12-24.';
console.log(text.match(/#\d+/g), /(?<y>\d{4})-(?<m>\d\d)/.exec(text).groups, [...text.matchAll(/#(\d+)/g)].map((m) => [m.index, m[1]]));
console.log(text.replace(/(\d{4})-(\d\d)-(\d\d)/g, '$3.$2.$1'), text.replace(/order/gi, (m) => m.toUpperCase()), 'a1b2'.split(/(\d)/), /^\p{Lu}/u.test('Éa'), 'x'.replace('x', '$&$&'));
console.log(/a.c/s.exec('a\nc'), /(a)|(b)/.exec('b'), 'aBc'.search(/[A-Z]/), /\bfoo\b/y.sticky);
// program: sorts with several keys and stable order
const people = [{ n: 'Bo', a: 30 }, { n: 'Al', a: 25 }, { n: 'Cy', a: 30 }, { n: 'Di', a: 25 }];
console.log(people.toSorted((x, y) => x.a - y.a), [...people].sort((x, y) => y.a - x.a || x.n.localeCompare(y.n)), [10, 9, 1].sort(), ['b', undefined, 'a', , 'c'].sort());
console.log(people.findLast((p) => p.a === 30), people.at(-1), [1, 2, 3].with(1, 9), [3, 1].toReversed());
// program: validates input and reports errors
class ValidationError extends Error {
  constructor(field, message, options) { super(`${field}: ${message}`, options); this.name = 'ValidationError'; this.field = field; }
}
function validate(user) {
  if (typeof user.name !== 'string') throw new ValidationError('name', 'must be text');
  try { JSON.parse(user.json); } catch (cause) { throw new ValidationError('json', 'is invalid', { cause }); }
  return true;
}
for (const user of [{ name: 'x', json: '{}' }, {}, { name: 'x', json: '{' }]) {
  try { console.log(validate(user)); } catch (e) { console.log(e instanceof ValidationError, e.name, e.message, e.field, e.cause instanceof SyntaxError, String(e)); }
}
// program: encodes and decodes text in several formats
const text = 'Grüße 😀';
const bytes = Buffer.from(text);
console.log(bytes, bytes.toString('base64'), bytes.toString('hex'), Buffer.from(bytes.toString('base64url'), 'base64url').toString(), encodeURIComponent(text), decodeURIComponent('%F0%9F%98%80'), escape(text), btoa('abc'), atob('YWJj'), bytes.length, text.length, [...text].length);
// program: formats numbers and dates without locale data
console.log((1234.5678).toFixed(2), (0.1 + 0.2).toPrecision(3), (255).toString(16), (255).toString(2).padStart(10, '0'), Number('0x1f'), parseInt('12px', 10), parseFloat('3.14abc'), (1e21).toString(), (123.456).toExponential(2), Number.MAX_SAFE_INTEGER, 0.000001, 1e-7, -0, [-0], NaN);
const date = new Date(Date.UTC(2024, 1, 29, 12, 30, 5, 7));
console.log(date.toISOString(), JSON.stringify({ date }), date.getTime(), date, [date], new Date('2024-02-30').getTime(), new Date(NaN), Date.parse('2024-01-01T00:00:00Z'), date.toUTCString(), new Date('invalid'));
// program: uses template literals and tagged templates
const tag = (strings, ...values) => ({ strings: [...strings], raw: [...strings.raw], values });
console.log(tag`a\n${1}b${{ x: 1 }}`, String.raw`C:\n${1}`, `${[1, 2]} ${{}} ${null} ${() => 1}`);
// program: destructures, spreads and uses optional chaining
const { a, b: { c = 5, ...rest } = {}, ...others } = { a: 1, b: { d: 2, e: 3 }, f: 4 };
const [x, , y = 9, ...z] = [1, 2, undefined, 4, 5];
const none = undefined;
console.log(a, c, rest, others, x, y, z, none?.a?.b, none?.[0], none?.(), a ?? 1, 0 || 'or', 0 ?? 'nullish', { ...[9], ...null }, Math.max(...[1, 5, 2]));
// program: defines classes with private members, statics and accessors
class Account {
  static #count = 0; static total = 0; #balance = 0; owner;
  static { Account.kind = 'bank'; }
  constructor(owner) { this.owner = owner; Account.#count++; }
  get balance() { return this.#balance; } set balance(v) { throw new Error('read-only'); }
  deposit(n) { this.#balance += n; return this; }
  #secret() { return 1; } reveal() { return this.#secret(); }
  static get count() { return Account.#count; } static isAccount(o) { return #balance in o; }
  [Symbol.toPrimitive](hint) { return hint === 'number' ? this.#balance : `${this.owner}'s`; }
}
const one = new Account('Ann').deposit(5);
console.log(one, one.balance, +one, `${one}`, Account.count, Account.isAccount({}), Account.kind, one.reveal(), Account, Object.keys(one));
try { one.balance = 1; } catch (e) { console.log(e.message); }
// program: walks prototypes and mixes in methods
const Flying = (Base) => class extends Base { fly() { return `${this.name} flies`; } };
class Animal { constructor(name) { this.name = name; } toString() { return `Animal(${this.name})`; } }
class Bird extends Flying(Animal) {}
const bird = new Bird('Tweety');
console.log(bird, bird.fly(), String(bird), bird instanceof Animal, Object.getPrototypeOf(Bird.prototype).constructor.name, Bird.name, Object.create({ inherited: 1 }), Object.create(null));
// program: implements iterators and generators
class Range { constructor(a, b) { this.a = a; this.b = b; } *[Symbol.iterator]() { for (let i = this.a; i < this.b; i++) yield i; } }
function* inner() { const got = yield 'first'; console.log('got', got); try { yield 'second'; } finally { console.log('closed'); } return 'result'; }
const g = inner();
console.log([...new Range(1, 4)], g.next(), g.next('value'), g.return('early'), g.next(), Array.from(new Range(0, 3), (n) => n * n), new Map([...new Range(0, 2)].map((n) => [n, n])));
const entries = Object.entries({ a: 1 })[Symbol.iterator](); console.log(entries.next(), entries[Symbol.toStringTag], g[Symbol.toStringTag]);
// program: traps operations with proxies and Reflect
const log = [];
const target = { a: 1 };
const proxy = new Proxy(target, { get(t, k, r) { log.push(`get ${String(k)}`); return Reflect.get(t, k, r); }, set(t, k, v) { log.push(`set ${k}`); t[k] = v * 2; return true; }, has: (t, k) => k.startsWith('x'), deleteProperty: (t, k) => { log.push(`delete ${k}`); return delete t[k]; }, ownKeys: () => ['a', 'b'], getOwnPropertyDescriptor: () => ({ configurable: true, enumerable: true, value: 0 }) });
proxy.b = 2; proxy.a; delete proxy.b;
console.log('xyz' in proxy, 'a' in proxy, Object.keys(proxy), target, log, Reflect.ownKeys({ b: 1, 2: 1, [Symbol('s')]: 1, 1: 1 }));
// program: uses symbols, weak references and global registries
const key = Symbol('key');
const object = { [key]: 1, [Symbol.for('app')]: 2 };
const weak = new WeakMap([[object, 'data']]);
console.log(object, key.description, Symbol.keyFor(Symbol.for('app')), weak.get(object), weak, new WeakRef(object).deref() === object, key.toString(), Symbol.iterator);
// program: manipulates arrays of all kinds
const nested = [1, [2, [3, [4]]]];
console.log(nested.flat(Infinity), [1, 2].flatMap((n) => [n, n * 10]), Array(3), Array.from({ length: 3 }), new Array(3).fill(0), [1, 2, 3, 4].copyWithin(0, 2), [1, 2, 3].splice(1, 1), [..."abc"].entries().next(), Array.isArray([]), [, 1], [1, 2, 3].indexOf(4), [NaN].includes(NaN), [3, 2, 1].reduceRight((s, n) => s + n, ''), [[1, 'a'], [2, 'b']].map(([n, s]) => s.repeat(n)));
// program: converts between JSON and values
console.log(JSON.stringify({ a: [1, { b: undefined, c: () => 1, d: Symbol('x') }], e: NaN, f: new Date(0), g: new Map([[1, 2]]), h: [undefined] }, null, 2));
console.log(JSON.stringify({ b: 1, a: { c: 2 } }, ['a', 'c']), JSON.stringify([new Set([1]), Infinity, 'é\u2028"\n']), JSON.parse('[1,{"a":null}]', (k, v) => (typeof v === 'number' ? v + 1 : v)), JSON.stringify({ toJSON: () => 'x' }), JSON.stringify('x', null, '--'), JSON.stringify(undefined), JSON.stringify({ n: 1n }.n.toString()));
for (const bad of ['{a:1}', '[1,]', '']) try { JSON.parse(bad); } catch (e) { console.log(e.name, e instanceof SyntaxError); }
try { const c = {}; c.c = c; JSON.stringify(c); } catch (e) { console.log(e.name); }
// program: works with strings and Unicode
const s = 'naïve café ﬁ 👩‍👧';
console.log(s.normalize('NFD').length, s.normalize('NFKC'), s.toUpperCase(), 'İ'.toLowerCase().length, 'ß'.toUpperCase(), s.codePointAt(13), String.fromCodePoint(128512), 'abc'.at(-1), 'a-b-c'.replaceAll('-', '+'), ' x '.trim(), 'abc'.padEnd(5, '*') + '|', 'a,b'.split(','), 'abcabc'.lastIndexOf('b'), 'x'.localeCompare('y'), '\ud800'.isWellFormed?.(), 'b' > 'a', 'Z' < 'a', 'abc'.substring(2, 0), 'abc'.slice(-2), 'abc'.substr(1, 1));
// program: throws the errors of common mistakes
const attempts = [() => null.x, () => undefined.x.y, () => missing, () => { const c = 1; c = 2; }, () => (1)(), () => ({}).f(), () => new (class { constructor() { this.x(); } })(), () => [].reduce((a, b) => a), () => 'x'.repeat(-1), () => new Array(-1), () => (1).toFixed(101), () => BigInt(1.5), () => 1n + 1, () => Symbol() + '', () => JSON.parse('{'), () => decodeURIComponent('%'), () => new Proxy({}, null), () => { x; let x; }, () => { class A { constructor() { new.target.x.y; } } new A(); }, () => Object.defineProperty(Object.freeze({}), 'a', { value: 1 }), () => structuredClone(() => 1)];
for (const attempt of attempts) { try { attempt(); console.log('no error'); } catch (error) { console.log(error.name, error instanceof Error, Object.prototype.toString.call(error)); } }
// program: schedules tasks by dependencies
const deps = { app: ['lib', 'util'], lib: ['util'], util: [], test: ['app'] };
const order = []; const state = {};
function visit(name, trail = []) { if (state[name] === 2) return; if (state[name] === 1) throw new Error(`cycle: ${[...trail, name].join(' -> ')}`); state[name] = 1; for (const d of deps[name]) visit(d, [...trail, name]); state[name] = 2; order.push(name); }
Object.keys(deps).forEach((name) => visit(name));
console.log(order); deps.util.push('app'); for (const k in state) delete state[k];
try { visit('test'); } catch (e) { console.log(e.message); }
// program: simulates a bank with events
const EventEmitter = require('events');
class Bank extends EventEmitter { constructor() { super(); this.accounts = new Map(); } open(id) { this.accounts.set(id, 0); this.emit('open', id); } move(from, to, n) { if ((this.accounts.get(from) ?? 0) < n) { this.emit('refused', { from, to, n }); return false; } this.accounts.set(from, this.accounts.get(from) - n); this.accounts.set(to, this.accounts.get(to) + n); this.emit('moved', from, to, n); return true; } }
const bank = new Bank(); bank.on('open', (id) => console.log('open', id)); bank.once('refused', (e) => console.log('refused', e)); bank.on('moved', (...a) => console.log('moved', a));
bank.open('a'); bank.open('b'); bank.accounts.set('a', 10); bank.move('a', 'b', 4); bank.move('b', 'a', 40); bank.move('b', 'a', 50); console.log(bank.accounts, bank.eventNames(), bank.listenerCount('refused'));
// program: computes statistics
const data = [2, 4, 4, 4, 5, 5, 7, 9];
const mean = data.reduce((a, b) => a + b) / data.length; const variance = data.reduce((s, x) => s + (x - mean) ** 2, 0) / data.length;
const median = (list) => { const s = [...list].sort((a, b) => a - b); const m = s.length >> 1; return s.length % 2 ? s[m] : (s[m - 1] + s[m]) / 2; };
console.log({ mean, variance, sd: Math.sqrt(variance), median: median(data), min: Math.min(...data), hypot: Math.hypot(3, 4), trunc: Math.trunc(-4.7), sign: Math.sign(-3), cbrt: Math.cbrt(27), log: Math.log10(1000), clz: Math.clz32(1), imul: Math.imul(3, 4), fround: Math.fround(5.5), atan: Math.atan2(1, 1).toFixed(6) });
// program: inverts and multiplies matrices
const multiply = (a, b) => a.map((row) => b[0].map((_, j) => row.reduce((s, v, k) => s + v * b[k][j], 0)));
const transpose = (m) => m[0].map((_, i) => m.map((row) => row[i]));
const invert = ([[a, b], [c, d]]) => { const det = a * d - b * c; return [[d / det, -b / det], [-c / det, a / det]]; };
const m = [[4, 7], [2, 6]]; console.log(multiply(m, m), transpose([[1, 2, 3], [4, 5, 6]]), invert(m).map((r) => r.map((v) => +v.toFixed(3)))); console.table(m); console.table([[1, 'a'], [2, 'b']], ['1']);
// program: parses an arithmetic expression
function parse(text) {
  const tokens = text.match(/\d+(?:\.\d+)?|[-+*/()]/g); let i = 0;
  const factor = () => { const t = tokens[i++]; if (t === '(') { const v = sum(); i++; return v; } if (t === '-') return -factor(); if (!/\d/.test(t)) throw new SyntaxError(`unexpected ${t}`); return Number(t); };
  const product = () => { let v = factor(); while ('*/'.includes(tokens[i] ?? ' ')) v = tokens[i++] === '*' ? v * factor() : v / factor(); return v; };
  const sum = () => { let v = product(); while ('+-'.includes(tokens[i] ?? ' ')) v = tokens[i++] === '+' ? v + product() : v - product(); return v; };
  return sum();
}
for (const e of ['1+2*3', '(1+2)*3/4', '-2*-3', '*1']) { try { console.log(e, '=', parse(e)); } catch ({ name, message }) { console.log(name, message); } }
// program: memoizes, debounces, curries and composes functions
const memoize = (f, cache = new Map()) => (n) => cache.get(n) ?? cache.set(n, f(n)).get(n);
let calls = 0; const slow = memoize((n) => { calls++; return n * n; }); slow(4); slow(4);
const curry = (f) => function c(...a) { return a.length >= f.length ? f(...a) : (...b) => c(...a, ...b); };
const pipe = (...fs) => (x) => fs.reduce((v, f) => f(v), x);
const debounce = (f, ms) => { let t; return (...a) => { clearTimeout(t); t = setTimeout(() => f(...a), ms); }; };
const say = debounce((x) => console.log('debounced', x), 10); say(1); say(2);
console.log(calls, curry((a, b, c) => a + b + c)(1)(2, 3), pipe((x) => x + 1, String, (s) => s.padStart(3, '0'))(4));
// program: renders text tables and boxes
const rows = [['id', 'name'], [1, 'Ann'], [22, 'Bob']];
const widths = rows[0].map((_, i) => Math.max(...rows.map((r) => String(r[i]).length)));
const line = (l, m, r) => l + widths.map((w) => '─'.repeat(w + 2)).join(m) + r;
console.log([line('┌', '┬', '┐'), ...rows.map((r) => `│${r.map((c, i) => ` ${String(c).padEnd(widths[i])} `).join('│')}│`), line('└', '┴', '┘')].join('\n'));
// program: compares versions and dates
const compare = (a, b) => { const [x, y] = [a, b].map((v) => v.split('.').map(Number)); for (let i = 0; i < 3; i++) if ((x[i] ?? 0) !== (y[i] ?? 0)) return (x[i] ?? 0) - (y[i] ?? 0); return 0; };
console.log(['1.10.0', '1.2.9', '1.2'].sort(compare)); const day = 86400000; const a = new Date('2024-02-28T00:00:00Z'); const days = Array.from({ length: 3 }, (_, i) => new Date(+a + i * day).toISOString().slice(0, 10)); console.log(days, (new Date('2025-01-01') - a) / day, a.getUTCDay(), new Date(2020, 0, 31).getMonth());
// program: manages a to-do list stored in a file
const fs = require('fs');
const load = () => (fs.existsSync('todo.json') ? JSON.parse(fs.readFileSync('todo.json', 'utf8')) : []);
const save = (list) => fs.writeFileSync('todo.json', JSON.stringify(list, null, 2));
const add = (title) => { const list = load(); list.push({ id: list.length + 1, title, done: false }); save(list); };
add('write'); add('test'); save(load().map((t) => (t.id === 1 ? { ...t, done: true } : t)));
console.log(load(), fs.readFileSync('todo.json', 'utf8').split('\n').length, load().filter((t) => !t.done).length);
// program: finds duplicate files by hash
const fs = require('fs'); const crypto = require('crypto'); const path = require('path');
fs.mkdirSync('d/e', { recursive: true }); fs.writeFileSync('d/a', 'same'); fs.writeFileSync('d/e/b', 'same'); fs.writeFileSync('d/c', 'other');
const walk = (dir) => fs.readdirSync(dir, { withFileTypes: true }).sort((x, y) => (x.name < y.name ? -1 : 1)).flatMap((e) => (e.isDirectory() ? walk(path.join(dir, e.name)) : [path.join(dir, e.name)]));
const groups = {}; for (const file of walk('d')) (groups[crypto.createHash('sha1').update(fs.readFileSync(file)).digest('hex').slice(0, 8)] ??= []).push(file);
console.log(groups, walk('d'));
// program: converts between units with a table of data
const factors = { km: 1000, m: 1, cm: 0.01, mi: 1609.344 };
const convert = (value, from, to) => { if (!(from in factors) || !(to in factors)) throw new RangeError(`unknown unit: ${from in factors ? to : from}`); return (value * factors[from]) / factors[to]; };
console.log(convert(1, 'mi', 'km'), convert(5, 'km', 'm')); try { convert(1, 'ly', 'm'); } catch (e) { console.log(`${e}`); }
// program: uses labelled loops, switch and comma expressions
outer: for (let i = 0; i < 3; i++) { for (let j = 0; j < 3; j++) { if (j === 2) continue outer; if (i === 2) break outer; console.log(i, j); } }
const kind = (x) => { switch (true) { case x < 0: return 'negative'; case x === 0: return 'zero'; default: return 'positive'; } };
let n = 0; do { n += 3; } while (n < 10); console.log(kind(-1), kind(0), kind(1), n, (1, 2), void 0, typeof null, typeof kind, delete [].x); for (const k in 'ab') console.log(k); for (const c of 'ab') console.log(c);
// program: calls functions with this, arguments and defaults
function show(a, b = a + 1, ...rest) { return [this?.tag, a, b, rest, arguments.length]; }
console.log(show.call({ tag: 't' }, 1), show.apply({ tag: 'u' }, [1, 2, 3]), show.bind({ tag: 'v' }, 9)(8), show.length, show.name, (() => {}).name, new (function Thing() { this.x = 1; })());
// program: quotes the assertion that failed among several
const assert = require('assert');
const show = (f) => { try { f(); } catch (e) { console.log(e.message); } };
show(() => { assert(1); assert(0); });
show(() => { assert.ok(1), assert.ok(null, undefined); });
show(() => assert(0));
show(() => assert.equal(assert(false), 1));
show(() => { assert(typeof 123 === 'string') });
function check(v) { assert(v); }
show(() => { assert(1); check(0); assert(2) });
show(() => { assert.ok(
  [1, 2].every((x) => x > 1),
); });
const { ok, strict } = assert;
show(() => { ok(0 == 1); strict(''); });
show(() => { strict(''); ok(1) });
const a2 = assert;
show(() => { a2(0) });
show(() => { assert(ok(1) === 5) });
show(() => { if (assert.ok(1) || !0) assert.ok("" && ")") });
class T { m() { this.assert = assert; this.assert(0); } }
show(() => new T().m());
[0].forEach(assert.doesNotThrow ? (x) => show(() => assert(x)) : 0);
try { [0].forEach((v) => assert(v)); } catch (e) { console.log(e.message) }
try { [0].forEach(assert); } catch (e) { console.log(e.message) }
// program: reads .env files
const fs = require('fs');
const util = require('util');
const text = 'B=1\nexport A = two words # comment\n# note\n\nC="x\\ny"\nD=\'a # b\'\nE=`t`\nF=\nG="open\nB=3\r\nH=a=b';
console.log(util.parseEnv(text));
fs.writeFileSync('.env', 'FROM_FILE=yes\nKEPT=ignored');
process.env.KEPT = 'earlier';
process.loadEnvFile();
console.log(process.env.FROM_FILE, process.env.KEPT);
for (const run of [() => process.loadEnvFile('missing.env'), () => util.parseEnv(1)])
  try { run(); } catch (e) { console.log(e.code, e.message); }
// program: converts domain names with punycode
const punycode = require('punycode');
for (const name of ['münchen.de', '例え.テスト', 'user@bücher.example', 'plain.org', '😀.ws', 'a。b'])
  console.log(punycode.toASCII(name), punycode.toUnicode(punycode.toASCII(name)));
console.log(punycode.encode('mañana'), punycode.decode('maana-pta'), punycode.ucs2.decode('a😀'), punycode.ucs2.encode([97, 128512]));
try { punycode.decode('xn--\u00e4'); } catch (e) { console.log(e.name, e.message); }
// module: connects two streams, and opens a file as a blob
import { openAsBlob, writeFileSync } from 'node:fs';
import { duplexPair } from 'node:stream';
const [left, right] = duplexPair({ encoding: 'utf8' });
const seen = [];
right.on('data', (chunk) => { seen.push(`right ${chunk}`); right.write(chunk.toUpperCase()); });
right.on('end', () => right.end('bye'));
left.on('data', (chunk) => seen.push(`left ${chunk}`));
left.write('one');
left.end('two');
await new Promise((resolve) => left.on('close', resolve));
console.log(seen);
writeFileSync('b.txt', 'héllo');
const blob = await openAsBlob('b.txt', { type: 'text/plain' });
console.log(blob.size, blob.type, await blob.text());
try { await openAsBlob('missing'); } catch (e) { console.log(e.code, e.message); }
// program: prints dates as text with their time zone
process.env.TZ = "UTC";
const d = new Date(Date.UTC(2024, 0, 31, 12));
console.log(String(d), d + '', `${d}`, d.toTimeString(), d.toDateString(), d.toUTCString(), new Date(NaN).toString(), new Date(NaN).toTimeString());
console.log(d.toString.name, d.toString.length, [d, 1].join(' | '));
// program: prints classes that extend the result of a call
const mixin = (Base) => class extends Base { hi() { return `hi ${this.name}`; } };
class Shape { constructor(name) { this.name = name; } }
class Named extends mixin(Shape) {}
console.log(Named, new Named('q'), mixin(Shape), class extends Shape {}, class /* ( */ A {}, [Named, Shape]);
