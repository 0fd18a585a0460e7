// process: sales report from CSV
const fs = require('fs');
const path = require('path');
const csv = `date,region,product,units,price
2024-01-05,North,Widget,10,2.50
2024-01-06,South,Gadget,3,19.99
2024-02-10,North,"Gizmo, large",1,149.00
2024-02-11,East,Widget,25,2.45
2024-03-01,South,"He said ""hi""",2,5`;
fs.writeFileSync('sales.csv', csv);
function parseCsv(text) {
  const rows = []; let row = [], field = '', q = false;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (q) { if (c === '"' && text[i + 1] === '"') { field += '"'; i++; } else if (c === '"') q = false; else field += c; }
    else if (c === '"') q = true;
    else if (c === ',') { row.push(field); field = ''; }
    else if (c === '\n') { row.push(field); rows.push(row); row = []; field = ''; }
    else field += c;
  }
  row.push(field); rows.push(row);
  const [head, ...body] = rows;
  return body.map(r => Object.fromEntries(head.map((h, i) => [h, r[i]])));
}
const rows = parseCsv(fs.readFileSync(path.join(process.cwd(), 'sales.csv'), 'utf-8')).map(r => ({ ...r, units: +r.units, price: parseFloat(r.price) }));
console.table(rows);
const byRegion = rows.reduce((acc, r) => { (acc[r.region] ??= { units: 0, revenue: 0 }).units += r.units; acc[r.region].revenue += r.units * r.price; return acc; }, {});
console.log(byRegion);
const fmt = new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD' });
for (const [region, { units, revenue }] of Object.entries(byRegion).sort((a, b) => b[1].revenue - a[1].revenue)) {
  console.log(`${region.padEnd(8)}|${String(units).padStart(5)}|${fmt.format(revenue).padStart(12)}`);
}
console.log('='.repeat(27));
console.log('Total: %s over %d rows', fmt.format(rows.reduce((s, r) => s + r.units * r.price, 0)), rows.length);
const months = Map.groupBy ? 'has groupBy' : 'no groupBy';
console.log(typeof months);
// process: text report of word frequencies
const text = `It was the best of times, it was the worst of times, it was the age of wisdom, it was the age of foolishness…
Déjà vu — naïve façade; "quotes" don't matter.`;
const words = text.toLowerCase().match(/\p{L}+(?:'\p{L}+)?/gu);
const freq = new Map();
for (const w of words) freq.set(w, (freq.get(w) || 0) + 1);
const sorted = [...freq].sort(([a, x], [b, y]) => y - x || a.localeCompare(b));
console.log(sorted.slice(0, 5));
console.log(freq);
console.log(freq.entries().next(), freq.keys(), new Set(words.slice(0, 4)).values());
const longest = words.reduce((a, b) => (b.length > a.length ? b : a));
console.log({ total: words.length, unique: freq.size, longest, avg: (words.join('').length / words.length).toFixed(2) });
console.log(text.normalize('NFD').replace(/[\u0300-\u036f]/g, '').split('\n').at(-1));
console.log([...text.matchAll(/(?<first>\b\w)(?<rest>\w{6,})/g)].map(m => ({ ...m.groups, index: m.index })));
// process: dates and durations
const d = new Date('2024-02-28T22:30:00Z');
const addDays = (x, n) => { const y = new Date(x); y.setUTCDate(y.getUTCDate() + n); return y; };
for (let i = 0; i < 4; i++) console.log(addDays(d, i).toISOString().slice(0, 10), addDays(d, i).getUTCDay());
console.log(d);
console.log(d.toDateString(), '|', d.toUTCString(), '|', d.toJSON());
console.log(d.toLocaleDateString('en-US', { weekday: 'long', year: 'numeric', month: 'long', day: 'numeric', timeZone: 'UTC' }));
console.log(d.toLocaleString('en-GB', { timeZone: 'Asia/Tokyo' }), d.toLocaleTimeString('en-US', { hour: '2-digit', minute: '2-digit', timeZone: 'America/New_York' }));
console.log(new Intl.DateTimeFormat('de-DE', { dateStyle: 'full', timeStyle: 'short', timeZone: 'Europe/Berlin' }).format(d));
console.log(new Intl.DateTimeFormat('en-US', { timeZone: 'UTC' }).formatToParts(d).map(p => p.type + '=' + p.value).join(' '));
const rtf = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
console.log(rtf.format(-1, 'day'), rtf.format(2, 'week'), rtf.format(0, 'month'));
const diff = new Date('2024-12-25') - new Date('2024-02-28');
console.log(Math.floor(diff / 864e5), 'days', new Date(NaN), String(new Date(NaN)));
console.log(Date.UTC(2024, 1, 29), new Date(2024, 1, 31).getMonth(), Date.parse('2024-02-28'), Date.parse('Feb 28, 2024 10:00 UTC'));
try { new Date(NaN).toISOString(); } catch (e) { console.log(e.name); }
function isoWeek(x) { const t = new Date(Date.UTC(x.getFullYear(), x.getMonth(), x.getDate())); t.setUTCDate(t.getUTCDate() + 4 - (t.getUTCDay() || 7)); return Math.ceil(((t - Date.UTC(t.getUTCFullYear(), 0, 1)) / 864e5 + 1) / 7); }
console.log(isoWeek(new Date(2024, 11, 30)), isoWeek(new Date(2021, 0, 3)));
console.log(new Intl.DateTimeFormat().resolvedOptions().locale);
// process: generators and lazy sequences
function* naturals(n = 1) { while (true) yield n++; }
function* take(it, n) { let i = 0; for (const x of it) { if (i++ >= n) return; yield x; } }
function* filter(it, f) { for (const x of it) if (f(x)) yield x; }
const isPrime = n => { for (let i = 2; i * i <= n; i++) if (n % i === 0) return false; return n > 1; };
console.log([...take(filter(naturals(), isPrime), 12)]);
function* walk(tree) { if (!tree) return; yield* walk(tree.l); yield tree.v; yield* walk(tree.r); }
console.log(Array.from(walk({ v: 5, l: { v: 2, l: { v: 1 } }, r: { v: 8, r: { v: 9 } } })));
const g = (function* () { try { const x = yield 1; console.log('got', x); yield 2; } finally { console.log('cleanup'); } })();
console.log(g.next(), g.next('hello'), g.return(42), g.next());
console.log(g, naturals, Object.prototype.toString.call(g));
class Range { constructor(a, b, s = 1) { Object.assign(this, { a, b, s }); } *[Symbol.iterator]() { for (let i = this.a; i < this.b; i += this.s) yield i; } }
console.log(Math.max(...new Range(0, 10, 3)), [...new Range(0, 3)].entries(), new Range(1, 2));
const zip = (...a) => a[0].map((_, i) => a.map(x => x[i]));
console.log(zip([1, 2], ['a', 'b'], [true, null]));
const fib = { *[Symbol.iterator]() { let [a, b] = [0n, 1n]; for (;;) { yield a; [a, b] = [b, a + b]; } } };
for (const f of fib) { if (f > 10n ** 20n) { console.log(f); break; } }
// process: classes with private fields and inheritance
class Account {
  #balance = 0; static #count = 0; static get count() { return Account.#count; }
  history = [];
  constructor(owner) { this.owner = owner; Account.#count++; }
  get balance() { return this.#balance; }
  set balance(_) { throw new TypeError('read only'); }
  deposit(n) { if (!(n > 0)) throw new RangeError(`Invalid amount: ${n}`); this.#balance += n; this.history.push({ type: 'deposit', n }); return this; }
  withdraw(n) { if (n > this.#balance) throw new InsufficientFunds(this.#balance, n); this.#balance -= n; this.history.push({ type: 'withdraw', n }); return this; }
  static isAccount(x) { return #balance in x; }
  toJSON() { return { owner: this.owner, balance: this.balance }; }
  [Symbol.toPrimitive](hint) { return hint === 'number' ? this.#balance : `Account<${this.owner}>`; }
  get [Symbol.toStringTag]() { return 'Acct'; }
}
class InsufficientFunds extends Error { constructor(have, want) { super(`Need ${want}, have ${have}`, { cause: 'limit' }); this.name = 'InsufficientFunds'; this.have = have; } }
class Savings extends Account { rate = 0.05; accrue() { return this.deposit(this.balance * this.rate); } static { this.kind = 'savings'; } }
const s = new Savings('Ann').deposit(100).accrue();
console.log(s, `${s}`, +s, s + '', JSON.stringify(s), Savings.kind, Account.count, Account.isAccount(s), Account.isAccount({}));
try { s.withdraw(1e6); } catch (e) { console.log(e instanceof InsufficientFunds, e.name, e.message, e.cause, Object.keys(e)); console.log(e.toString(), e.stack.split('\n')[0]); }
try { s.balance = 3; } catch (e) { console.log(`${e}`); }
try { s.deposit(-1); } catch ({ name, message }) { console.log({ name, message }); }
console.log(Savings, Account, class {}, [Savings], Object.getPrototypeOf(s) === Savings.prototype, Object.getOwnPropertyNames(Savings.prototype));
console.log(Object.create(null), Object.create({ a: 1 }), new (class Foo { x = 1; static y = 2 })(), new (class extends Map {})([[1, 2]]), new (class Stack extends Array {})(1, 2, 3));
// module: stream pipeline with transform
import { Readable, Transform, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createReadStream, createWriteStream, readFileSync, statSync, unlinkSync } from 'node:fs';
import { createGzip, createGunzip } from 'node:zlib';
import readline from 'node:readline';
import { writeFile } from 'node:fs/promises';
await writeFile('in.ndjson', Array.from({ length: 100 }, (_, i) => JSON.stringify({ id: i, value: i * i % 17 })).join('\n') + '\n');
const rl = readline.createInterface({ input: createReadStream('in.ndjson'), crlfDelay: Infinity });
let total = 0, n = 0;
for await (const line of rl) { const { value } = JSON.parse(line); total += value; n++; }
console.log({ total, n });
class Upper extends Transform { _transform(chunk, enc, cb) { cb(null, chunk.toString().toUpperCase()); } _flush(cb) { this.push('END\n'); cb(); } }
await pipeline(createReadStream('in.ndjson', { highWaterMark: 64 }), new Upper(), createGzip(), createWriteStream('out.gz'));
const chunks = [];
await pipeline(createReadStream('out.gz'), createGunzip(), async function* (src) { for await (const c of src) { chunks.push(c); yield c; } }, new Writable({ write(c, e, cb) { cb(); } }));
const s = Buffer.concat(chunks).toString();
console.log(s.length, s.slice(0, 30), s.slice(-20).replace(/\n/g, '\\n'));
const evens = Readable.from([1, 2, 3, 4, 5, 6]).filter(x => x % 2 === 0).map(async x => x * 10);
console.log(await evens.toArray());
const r = new Readable({ objectMode: true, read() {} });
r.push({ a: 1 }); r.push({ a: 2 }); r.push(null);
r.on('data', d => console.log('data', d)).on('end', () => console.log('end')).on('close', () => console.log('close'));
await new Promise(res => r.on('close', res));
try { await pipeline(Readable.from(['x']), async function* () { throw new Error('boom'); }, new Writable({ write(c, e, cb) { cb(); } })); } catch (e) { console.log('caught', e.message); }
console.log(statSync('out.gz').size > 50, readFileSync('out.gz').subarray(0, 3));
unlinkSync('out.gz');
// process: regular expressions for log parsing
const log = `192.168.1.10 - - [10/Oct/2023:13:55:36 +0000] "GET /index.html HTTP/1.1" 200 2326
10.0.0.5 - bob [10/Oct/2023:13:56:01 +0000] "POST /api/login HTTP/1.1" 401 128
192.168.1.10 - - [10/Oct/2023:13:57:12 +0000] "GET /missing HTTP/1.1" 404 0
garbage line
10.0.0.7 - - [10/Oct/2023:13:58:00 +0000] "GET /index.html HTTP/1.1" 500 99`;
const re = /^(?<ip>\S+) \S+ (?<user>\S+) \[(?<time>[^\]]+)\] "(?<method>[A-Z]+) (?<url>\S+) [^"]+" (?<status>\d{3}) (?<bytes>\d+)$/;
const entries = log.split('\n').map((l, i) => ({ line: i + 1, m: re.exec(l) })).filter(({ m, line }) => m || console.warn(`line ${line} skipped`));
for (const { line, m: { groups: { ip, status, url } } } of entries) console.log(`${line}: ${ip.padStart(15)} ${status} ${url}`);
console.log(entries[0].m);
console.log(entries[0].m.groups);
console.log('2024-03-15'.replace(/(\d+)-(\d+)-(\d+)/, '$3/$2/$1'), 'aBcD'.replace(/[a-z]/gi, c => c === c.toUpperCase() ? c.toLowerCase() : c.toUpperCase()));
console.log('a1b22c333'.split(/(\d+)/), 'x'.match(/y/), 'foo.bar(baz)'.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
const sticky = /\w+|\s+|[^\w\s]/y; const toks = []; let m; const src = 'let x = 42;'; while ((m = sticky.exec(src))) toks.push(m[0]); console.log(toks);
console.log(/(?<=\$)\d+(?:\.\d\d)?/.exec('cost: $42.50')[0], /(?<!\$)\b\d+/.exec('$42 7')[0], /^\p{Lu}/u.test('Éa'), 'x'.replaceAll('x', '$&$&'), /a.c/s.test('a\nc'));
console.log(/(\d+)(?<n>x)?/d.exec('ab12').indices[0], 'A-B_C d'.split(/[-_ ]/), RegExp('[').source);
// process: BigInt arithmetic
const fact = n => (n <= 1n ? 1n : n * fact(n - 1n));
console.log(fact(30n), String(fact(50n)), [1n, 2n], { big: 2n ** 64n });
const modpow = (b, e, m) => { let r = 1n; b %= m; while (e > 0n) { if (e & 1n) r = r * b % m; e >>= 1n; b = b * b % m; } return r; };
console.log(modpow(3n, 1000n, 1000000007n), BigInt.asUintN(8, 257n), BigInt.asIntN(8, 255n), BigInt('0xff'), -7n / 2n, -7n % 2n, 5n == 5, 5n === 5, 2n > 1);
try { 1n + 1; } catch (e) { console.log(e.name); }
try { JSON.stringify({ a: 1n }); } catch (e) { console.log(e.name); }
try { BigInt(1.5); } catch (e) { console.log(e.name); }
try { BigInt('abc'); } catch (e) { console.log(e.name); }
try { Math.max(1n); } catch (e) { console.log(e.name); }
console.log(JSON.stringify({ a: 10n }, (k, v) => typeof v === 'bigint' ? v.toString() + 'n' : v));
console.log((123456789012345678901234567890n).toLocaleString('en-US'), (255n).toString(16), Number(2n ** 53n), typeof 1n, Number.MAX_SAFE_INTEGER);
console.log([3n, 1, 2n, 10].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0)), new BigUint64Array([1n, 2n]));
// process: sorting with localeCompare
const names = ['Zoë', 'Ángel', 'angela', 'Äpfel', 'zebra', 'Émile', 'emil', 'Öl', 'oslo', 'item 10', 'item 2', 'Item 1'];
console.log([...names].sort());
console.log([...names].sort((a, b) => a.localeCompare(b)));
console.log([...names].sort(new Intl.Collator('de', { sensitivity: 'base', numeric: true }).compare));
console.log(names.toSorted((a, b) => a.localeCompare(b, undefined, { numeric: true, sensitivity: 'base' })));
console.log('a'.localeCompare('B'), 'a'.localeCompare('A'), 'résumé'.localeCompare('resume', 'en', { sensitivity: 'base' }), ['10', '9', '1'].sort(), [10, 9, 1].sort(), [3, undefined, 1].sort());
const people = [{ n: 'Bob', a: 30 }, { n: 'alice', a: 25 }, { n: 'Carl', a: 30 }];
console.log(people.sort((x, y) => y.a - x.a || x.n.localeCompare(y.n)));
console.log(people.findLast(p => p.a === 30), people.with(0, null).length, people.toSpliced(1, 1).length, people.toReversed()[0]);
// module: async pool with retries
const sleep = ms => new Promise(r => setTimeout(r, ms));
async function pool(tasks, limit) {
  const results = []; let i = 0, active = 0, peak = 0;
  const worker = async () => { while (i < tasks.length) { const k = i++; active++; peak = Math.max(peak, active); try { results[k] = { status: 'ok', value: await tasks[k]() }; } catch (e) { results[k] = { status: 'error', reason: e.message }; } finally { active--; } } };
  await Promise.all(Array.from({ length: limit }, worker));
  return { results, peak };
}
async function retry(fn, n, delay = 5) { for (let a = 1; ; a++) { try { return await fn(a); } catch (e) { if (a >= n) throw new Error(`failed after ${a} attempts`, { cause: e }); await sleep(delay * 2 ** a); } } }
const out = await pool([10, 30, 20, 5].map((ms, k) => async () => { await sleep(ms); if (k === 2) throw new Error('task ' + k); return k; }), 2);
console.log(out);
console.log(await retry(a => a < 3 ? Promise.reject(new Error('nope')) : `ok on ${a}`, 5));
try { await retry(() => { throw new TypeError('always'); }, 2); } catch (e) { console.log(e.message, '<-', e.cause.name, e.cause.message); }
console.log((await Promise.allSettled([1, Promise.reject(new Error('x')), sleep(1).then(() => 'late')])).map(({ status, value, reason }) => [status, value ?? reason.message]));
const timeout = (p, ms) => Promise.race([p, new Promise((_, rej) => setTimeout(() => rej(new Error(`Timeout after ${ms}ms`)), ms))]);
await timeout(sleep(500), 10).catch(e => console.log(e.message));
try { await Promise.any([Promise.reject(new Error('a')), Promise.reject(new Error('b'))]); } catch (e) { console.log(e.constructor.name, e.errors.map(x => x.message)); }
console.log(Promise.resolve(1), Promise.reject(0).catch(() => {}), new Promise(() => {}), (async () => 7)());
const order = []; setTimeout(() => order.push('timeout'), 0); setImmediate(() => order.push('immediate')); process.nextTick(() => order.push('tick')); queueMicrotask(() => order.push('micro')); await sleep(20); console.log(order.sort());
const ac = new AbortController(); setTimeout(() => ac.abort(), 5);
await new Promise((res, rej) => ac.signal.addEventListener('abort', () => rej(ac.signal.reason))).catch(e => console.log(e.name, e.message, e.code));
const ch = { q: [], async *[Symbol.asyncIterator]() { for (const x of [1, 2, 3]) { await null; yield x; } } }; for await (const x of ch) console.log(x);
// process: command-line arguments
const { parseArgs } = require('node:util');
const args = ['--name', 'Ada', '-v', '--count=3', 'file1.txt', '--no-color', 'file2.txt'];
const { values, positionals, tokens } = parseArgs({ args, options: { name: { type: 'string', short: 'n' }, verbose: { type: 'boolean', short: 'v' }, count: { type: 'string', default: '1' }, 'no-color': { type: 'boolean' } }, allowPositionals: true, tokens: true });
console.log(values, positionals, tokens.length);
console.log({ ...values });
for (const bad of [['--bogus'], ['--name'], ['x'], ['-v=1']]) { try { parseArgs({ args: bad, options: { name: { type: 'string' }, v: { type: 'boolean', short: 'v' } } }); } catch (e) { console.log(e.code, '|', e.message); } }
function parse(argv) { const out = { _: [] }; for (let i = 0; i < argv.length; i++) { const m = /^--([^=]+)(?:=(.*))?$/.exec(argv[i]); if (m) out[m[1]] = m[2] ?? (argv[i + 1] && !argv[i + 1].startsWith('-') ? argv[++i] : true); else out._.push(argv[i]); } return out; }
console.log(parse(args), process.argv.slice(2), process.argv.length, require.main === module);
if (require.main === module) main();
function main() { const [cmd = 'help', ...rest] = process.argv.slice(2); switch (cmd) { case 'help': console.log('Usage: tool <command> [options]\n\nCommands:\n  help   Show help'); break; default: process.exitCode = 2; } }
process.on('exit', c => console.log('exit', c));
// process: JSON transformation and deep merge
const fs = require('fs');
const data = { users: [{ id: 1, name: 'A', tags: ['x', 'y'], address: { city: 'Rome', geo: { lat: 41.9, lng: 12.5 } } }, { id: 2, name: 'B', tags: [], address: null }], meta: { v: 1, at: new Date(0), un: undefined, f() {}, n: NaN, inf: Infinity, neg0: -0 } };
console.log(JSON.stringify(data, null, 2)); console.log(data);
console.dir(data, { depth: null }); console.dir(data, { depth: 0 });
const flat = (o, p = '') => Object.entries(o ?? {}).reduce((a, [k, v]) => (v && typeof v === 'object' && !(v instanceof Date) ? { ...a, ...flat(v, `${p}${k}.`) } : { ...a, [p + k]: v }), {});
console.log(flat(data));
const merge = (t, s) => { for (const [k, v] of Object.entries(s)) t[k] = v && typeof v === 'object' && !Array.isArray(v) ? merge(t[k] ?? {}, v) : v; return t; };
console.log(merge({ a: { b: 1, c: [1] }, d: 1 }, { a: { c: [2], e: { f: 1 } }, d: null }));
console.log(JSON.stringify(data, ['users', 'id', 'name']), JSON.stringify('\u2028\ud800"\n'), JSON.stringify([undefined, () => 1, Symbol('x')]), JSON.stringify({ date: new Date(0) }));
for (const bad of ['{"a":1,}', '', '{a:1}', '[1,2', 'nope', '{"a":"\n"}']) { try { JSON.parse(bad); } catch (e) { console.log(e.name, e instanceof SyntaxError); } }
console.log(JSON.parse('{"d":"2020-01-01T00:00:00.000Z","n":1e3}', (k, v) => (/^\d{4}-/.test(v) ? new Date(v) : v)));
fs.writeFileSync('o.json', JSON.stringify(data)); console.log(require('./o.json').users[0].address.geo, structuredClone({ m: new Map([[1, new Set([2])]]), d: new Date(0), e: new RangeError('x') }).m);
const a = { name: 'a' }; a.self = a; a.list = [a, { a }]; console.log(a); try { JSON.stringify(a); } catch (e) { console.log(e.name); }
// process: event emitter inventory
const EventEmitter = require('events'); const { once } = EventEmitter;
class Inventory extends EventEmitter { constructor() { super(); this.items = new Map(); } add(n, q) { const t = (this.items.get(n) ?? 0) + q; this.items.set(n, t); this.emit('change', { n, t }); if (t < 0) this.emit('error', new Error(`negative stock: ${n}`)); return this; } }
const inv = new Inventory(); inv.on('change', e => console.log('change', e)); inv.once('change', () => console.log('first'));
inv.prependListener('change', () => console.log('before')); inv.add('a', 1).add('a', 2);
try { inv.add('b', -1); } catch (e) { console.log(e.message); } inv.on('error', e => console.log('handled', e.message)); inv.add('c', -2);
console.log(inv.listenerCount('change'), inv.eventNames(), inv.rawListeners('error').length, inv.off('change', () => {}) === inv);
console.log(inv);
(async () => { setTimeout(() => inv.emit('done', 1, 2), 1); console.log(await once(inv, 'done')); const ac = new AbortController(); ac.abort(); await once(inv, 'x', { signal: ac.signal }).catch(e => console.log(e.name, e.code)); })();
// process: fs tree walker
const fs = require('fs'), path = require('path');
fs.mkdirSync('proj/src/lib', { recursive: true }); fs.mkdirSync('proj/empty');
for (const [f, c] of Object.entries({ 'proj/a.txt': 'hello', 'proj/src/b.js': 'x\ny\n', 'proj/src/lib/c.md': '# T\n' })) fs.writeFileSync(f, c);
function tree(dir, prefix = '') { const es = fs.readdirSync(dir, { withFileTypes: true }).sort((a, b) => a.name.localeCompare(b.name)); es.forEach((e, i) => { const last = i === es.length - 1; console.log(prefix + (last ? '└── ' : '├── ') + e.name + (e.isDirectory() ? '/' : '')); if (e.isDirectory()) tree(path.join(dir, e.name), prefix + (last ? '    ' : '│   ')); }); }
tree('proj'); console.log(fs.readdirSync('proj', { recursive: true }).sort());
const st = fs.statSync('proj/a.txt'); console.log(st.size, st.isFile(), st.mtime instanceof Date, typeof st.mtimeMs, (st.mode & 0o777).toString(8));
fs.renameSync('proj/a.txt', 'proj/z.txt'); fs.copyFileSync('proj/z.txt', 'proj/y.txt'); fs.appendFileSync('proj/y.txt', ' world'); console.log(fs.readFileSync('proj/y.txt', { encoding: 'utf8' }), fs.existsSync('proj/a.txt'));
for (const f of [() => fs.readFileSync('nope.txt'), () => fs.rmdirSync('proj'), () => fs.mkdirSync('proj'), () => fs.readFileSync('proj'), () => fs.readdirSync('proj/z.txt'), () => fs.writeFileSync('no/such/dir.txt', ''), () => fs.unlinkSync('nope'), () => fs.readFileSync(undefined), () => fs.writeFileSync('x', undefined)]) { try { f(); } catch (e) { console.log(e.code, '|', e.message.replaceAll(process.cwd(), '.'), '|', e.syscall, e.errno); } }
const fd = fs.openSync('proj/z.txt', 'r+'); const b = Buffer.alloc(3); console.log(fs.readSync(fd, b, 0, 3, 1), b.toString()); fs.writeSync(fd, 'J', 0); fs.closeSync(fd); console.log(fs.readFileSync('proj/z.txt', 'latin1'));
fs.rmSync('proj', { recursive: true, force: true }); console.log(fs.existsSync('proj')); fs.rmSync('proj', { force: true });
fs.promises.readFile('nope').catch(e => console.log(e.code, e.syscall, e.path));
fs.readFile('nope', (err, d) => console.log(err.code, d)); fs.writeFile('w.txt', 'abc', err => { console.log(err); fs.stat('w.txt', (e, s) => console.log(e, s.size)); });
fs.mkdtempSync('tmp-').startsWith('tmp-') && console.log('tmp ok'); console.log(path.relative('/a/b/c', '/a/d'), path.parse('/x/y.tar.gz'), path.resolve('/a', '..', 'b'), path.format({ dir: '/q', base: 'f.txt' }));
// process: buffers and binary data
const b = Buffer.from('héllo wörld', 'utf8'); console.log(b, b.length, b.toString('hex'), b.toString('base64'), b.toString('base64url'), b.toJSON().data.length);
const h = Buffer.alloc(16); h.writeUInt32BE(0xdeadbeef, 0); h.writeInt16LE(-2, 4); h.writeDoubleBE(Math.PI, 6); console.log(h, h.readUInt32BE(0).toString(16), h.readInt16LE(4), h.readDoubleBE(6)); console.log(Buffer.concat([b.subarray(0, 2), Buffer.from([1, 2, 300])]), Buffer.compare(Buffer.from('a'), Buffer.from('b')), b.equals(Buffer.from('héllo wörld')), b.indexOf('w'), b.includes('zzz'), Buffer.byteLength('€'), Buffer.isBuffer(b), b.slice(-3).toString());
try { h.readUInt32LE(14); } catch (e) { console.log(e.code, e.message); } try { h.writeUInt8(256); } catch (e) { console.log(e.code, e.message); }
const dv = new DataView(new ArrayBuffer(8)); dv.setFloat32(0, 1.5); dv.setUint16(4, 513, true); console.log(dv, new Uint8Array(dv.buffer), new Float64Array(2), new Uint8ClampedArray([300, -5]));
console.log([...Buffer.from('AB')].map(x => x.toString(2).padStart(8, '0')).join(' '), Buffer.from('ff00zz', 'hex'), Buffer.from('aGk=', 'base64').toString(), btoa('hi'), atob('aGk='), new TextDecoder('utf-16le').decode(new Uint8Array([65, 0])), new TextEncoder().encode('€'));
console.log(h.swap16().length, b.fill('ab', 0, 4).toString('latin1').slice(0, 4), Buffer.from(new Uint16Array([1, 256]).buffer), new TextDecoder('windows-1251').decode(new Uint8Array([0xcf, 0xf0])), new TextDecoder('shift_jis').encoding, new TextDecoder('sjis').decode(new Uint8Array([0x82, 0xa0, 0xb1])), new TextDecoder('gbk').decode(new Uint8Array([0xc4, 0xe3])), new TextDecoder('euc-kr').decode(new Uint8Array([0xb0, 0xa1])), new TextDecoder('big5').decode(new Uint8Array([0xa4, 0xa4])), new TextDecoder('koi8-r').decode(new Uint8Array([0xf0])), new TextDecoder('utf-16be').decode(new Uint8Array([0x20, 0xac])));
// process: crypto hashes and tokens
const crypto = require('crypto');
console.log(crypto.createHash('sha256').update('hello').digest('hex'), crypto.createHash('md5').update('a').update('b').digest('base64'), crypto.createHash('sha1').update(Buffer.from([1])).digest('hex'), crypto.createHash('sha512').update('').digest('hex').slice(0, 20));
console.log(crypto.createHmac('sha256', 'key').update('data').digest('hex'), crypto.pbkdf2Sync('pw', 'salt', 10, 16, 'sha256').toString('hex'), crypto.scryptSync('pw', 'salt', 16, { N: 16 }).toString('hex'));
console.log(crypto.randomUUID().length, crypto.randomBytes(8).length, /^[0-9a-f]{32}$/.test(crypto.randomBytes(16).toString('hex')), crypto.randomInt(5) < 5, crypto.timingSafeEqual(Buffer.from('a'), Buffer.from('a')));
const key = crypto.scryptSync('password', 'salt', 32, { N: 16 }), iv = Buffer.alloc(16, 1);
const c = crypto.createCipheriv('aes-256-cbc', key, iv); const enc = c.update('secret message', 'utf8', 'hex') + c.final('hex'); console.log(enc);
const dc = crypto.createDecipheriv('aes-256-cbc', key, iv); console.log(dc.update(enc, 'hex', 'utf8') + dc.final('utf8'));
const gcm = crypto.createCipheriv('aes-256-gcm', key, iv.subarray(0, 12)); const ct = Buffer.concat([gcm.update('hi'), gcm.final()]); console.log(ct.toString('hex'), gcm.getAuthTag().toString('hex'));
// process: matrix and statistics
const mean = a => a.reduce((x, y) => x + y, 0) / a.length; const std = a => Math.sqrt(mean(a.map(x => (x - mean(a)) ** 2))); const median = a => { const s = a.toSorted((x, y) => x - y), m = s.length >> 1; return s.length % 2 ? s[m] : (s[m - 1] + s[m]) / 2; };
const xs = [2, 4, 4, 4, 5, 5, 7, 9]; console.log({ mean: mean(xs), std: std(xs), median: median(xs), max: Math.max(...xs) });
const mul = (a, b) => a.map(r => b[0].map((_, j) => r.reduce((s, x, k) => s + x * b[k][j], 0))); console.log(mul([[1, 2], [3, 4]], [[5, 6], [7, 8]]), Array.from({ length: 3 }, (_, i) => Array.from({ length: 3 }, (_, j) => +(i === j))));
console.table(mul([[1, 2], [3, 4]], [[0, 1], [1, 0]])); console.table([{ a: 1, b: 'x' }, { a: 2, c: true }], ['a', 'c']); console.table(new Map([['k', 1]])); console.table([1, 'two', { three: 3 }]); console.table(5); console.table({ r1: { x: 1 }, r2: { x: 2 } });
console.log(0.1 + 0.2, (0.1 + 0.2).toFixed(10), 1e21, 1e-7, (25).toString(2), (1234.5678).toFixed(2), (0.000001234).toPrecision(2), Number('12px'), parseInt('12px'), 5 / 0, -5 % 3, 2 ** 0.5, Math.round(-0.5), Math.sign(-3), Math.hypot(3, 4), Math.trunc(-4.7), Math.cbrt(27), Number.EPSILON > 0, (1e6).toLocaleString(), (1234567.891).toLocaleString('de-DE'), (0.256).toLocaleString('en-US', { style: 'percent' }), (1e9).toLocaleString('en-US', { notation: 'compact' }));
const det = m => m.length === 1 ? m[0][0] : m[0].reduce((s, x, i) => s + (i % 2 ? -1 : 1) * x * det(m.slice(1).map(r => r.filter((_, j) => j !== i))), 0); console.log(det([[2, 0, 1], [1, 3, 2], [1, 1, 4]]), new Array(5), [1, , 3], [undefined, null], Array(120).fill(0), 'x'.repeat(30).split(''));
// process: LRU cache, linked list, graph
class LRU { constructor(n) { this.n = n; this.m = new Map(); } get(k) { if (!this.m.has(k)) return; const v = this.m.get(k); this.m.delete(k); this.m.set(k, v); return v; } set(k, v) { this.m.delete(k); this.m.set(k, v); if (this.m.size > this.n) this.m.delete(this.m.keys().next().value); return this; } }
const c = new LRU(2).set('a', 1).set('b', 2); c.get('a'); c.set('c', 3); console.log(c, c.get('b'), [...c.m.keys()], c.m.entries(), c.m[Symbol.iterator]());
class Node { constructor(v, next = null) { this.v = v; this.next = next; } } console.log([1, 2, 3, 4, 5].reduceRight((n, v) => new Node(v, n), null));
const graph = { A: { B: 1, C: 4 }, B: { C: 2, D: 5 }, C: { D: 1 }, D: {} }; function dijkstra(g, s) { const d = Object.fromEntries(Object.keys(g).map(k => [k, Infinity])); d[s] = 0; const q = new Set(Object.keys(g)); while (q.size) { const u = [...q].reduce((a, b) => (d[a] < d[b] ? a : b)); q.delete(u); for (const [v, w] of Object.entries(g[u])) d[v] = Math.min(d[v], d[u] + w); } return d; } console.log(dijkstra(graph, 'A'));
const topo = es => { const g = new Map(), deg = new Map(); for (const [a, b] of es) { g.set(a, [...(g.get(a) ?? []), b]); deg.set(b, (deg.get(b) ?? 0) + 1); if (!deg.has(a)) deg.set(a, 0); } const q = [...deg].filter(([, n]) => !n).map(([k]) => k), out = []; while (q.length) { const u = q.shift(); out.push(u); for (const v of g.get(u) ?? []) { deg.set(v, deg.get(v) - 1); if (!deg.get(v)) q.push(v); } } return out; }; console.log(topo([['shirt', 'tie'], ['tie', 'jacket'], ['pants', 'shoes'], ['pants', 'belt'], ['belt', 'jacket']]));
const ws = new WeakSet(), wm = new WeakMap(); console.log(ws, wm, Symbol('s'), Symbol.iterator, [Symbol.for('x')], { [Symbol('k')]: 1 }, new Set([[1], { a: new Set() }]), new Map([[{ k: 1 }, new Map()]]), globalThis === global);
const proxy = new Proxy({ a: 1 }, { get: (t, k) => (k in t ? t[k] : `no ${String(k)}`) }); console.log(proxy.a, proxy.zzz, proxy); const frozen = Object.freeze([1]); (() => { 'use strict'; try { frozen.push(2); } catch (e) { console.log(e.name); } })(); console.log(Object.getOwnPropertyDescriptors({ get x() { return 1; }, y: 2 }), { get a() { return 1; }, set a(v) {}, set b(v) {} });
// process: template rendering and tagged templates
const html = (s, ...v) => s.reduce((o, p, i) => o + p + (i < v.length ? String(v[i]).replace(/[&<>"']/g, c => `&#${c.charCodeAt(0)};`) : ''), ''); console.log(html`<p title="${'a"b'}">${'<script>'} & ${[1, 2]}</p>`);
const tpl = 'Hello {{ name }}, you owe {{amount|currency}} due {{ missing }}!'; console.log(tpl.replace(/\{\{\s*(\w+)(?:\|(\w+))?\s*\}\}/g, (m, k, f) => { const v = { name: 'Zoë', amount: 1234.5 }[k]; return v === undefined ? m : f === 'currency' ? v.toLocaleString('en-US', { style: 'currency', currency: 'EUR' }) : v; }));
const dedent = s => { const l = s.replace(/^\n/, '').split('\n'), n = Math.min(...l.filter(x => x.trim()).map(x => x.match(/^ */)[0].length)); return l.map(x => x.slice(n)).join('\n').trimEnd(); }; console.log(dedent(`
    def f():
        return 1
    `)); console.log(String.raw`a\nb${1 + 1}`, `${[1, [2, 3]]}`, `${{}}`, `${null} ${undefined} ${() => 1}`, 'abc'.at(-1), [...'👍🏽é'].length, '👍'.codePointAt(0), 'ß'.toUpperCase(), 'İ'.toLowerCase().length, 'a-b-c'.split('-', 2), 'abc'.substring(2, 0), ' x '.trim() + '|', 'x'.padEnd(3, 'ab') + '|', 'title case words'.replace(/\b\w/g, c => c.toUpperCase()), 'camelCaseString'.replace(/([A-Z])/g, '_$1').toLowerCase(), encodeURIComponent('a b&c=é'), decodeURIComponent('%E2%82%AC'), escape('ü'), 'a\u0301'.normalize().length, 'abc' < 'abd', 'well-formed'.isWellFormed());
const wrap = (t, w) => t.split(' ').reduce((ls, x) => { const l = ls.at(-1); if ((l + ' ' + x).trim().length <= w) ls[ls.length - 1] = (l + ' ' + x).trim(); else ls.push(x); return ls; }, ['']); console.log(wrap('The quick brown fox jumps over the lazy dog and runs away', 16).join('\n')); console.log(['a', 'b', 'c'].join(', ').replace(/, ([^,]*)$/, ' and $1'), new Intl.ListFormat('en', { style: 'long', type: 'conjunction' }).format(['a', 'b', 'c']), new Intl.PluralRules('en-US', { type: 'ordinal' }).select(22));
// process: error handling
class ValidationError extends Error { constructor(m, f) { super(m); this.name = this.constructor.name; this.field = f; Error.captureStackTrace?.(this, ValidationError); } }
class HttpError extends Error { get name() { return 'HttpError'; } constructor(status, ...r) { super(...r); this.status = status; } }
const wrap = f => { try { return f(); } catch (e) { return e; } };
for (const f of [() => null.x, () => undefined.foo(), () => (void 0)(), () => { const a = 1; a = 2; }, () => zzz, () => { throw 'str'; }, () => { throw new ValidationError('bad', 'age'); }, () => new Array(-1), () => 'x'.repeat(-1), () => (1).toFixed(101), () => decodeURIComponent('%'), () => { ({}).x.y.z; }, () => new (class A { constructor() { this.b.c = 1; } })(), () => [].reduce((a, b) => a), () => Symbol() + '', () => { let q = {}; q.fn(); }, () => { class X {} X(); }, () => 5(), () => new 5(), () => ({ ...null }), () => { const { a } = null; }, () => { const [a] = {}; }, () => { for (const x of 5); }, () => structuredClone(() => 1), () => { x; let x; }, () => BigInt(undefined), () => 'a' in 'b', () => ({}) instanceof 5, () => Object.defineProperty(Object.freeze({}), 'x', { value: 1 })]) { const e = wrap(f); console.log(e?.name ?? typeof e); }
const e = new Error('outer', { cause: new HttpError(404, 'inner') }); console.log(e.cause.name, e.cause.status, `${e.cause}`, Object.prototype.toString.call(e), e instanceof Error); const agg = new AggregateError([new Error('1'), new TypeError('2')], 'many'); console.log(agg.errors.length, agg.message, agg.name);
function f() { try { return 'try'; } finally { console.log('finally'); } } console.log(f(), (() => { try { throw 1; } catch { return 'c'; } finally { console.log('f2'); } })());
console.log(util = require('util').inspect(Object.assign(new Error('msg'), { code: 'E1', stack: 'Error: msg\n    at fake' }))); console.log({ e: Object.assign(new ValidationError('v', 'f'), { stack: 'ValidationError: v\n    at x' }) }); const noStack = new Error('no stack'); noStack.stack = undefined; console.log(noStack); const er = new RangeError('r'); delete er.stack; er.stack = ''; console.log(er);
process.on('uncaughtException', (err, origin) => { console.log('uncaught', err.message, origin); }); setTimeout(() => { throw new Error('late'); }, 1);
// process: web APIs offline
(async () => {
const u = new URL('https://user:pw@example.com:8080/a/b/../c?x=1&y=2&x=3#frag'); console.log(u.href, u.host, u.pathname, u.searchParams.getAll('x'), u.origin); u.searchParams.append('z', 'a b'); u.hash = ''; console.log(String(u), u);
console.log(new URLSearchParams({ q: 'a&b', n: 1 }).toString(), [...new URLSearchParams('a=1&b=2')], new URLSearchParams('a=1&b=2'), URL.canParse('nope')); try { new URL('nope'); } catch (e) { console.log(e.code, e.name, e.message, e.input); }
const h = new Headers({ 'Content-Type': 'text/plain', 'X-A': '1' }); h.append('x-a', '2'); console.log([...h], h.get('X-a'), h); const r = new Response(JSON.stringify({ ok: 1 }), { status: 201, headers: { 'content-type': 'application/json' } }); console.log(r.status, r.ok, await r.json(), r.bodyUsed); console.log(await new Response('x').text(), Response.json({ a: 1 }).headers.get('content-type'));
const fd = new FormData(); fd.append('k', 'v'); fd.append('f', new File(['data'], 'a.txt', { type: 'text/plain' })); console.log([...fd.keys()], fd.get('f').name, fd.get('f').size); const fr = new Response(fd); const back = await fr.formData(); console.log(back.get('k'), await back.get('f').text(), fr.headers.get('content-type').split(';')[0]);
const b = new Blob(['héllo', new Uint8Array([33])], { type: 'text/plain' }); console.log(b.size, await b.text(), (await b.slice(0, 2).arrayBuffer()).byteLength, b); const rs = new ReadableStream({ start(c) { c.enqueue('a'); c.enqueue('b'); c.close(); } }); for await (const x of rs.pipeThrough(new TransformStream({ transform(x, c) { c.enqueue(x.toUpperCase()); } }))) console.log(x);
const gz = new Blob(['hello hello hello']).stream().pipeThrough(new CompressionStream('gzip')).pipeThrough(new DecompressionStream('gzip')); console.log(await new Response(gz).text());
const et = new EventTarget(); et.addEventListener('x', e => console.log(e.type, e.detail, e instanceof Event), { once: true }); et.dispatchEvent(new CustomEvent('x', { detail: 5 })); console.log(et.dispatchEvent(new Event('x')), AbortSignal.abort('why').reason, AbortSignal.any([AbortSignal.abort(1)]).aborted);
console.log(Buffer.from(await crypto.subtle.digest('SHA-256', new TextEncoder().encode('abc'))).toString('hex'), crypto.getRandomValues(new Uint8Array(4)).length, structuredClone(new Map([[1, { a: new Date(0) }]])), performance.now() > 0, typeof navigator); const { port1, port2 } = new MessageChannel(); await new Promise(done => { port2.onmessage = ({ data }) => { console.log(data); port1.close(); done(); }; port1.postMessage({ hi: [1] }); });
const key = await crypto.subtle.importKey('raw', new TextEncoder().encode('secret'), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign', 'verify']); console.log(Buffer.from(await crypto.subtle.sign('HMAC', key, new TextEncoder().encode('msg'))).toString('hex'));
})();
// process: readline from piped input and stdin
const fs = require('fs'); const input = fs.readFileSync(0, 'utf8'); console.log(JSON.stringify(input)); const rl = require('readline').createInterface({ input: require('stream').Readable.from(['line one\nline', ' two\n', 'last']) }); let i = 0; rl.on('line', l => console.log(++i, l)).on('close', () => console.log('closed', i)); rl.setPrompt('> ');
process.stdout.write('no newline'); process.stdout.write('\n'); console.log(process.stdin.isTTY, process.stdout.isTTY, process.stdout.columns, process.platform === 'linux', process.version.startsWith('v'), typeof process.pid, process.env.NOPE, process.uptime() > 0, process.hrtime().length, typeof process.hrtime.bigint(), Object.keys(process.memoryUsage()).includes('heapUsed'), process.title.length > 0, process.exitCode, process.release.name);
// process: console methods
console.group('Outer'); console.log('a'); console.group(); console.info('b\nc'); console.groupEnd(); console.groupEnd(); console.log('d'); console.count(); console.count('x'); console.count(); console.countReset(); console.count(); console.assert(true, 'no'); console.log('%s is %d years and %i, %f, %j %o %O %%, %c styled', 'Bob', 42.5, 42.9, '1.5', { a: 1 }, [1], { b: { c: {} } }, 'css', 'extra', { z: 1 });
console.log('%s', null, undefined, 5n, Symbol('a'), { toString() { return 'custom'; } }, [1, 'a'], () => 1, class Q {}); console.log('%s %s %s', { a: { b: 1 } }, new Date(0), -0); console.log('100%', 5, '%d', '7'); console.log(); console.log(''); console.log(' lead', 'a\tb'); console.log([], {}, [[]], [{}], '', [''], "it's", ["it's", 'a"b', `a'b"c`, 'new\nline', '\u0000\x1b']); console.log(-0, [-0], 0, [1.0, 1e100], true, [null, undefined]);
console.log([1.5, 'two', [3, [4, [5, [6]]]], { a: { b: { c: { d: 1 } } } }], function named() {}, [function () {}, async () => {}, function* g() {}, class A extends Map {}, Math.max], Math, JSON, globalThis.Reflect, new Boolean(false), new String('s'), new Number(3), Object(1n), Object(Symbol('q'))); console.log({ 'a-b': 1, 2: 'x', valid_id: 1, 'ünï': 2, [Symbol.toStringTag]: 'T' }, { f() {}, g: () => {}, async h() {}, get i() { return 1; } }); console.log('a'.repeat(200).length, ['a'.repeat(80), 'b'.repeat(80)], { long: 'x'.repeat(100), other: 'y'.repeat(20) }, Array.from({ length: 30 }, (_, i) => i * 1000), Array.from({ length: 8 }, (_, i) => 'item number ' + i), Buffer.from('abc'), new Error('x').message, [new Date(0)], /re/gi, [/x/], new Map([['a', { b: 1 }], ['c', [1, 2]]]), new Set(['a', { b: 2 }]), [,], [1, , , 4], Object.assign([1, 2], { extra: true }), Object.assign(() => {}, { a: 1 }), Object.assign(function foo() {}, { b: { c: 1 } })); console.log(new (class Temp { constructor() { this.c = 20; } get f() { return 1; } toString() { return 'T'; } [require('util').inspect.custom](d, o) { return `Temp<${this.c}>`; } })(), [new (class Point { x = 1; y = { z: [1, { w: 2 }] }; })()], Object.create({ constructor: { name: 'Fake' } }), (function () { return arguments; })(1, 2), new Array(3).fill().map((_, i) => ({ id: i, name: `name ${i}`, nested: { deep: [i] } })));
// process: scheduling and timers
const { setTimeout: delay } = require('timers/promises'); const { performance, PerformanceObserver } = require('perf_hooks'); const { promisify } = require('util'); const t = setTimeout(() => console.log('never'), 5); clearTimeout(t); console.log(typeof t.ref, t.hasRef?.(), typeof t[Symbol.toPrimitive]());
(async () => { let n = 0; await new Promise(done => { const iv = setInterval(() => { if (++n === 3) { clearInterval(iv); done(console.log('interval done', n)); } }, 2); }); const t0 = performance.now(); console.log(await delay(40, 'val')); await promisify(setTimeout)(1); const el = performance.now() - t0; console.log(el >= 39); console.time('x'); performance.mark('a'); await delay(2); performance.mark('b'); console.log(performance.measure('m', 'a', 'b').name, performance.getEntriesByType('mark').length); const debounce = (f, ms) => { let h; return (...a) => { clearTimeout(h); h = setTimeout(f, ms, ...a); }; }; const d = debounce(x => console.log('debounced', x), 3); d(1); d(2); d(3); await delay(10); const memo = f => { const c = {}; return x => c[x] ??= f(x); }; const sq = memo(x => (console.log('calc'), x * x)); console.log(sq(4), sq(4)); const compose = (...f) => x => f.reduceRight((a, g) => g(a), x); console.log(compose(x => x + 1, x => x * 2)(5)); const curry = f => function c(...a) { return a.length >= f.length ? f(...a) : (...b) => c(...a, ...b); }; console.log(curry((a, b, c) => a + b + c)(1)(2)(3)); let k = 0; for await (const v of require('timers/promises').setInterval(1, 'tick')) { if (++k === 3) break; console.log(v); } })();
// process: node:test style assertions
const assert = require('node:assert/strict'); const cases = [
  () => assert.equal(1, 2),
  () => assert.deepEqual({ a: 1, b: [1, 2] }, { a: 1, b: [1, 3] }),
  () => assert.ok(null, 'must be set'),
  () => assert.throws(() => {}),
  () => assert.throws(() => { throw new Error('abc'); }, /xyz/),
  () => assert.notEqual(1, 1),
  () => assert.match('abc', /x/),
  () => assert.equal('a\nb\nc', 'a\nB\nc'),
  () => assert.deepEqual([1, 2, 3], [1, 2, 3, 4]),
  () => assert.deepEqual(new Map([[1, 2]]), new Map([[1, 3]])),
  () => assert.equal(NaN, 0),
  () => assert.fail(),
  () => assert.fail('boom'),
  () => assert.ifError(new Error('e')),
  () => assert.equal({ a: 1 }, { a: 1 }),
  () => assert.doesNotThrow(() => { throw new Error('inner'); }),
  () => assert.deepEqual(new Set([1]), new Set([2])),
  () => require('assert').deepEqual([1, '2'], [1, 2]),
  () => require('assert').equal(1, '2'),
  () => assert.strictEqual('hello world', 'hello there'),
  () => assert.equal(1, 2, new TypeError('own')),
]; for (const c of cases) { try { c(); console.log('ok'); } catch (e) { console.log(e.name, e.code, '|', e.message, '|', e.generatedMessage, e.operator); } }
assert.rejects(Promise.resolve(1)).catch(e => console.log(e.message)); assert.rejects(async () => { throw new TypeError('t'); }, TypeError).then(() => console.log('rejects ok'));
// process: Intl helpers
console.log(new Intl.NumberFormat('en-IN').format(12345678.9), new Intl.NumberFormat('ja-JP', { style: 'currency', currency: 'JPY' }).format(5000), new Intl.NumberFormat('en-US', { style: 'unit', unit: 'kilometer-per-hour' }).format(50), new Intl.NumberFormat('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 }).format(3.14159), new Intl.NumberFormat('fr-FR', { style: 'currency', currency: 'EUR' }).format(1234.5), new Intl.NumberFormat('en', { notation: 'compact', compactDisplay: 'long' }).format(1234567), new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD', currencySign: 'accounting' }).format(-5), new Intl.NumberFormat('en', { signDisplay: 'always' }).format(5), new Intl.NumberFormat('en-US', { style: 'unit', unit: 'megabyte', unitDisplay: 'long' }).format(3), new Intl.NumberFormat('pt-BR', { style: 'currency', currency: 'BRL' }).format(1999.9));
console.log(new Intl.PluralRules('en').select(1), new Intl.ListFormat('de', { type: 'disjunction' }).format(['A', 'B', 'C']), new Intl.RelativeTimeFormat('es').format(-3, 'day')); console.log(Intl.getCanonicalLocales('EN-us'), Intl.NumberFormat.supportedLocalesOf(['de', 'xx']), Intl.DateTimeFormat().resolvedOptions().timeZone.length > 0, new Intl.Locale('en-Latn-US').language, new Date(Date.UTC(2024, 0, 5)).toLocaleDateString('ja-JP'), new Date(Date.UTC(2024, 0, 5, 15)).toLocaleTimeString('fr-FR', { timeZone: 'UTC' }), new Date(Date.UTC(2024, 0, 5)).toLocaleDateString(undefined, { month: 'short', day: '2-digit', timeZone: 'UTC' }), new Intl.DateTimeFormat('en-US', { timeZoneName: 'short', timeZone: 'America/New_York' }).format(0), new Intl.DateTimeFormat('en-US', { timeZoneName: 'shortOffset', timeZone: 'Asia/Kolkata' }).format(0));
// process: Map and Set iterators
const m = new Map([['a', { x: 1 }], ['b', [1, 2]], ['c', 'x'.repeat(80)]]);
const values = m.values(); values.next(); m.delete('a');
console.log(m.keys(), values, m.entries(), [m.entries()], { s: new Set([1]).entries() }, new Map().keys());
const done = new Set([1]).values(); done.next(); done.next();
console.log(done, new Set(Array.from({ length: 120 }, (_, i) => i)).values(), m[Symbol.iterator]().next());
// process: AES with node:crypto
const crypto = require('crypto');
for (const name of ['aes-128-cbc', 'aes-192-ctr', 'aes-256-ecb', 'aes-256-gcm', 'aes-128-gcm']) {
  const key = Buffer.alloc(Number(name.slice(4, 7)) / 8, 7);
  for (const size of [12, 16]) {
    const iv = name.endsWith('ecb') ? null : Buffer.alloc(name.endsWith('gcm') ? size : 16, 3);
    const cipher = crypto.createCipheriv(name, key, iv);
    if (name.endsWith('gcm')) cipher.setAAD(Buffer.from('header'));
    const parts = ['short', ' and a text that is longer than one block', ''].map((text) => cipher.update(text, 'utf8', 'hex'));
    const encrypted = parts.join('') + cipher.final('hex');
    const decipher = crypto.createDecipheriv(name, key, iv);
    if (name.endsWith('gcm')) decipher.setAAD(Buffer.from('header')).setAuthTag(cipher.getAuthTag());
    console.log(name, parts, encrypted, name.endsWith('gcm') && cipher.getAuthTag().toString('hex'), decipher.update(encrypted, 'hex', 'utf8') + decipher.final('utf8'));
  }
}
const wrong = crypto.createDecipheriv('aes-128-gcm', Buffer.alloc(16), Buffer.alloc(12)); wrong.setAuthTag(Buffer.alloc(16)); wrong.update('00', 'hex');
try { wrong.final(); } catch (e) { console.log(e.message); }
const bad = crypto.createDecipheriv('aes-128-cbc', Buffer.alloc(16), Buffer.alloc(16)); bad.update(Buffer.alloc(16, 1));
try { bad.final(); } catch (e) { console.log(e.code, e.reason); }
for (const args of [['aes-128-cbc', Buffer.alloc(5), Buffer.alloc(16)], ['aes-128-cbc', Buffer.alloc(16), Buffer.alloc(5)], ['aes-128-cbc', Buffer.alloc(16)]]) try { crypto.createCipheriv(...args); } catch (e) { console.log(e.name, e.code, e.message); }
// module: AES and key derivation with crypto.subtle
const bytes = (text) => new TextEncoder().encode(text);
const hex = (buffer) => Buffer.from(buffer).toString('hex');
const password = await crypto.subtle.importKey('raw', bytes('password'), 'PBKDF2', false, ['deriveKey', 'deriveBits']);
const key = await crypto.subtle.deriveKey({ name: 'PBKDF2', salt: bytes('salt'), iterations: 10, hash: 'SHA-256' }, password, { name: 'AES-GCM', length: 256 }, true, ['encrypt', 'decrypt']);
console.log(key.type, key.algorithm, key.usages, hex(await crypto.subtle.exportKey('raw', key)), await crypto.subtle.exportKey('jwk', key));
const iv = new Uint8Array(12).fill(1);
const secret = await crypto.subtle.encrypt({ name: 'AES-GCM', iv, additionalData: bytes('x') }, key, bytes('message'));
console.log(hex(secret), new TextDecoder().decode(await crypto.subtle.decrypt({ name: 'AES-GCM', iv, additionalData: bytes('x') }, key, secret)));
try { await crypto.subtle.decrypt({ name: 'AES-GCM', iv }, key, secret); } catch (e) { console.log(e.name); }
console.log(hex(await crypto.subtle.deriveBits({ name: 'PBKDF2', salt: bytes('salt'), iterations: 5, hash: 'SHA-512' }, password, 128)));
const mac = await crypto.subtle.generateKey({ name: 'HMAC', hash: 'SHA-256' }, true, ['sign', 'verify']);
const signature = await crypto.subtle.sign('HMAC', mac, bytes('text'));
console.log(mac.algorithm.length, signature.byteLength, await crypto.subtle.verify('HMAC', mac, signature, bytes('text')), await crypto.subtle.verify('HMAC', mac, signature, bytes('other')));
const cbc = await crypto.subtle.importKey('jwk', { kty: 'oct', k: 'AAAAAAAAAAAAAAAAAAAAAA' }, 'AES-CBC', false, ['encrypt']);
console.log(hex(await crypto.subtle.encrypt({ name: 'AES-CBC', iv: new Uint8Array(16) }, cbc, bytes('abc'))));
// program: key derivation with the parameters of production code
const crypto = require('crypto');
console.log(crypto.pbkdf2Sync('pw', 'salt', 100000, 32, 'sha256').toString('hex'), crypto.pbkdf2Sync('pw', Buffer.from('salt'), 50000, 64, 'sha512').toString('base64'));
console.log(crypto.scryptSync('pw', 'salt', 64).toString('hex'), Buffer.from(crypto.hkdfSync('sha512', 'key', 'salt', 'info', 100)).toString('hex'));
console.log(crypto.createHash('sha256').update(Buffer.alloc(3e6, 7)).digest('hex'), crypto.createHash('shake256', { outputLength: 5 }).update('a').digest('hex'), crypto.createHmac('sha3-256', '').update('a').update(Buffer.alloc(1000)).digest('hex'));
const h = crypto.createHash('blake2b512').update('a'), copy = h.copy(); h.update('b'); console.log(h.digest('base64'), copy.digest('base64'));
const attempts = [c => c.createHash('nope'), c => c.createHmac('nope', 'k'), c => c.pbkdf2Sync('a', 'b', 1, 1, 'nope'), c => c.hkdfSync('nope', 'a', 'b', '', 1), c => c.pbkdf2Sync('a', 'b', 1, 1), c => c.pbkdf2Sync('a', 'b', 0, 1, 'sha1'), c => c.pbkdf2Sync('a', 'b', 1.5, 1, 'sha1'), c => c.pbkdf2Sync('a', 'b', 1, -1, 'sha1'), c => c.pbkdf2Sync(1, 'b', 1, 1, 'sha1'), c => c.scryptSync('a', 'b', 64, { N: 3 }), c => c.scryptSync('a', 'b', 64, { N: 65536 }), c => c.scryptSync('a', 'b', -1), c => c.scryptSync('a', 'b', 8, { N: 16, cost: 16 }), c => c.scryptSync('a', 'b', 0), c => c.hkdfSync('sha256', 'a', 'b', '', 9000), c => c.hkdfSync('sha256', 'k', 's', Buffer.alloc(1025), 10), c => c.createHash('md5').update('a', 'hex'), c => c.createHash('sha256', { outputLength: 5 })];
for (const attempt of attempts) try { console.log(attempt(crypto)); } catch (e) { console.log(String(attempt), e.name, e.code, e.message); }
crypto.pbkdf2('a', 'b', 1000, 16, 'sha384', (error, key) => console.log(error, key.toString('hex')));
