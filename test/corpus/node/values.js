// program: joins and normalizes paths
const path = require('path');
console.log(path.join('a', '..', 'b', './c'), path.join(), path.join('', ''), path.join('/a', '/b'), path.join('..', 'x'), path.join('a/', 'b/'));
console.log(path.normalize('/a//b/../c/.'), path.normalize('./a/'), path.normalize('../../x'), path.normalize(''), path.normalize('/..'), path.normalize('a/../..'));
console.log(path.resolve('/a', 'b', '../c'), path.resolve('/x', '/y'), path.isAbsolute('/a'), path.isAbsolute('a'), path.relative('/a/b/c', '/a/d'), path.relative('/a', '/a'), path.relative('/a', '/a/b/c'));
// program: splits paths into parts
const path = require('path');
for (const p of ['/home/user/file.txt', 'file', '.bashrc', '/a/b/', '/', '', 'a.b.c', '/x/.hidden.txt', '..', './a', 'a.', '//x/y']) console.log(JSON.stringify([p, path.dirname(p), path.basename(p), path.extname(p), path.parse(p)]));
console.log(path.basename('/a/b.html', '.html'), path.basename('b.html', 'b.html'), path.format({ dir: '/x', base: 'y.z' }), path.format({ root: '/', name: 'n', ext: '.e' }), path.format({ name: 'n', ext: 'e' }), path.sep, path.delimiter);
// program: rejects paths that are not strings
const path = require('path');
for (const f of [() => path.join(1), () => path.basename(null), () => path.resolve({}), () => path.parse(undefined), () => path.format('x'), () => path.extname([])]) try { f(); } catch (e) { console.log(e.code, e.message); }
// program: creates buffers
console.log(Buffer.from('abc'), Buffer.from([1, 2, 256, -1, 1.9]), Buffer.from(new Uint8Array([9])), Buffer.from('ff00zz', 'hex'), Buffer.from('aGk', 'base64'), Buffer.from('aGk_-w', 'base64url'), Buffer.alloc(3, 'ab'), Buffer.alloc(2), Buffer.from('é', 'latin1'), Buffer.from('hi', 'utf16le'));
console.log(Buffer.from(Buffer.from('x')), Buffer.from({ type: 'Buffer', data: [1, 2] }), Buffer.from(new String('s')), Buffer.of(1, 2), Buffer.allocUnsafe(4).length, Buffer.isBuffer(Buffer.alloc(1)), Buffer.isBuffer(new Uint8Array(1)));
// program: converts buffers to text
const b = Buffer.from('héllo wörld €😀');
console.log(b.toString(), b.toString('hex'), b.toString('base64'), b.toString('base64url'), b.toString('latin1'), b.toString('ascii'), b.toString('utf8', 0, 3), b.toString('utf8', 1, 2), `${b}`, b + '', JSON.stringify(Buffer.from('ab')));
console.log(Buffer.from('68656c6c6f', 'hex').toString(), Buffer.from([0xff, 0xfe]).toString(), Buffer.from([0xe2, 0x82]).toString(), Buffer.byteLength('€'), Buffer.byteLength('aGk=', 'base64'), Buffer.isEncoding('UTF-8'), Buffer.isEncoding('nope'));
// program: compares and searches buffers
const b = Buffer.from('this is a test is');
console.log(b.indexOf('is'), b.indexOf('is', 3), b.lastIndexOf('is'), b.includes('test'), b.indexOf(Buffer.from('a')), b.indexOf(116), b.indexOf('nope'), b.indexOf(''), b.lastIndexOf('is', 10));
console.log(Buffer.compare(Buffer.from('a'), Buffer.from('b')), b.equals(Buffer.from(b)), Buffer.from('abc').compare(Buffer.from('abd')), Buffer.concat([Buffer.from('a'), Buffer.from('bc')]).toString(), Buffer.concat([Buffer.from('abc')], 2).toString(), Buffer.concat([]));
// program: slices, copies and fills buffers
const b = Buffer.from('hello');
const s = b.subarray(1, 3);
s[0] = 65;
console.log(b.toString(), b.slice(-2).toString(), s.buffer === b.buffer, b.subarray(1) instanceof Buffer);
const t = Buffer.alloc(4, '-');
console.log(b.copy(t, 1, 0, 2), t.toString(), t.fill('xy').toString(), t.fill(0, 2).toString('hex'), t.write('é', 3), t.write('ab', 1, 'latin1'), t);
console.log([...Buffer.from('ab').entries()], Buffer.from([1, 2, 3]).map((x) => x * 2), Buffer.from([3, 1, 2]).sort(), Buffer.from('abc').reverse().toString(), Buffer.from([1, 2]).reduce((a, c) => a + c));
// program: reads and writes numbers
const b = Buffer.alloc(8);
console.log(b.writeUInt8(255, 0), b.writeInt16LE(-2, 1), b.writeUInt32BE(0xdeadbeef, 3), b, b.readUInt8(0), b.readInt8(0), b.readInt16LE(1), b.readUInt32BE(3), b.readInt32BE(3), b.readUInt16BE(3));
b.writeDoubleLE(Math.PI);
console.log(b, b.readDoubleLE(), b.readFloatBE(0));
b.writeBigInt64BE(-5n);
console.log(b, b.readBigInt64BE(), b.readBigUInt64LE(), b.readUIntBE(0, 3), b.readIntLE(2, 6), b.swap16(), b.swap64());
// program: rejects invalid use of buffers
const b = Buffer.alloc(4);
for (const f of [() => b.readUInt8(4), () => b.readInt32LE(1), () => b.writeUInt8(256), () => b.writeInt8(-129, 0), () => Buffer.alloc(-1), () => Buffer.alloc('5'), () => Buffer.from(5), () => Buffer.from(null), () => Buffer.from(undefined), () => Buffer.from({}), () => b.toString('nope'), () => Buffer.concat('x'), () => Buffer.byteLength(5), () => b.readUInt16BE('1'), () => b.swap16.call(Buffer.alloc(3)), () => Buffer.from('x', 'nope'), () => b.readUInt8(1.5), () => b.writeUInt32LE(-1), () => b.equals('x'), () => b.writeInt16BE(40000)])
  try { console.log(f()); } catch (e) { console.log(e.name, e.code, e.message); }
// program: decodes pieces of text
const { StringDecoder } = require('string_decoder');
const d = new StringDecoder('utf8');
console.log([0xe2, 0x82, 0xac, 0x41, 0xf0, 0x9f].map((x) => d.write(Buffer.from([x]))), JSON.stringify(d.end()));
const h = new StringDecoder('base64');
console.log(h.write(Buffer.from('ab')), h.end(Buffer.from('c')), new StringDecoder('utf16le').write(Buffer.from([0x61, 0, 0x62])), new StringDecoder('hex').write(Buffer.from('hi')));
// program: parses and builds query strings
const qs = require('querystring');
console.log(qs.parse('a=1&b=2&a=3&c=%20x+y&d&=e&é=ü'), qs.stringify({ a: [1, 2], b: 'x y', c: true, d: null, e: 'é&=' }), qs.parse('a:1;b:2', ';', ':'), qs.stringify({ x: 1, y: 2 }, ';', ':'), qs.escape('a b&c'), qs.unescape('a%20b%zz'), qs.parse('a=%E4%BD%A0%'), qs.stringify('no'), qs.parse('a=1&b=2&c=3', null, null, { maxKeys: 2 }));
// program: parses URLs
const u = new URL('https://user:pa%20ss@example.com:8080/p/a/t/h?query=string&a=1#hash');
console.log(u.href, u.origin, u.protocol, u.username, u.password, u.host, u.hostname, u.port, u.pathname, u.search, u.hash, String(u), JSON.stringify({ u }));
u.searchParams.append('b', 'x y');
u.searchParams.delete('a');
u.hash = '';
u.port = '443';
u.pathname = '/new path';
console.log(u.href, new URL('../x', 'http://h/a/b/c').href, new URL('//other/x', 'https://h').href, URL.canParse('nope'), URL.canParse('/x', 'http://h'));
try { new URL('nope'); } catch (e) { console.log(e.name, e.code, e.input); }
// program: prints URLs and search parameters
console.log(new URL('http://example.com/a?b=1#c'));
console.log(new URLSearchParams('a=1&b=2'), new URLSearchParams(), [new URLSearchParams({ x: 'y' })]);
// program: edits search parameters
const p = new URLSearchParams([['a', '1'], ['b', '2'], ['a', '3']]);
p.sort();
console.log(p.toString(), p.getAll('a'), p.get('zz'), p.has('b'), p.size, [...p], Object.fromEntries(p), new URLSearchParams('?x=%20+&y').toString(), new URLSearchParams({ q: 'é&=' }).toString());
p.set('a', 'new');
p.forEach((v, k) => console.log(k, v));
// program: parses URLs with the older functions
const url = require('url');
console.log(url.parse('https://user:pass@host.com:80/p/a?x=1&y=2#h'));
console.log(url.parse('/path?x=1', true).query, url.parse('mailto:a@b.c').href, url.format({ protocol: 'http', host: 'h.com', pathname: 'x', query: { a: 1 } }), url.resolve('http://a.com/b/c', '../d'), url.resolve('/one/two', 'three'));
console.log(url.fileURLToPath('file:///a%20b/c.txt'), url.pathToFileURL('/x y#z?.txt').href, url.format(new URL('http://u:p@h/x?y#z'), { auth: false, fragment: false }), url.domainToASCII('español.com'));
try { url.fileURLToPath('http://x'); } catch (e) { console.log(e.code, e.message); }
// program: emits events
const EventEmitter = require('events');
const e = new EventEmitter();
e.on('a', (...args) => console.log('a1', args));
e.once('a', () => console.log('once'));
e.prependListener('a', function () { console.log('first', this === e); });
console.log(e.emit('a', 1, 2), e.emit('a'), e.emit('none'), e.listenerCount('a'), e.eventNames(), e.listeners('a').length);
e.off('a', e.listeners('a')[0]);
e.removeAllListeners();
console.log(e.eventNames(), e.getMaxListeners(), e.setMaxListeners(1) === e, EventEmitter.defaultMaxListeners);
// program: handles error events and subclasses
const { EventEmitter, once, on } = require('events');
class My extends EventEmitter { constructor() { super(); this.v = 1; } }
const m = new My();
try { m.emit('error', new Error('unhandled')); } catch (e) { console.log(e.message); }
try { m.emit('error', 'text'); } catch (e) { console.log(e.code, e.message); }
m.on('error', (e) => console.log('handled', e.message));
m.emit('error', new Error('x'));
m.on('newListener', (name) => console.log('new', name));
m.on('foo', () => {});
try { m.on('bad', 5); } catch (e) { console.log(e.code, e.message); }
(async () => {
  setTimeout(() => m.emit('ready', 1, 2), 1);
  console.log(await once(m, 'ready'));
  setTimeout(() => { m.emit('item', 'a'); m.emit('item', 'b'); }, 1);
  let n = 0;
  for await (const [v] of on(m, 'item')) { console.log(v); if (++n === 2) break; }
})();
// program: removes listeners while emitting
const E = require('events');
const e = new E();
const b = () => console.log('b');
e.on('x', () => { console.log('a'); e.removeListener('x', b); e.on('x', () => console.log('late')); });
e.on('x', b);
e.emit('x');
e.emit('x');
console.log(e.rawListeners('x').length, e.listenerCount('x', b));
function Old() { E.call(this); }
require('util').inherits(Old, E);
const o = new Old();
o.once('y', (v) => console.log(v)).emit('y', 'inherited');
console.log(Old.super_ === E, o instanceof E);
// program: promisifies and callbackifies
const util = require('util');
const f = (a, cb) => (a < 0 ? cb(new Error('negative')) : cb(null, a * 2));
const p = util.promisify(f);
p(2).then(console.log);
p(-1).catch((e) => console.log(e.message));
util.callbackify(async (x) => { if (!x) throw null; return x; })(5, (e, v) => console.log(e, v));
util.callbackify(async () => { throw new Error('cb'); })((e) => console.log(e.message));
const c = () => {};
c[util.promisify.custom] = () => Promise.resolve('custom');
util.promisify(c)().then(console.log);
try { util.promisify('x'); } catch (e) { console.log(e.code); }
// program: parses arguments
const { parseArgs } = require('util');
console.log(parseArgs({ args: ['-f', '--bar', 'b', 'pos'], options: { foo: { type: 'boolean', short: 'f' }, bar: { type: 'string' } }, allowPositionals: true }));
console.log(parseArgs({ args: ['--n=1', '--n=2', '-abc', '--', '-x'], options: { n: { type: 'string', multiple: true }, a: { type: 'boolean', short: 'a' }, b: { type: 'boolean', short: 'b' }, c: { type: 'boolean', short: 'c' }, d: { type: 'string', default: 'dd' } }, allowPositionals: true }).values);
for (const args of [['--nope'], ['pos'], ['--s'], ['--b=1']]) try { parseArgs({ args, options: { s: { type: 'string' }, b: { type: 'boolean' } } }); } catch (e) { console.log(e.code, e.message); }
// program: uses other helpers of util
const util = require('util');
console.log(util.stripVTControlCharacters('\u001b[31mred\u001b[0m'), util.isArray([]), util.types.isDate(new Date()), util.inspect.custom, util.toUSVString('a\ud800'), util.isDeepStrictEqual([1], [1]));
const old = util.deprecate(() => 'result', 'old is deprecated');
console.log(old(), util.getSystemErrorName(-2), typeof util.debuglog('x'), new util.TextEncoder().encode('é').length);
// program: clones structures
const o = { d: new Date(0), m: new Map([[1, { a: 1 }]]), s: new Set([1]), r: /x/g, b: Buffer.from('a').buffer instanceof ArrayBuffer, n: [1, , 3], e: new RangeError('r') };
o.self = o;
const c = structuredClone(o);
console.log(c !== o, c.self === c, c.d, c.m, c.s, c.r, c.n, c.e.name, c.e.message);
try { structuredClone(() => {}); } catch (e) { console.log(e.name, e.code, e instanceof DOMException); }
// program: encodes and decodes text
console.log(new TextEncoder().encode('é€😀'), new TextDecoder().decode(new Uint8Array([0xe2, 0x82, 0xac])), new TextDecoder('latin1').encoding, new TextDecoder('utf-16le').decode(new Uint8Array([65, 0])), atob('aGk='), btoa('hi'), new TextEncoder().encodeInto('abc', new Uint8Array(2)));
try { new TextDecoder('nope'); } catch (e) { console.log(e.name, e.code); }
try { new TextDecoder('utf-8', { fatal: true }).decode(new Uint8Array([255])); } catch (e) { console.log(e.name, e.code); }
try { atob('*'); } catch (e) { console.log(e.name); }
// program: aborts operations
const c = new AbortController();
c.signal.addEventListener('abort', (e) => console.log(e.type, c.signal.aborted, c.signal.reason.name, c.signal.reason.message));
c.signal.onabort = () => console.log('onabort');
c.abort();
c.abort('again');
console.log(AbortSignal.abort('why').reason, AbortSignal.any([c.signal]).aborted);
try { c.signal.throwIfAborted(); } catch (e) { console.log(e.name, e.code); }
const t = AbortSignal.timeout(1);
t.addEventListener('abort', () => console.log(t.reason.name));
setTimeout(() => {}, 5);
console.log(new AbortController(), new AbortController().signal);
// program: dispatches events to targets
const t = new EventTarget();
t.addEventListener('x', (e) => { console.log('1', e.type, e.target === t, e.detail); e.preventDefault(); }, { once: true });
t.addEventListener('x', { handleEvent(e) { console.log('2', e.defaultPrevented); e.stopImmediatePropagation(); } });
t.addEventListener('x', () => console.log('never'));
console.log(t.dispatchEvent(new CustomEvent('x', { detail: 5, cancelable: true })), t.dispatchEvent(new Event('x')), t.dispatchEvent(new Event('y')));
class Bus extends EventTarget {}
new Bus().dispatchEvent(new Event('z'));
try { t.dispatchEvent({}); } catch (e) { console.log(e.code); }
// program: asserts
const assert = require('assert');
assert(true); assert.ok(1); assert.equal(1, '1'); assert.deepEqual({ a: 1 }, { a: '1' }); assert.strictEqual(NaN, NaN); assert.deepStrictEqual([1, { a: new Set([1]) }], [1, { a: new Set([1]) }]); assert.notStrictEqual(1, 2); assert.throws(() => { throw new TypeError('x'); }, TypeError); assert.doesNotThrow(() => {}); assert.match('abc', /b/);
console.log('passed', typeof assert.AssertionError, assert.strict.equal === assert.strictEqual);
// program: describes failed comparisons
const assert = require('assert');
for (const f of [() => assert.equal(1, 2), () => assert.strictEqual(1, 2), () => assert.strictEqual('hello world', 'hello there'), () => assert.strictEqual(1, 2, 'my message'), () => assert.notEqual(1, 1), () => assert.notStrictEqual(1, 1), () => assert.strictEqual({}, {}), () => assert.strictEqual('a\nb', 'a\nc'), () => assert.strictEqual(undefined, null), () => assert.strictEqual('a'.repeat(10), 'b'.repeat(10)), () => assert.fail(), () => assert.fail('why'), () => assert.ifError(new Error('e')), () => assert.match('abc', /x/), () => assert.doesNotMatch('abc', /b/), () => assert.equal(null, undefined, 'never'), () => assert.notStrictEqual({ a: 1 }, 5), () => assert.strictEqual(1, '1')])
  try { f(); console.log('passed'); } catch (e) { console.log(e.name, e.code, e.operator, e.generatedMessage, e.message); }
// program: describes failed deep comparisons
const assert = require('assert');
for (const [a, b] of [[{ a: 1 }, { a: 2 }], [[1, 2, 3], [1, 2, 4]], [{ a: 1, b: { c: [1, 2] } }, { a: 1, b: { c: [1, 3] } }], [[1], [1, 2]], [{ a: 1 }, {}], [new Map([[1, 2]]), new Map([[1, 3]])], [new Set([1]), new Set([2])], ['x', 'y'], [{ a: undefined }, {}], [[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], [1, 2, 3, 4, 5, 6, 7, 8, 9, 11]], [new Date(0), new Date(1)], [{ x: 'long text here that differs' }, { x: 'long text here that differed' }]])
  try { assert.deepStrictEqual(a, b); } catch (e) { console.log(e.message); console.log('---'); }
// program: describes failed loose comparisons
const assert = require('assert');
for (const f of [() => assert.deepEqual({ a: 1 }, { a: 2 }), () => assert.notDeepEqual([1], [1]), () => assert.notDeepStrictEqual({ a: 1 }, { a: 1 }), () => assert.equal({}, {}), () => assert.equal('a', 'b'), () => assert.deepEqual([1, 2], [2, 1])]) try { f(); } catch (e) { console.log(e.message); console.log('---'); }
// program: describes missing and wrong exceptions
const assert = require('assert');
const boom = () => { throw new RangeError('boom'); };
for (const f of [() => assert.throws(() => {}), () => assert.throws(() => {}, TypeError), () => assert.throws(() => {}, 'message'), () => assert.throws(boom, /nope/), () => assert.throws(boom, { message: 'other' }), () => assert.throws(boom, { name: 'RangeError', message: /bo/ }), () => assert.doesNotThrow(boom), () => assert.doesNotThrow(boom, 'extra'), () => assert.throws(boom, (e) => e instanceof RangeError), () => assert.throws(boom, () => false), () => assert.throws('x'), () => assert.throws(boom, new RangeError('boom'))])
  try { f(); console.log('passed'); } catch (e) { console.log(e.name, e.code, e.message); }
// program: asserts about promises
const assert = require('assert/strict');
(async () => {
  await assert.rejects(Promise.reject(new Error('x')), { message: 'x' });
  await assert.doesNotReject(async () => 1);
  for (const f of [() => assert.rejects(Promise.resolve(1)), () => assert.rejects(async () => { throw new Error('a'); }, /b/), () => assert.doesNotReject(Promise.reject(new Error('bad'))), () => assert.rejects(5)]) await f().catch((e) => console.log(e.name, e.code, e.message));
})();
// program: quotes the expression of a failed assertion
const assert = require('assert');
const x = 5;
try { assert(x === 6); } catch (e) { console.log(e.message, e.actual, e.expected, e.operator, e.generatedMessage); }
try { assert.ok(x > 10 && 'text' === "text"); } catch (e) { console.log(e.message); }
try { assert(0, 'given'); } catch (e) { console.log(e.message, e.generatedMessage); }
try { assert(false, new TypeError('own')); } catch (e) { console.log(e.name, e.message); }
// program: checks values as Node.js does
const { Buffer, INSPECT_MAX_BYTES } = require('buffer');
const buffer = require('buffer');
const util = require('util');
const qs = require('querystring');
const url = require('url');
const { StringDecoder } = require('string_decoder');
const events = require('events');
const crypto = require('crypto');
console.log(INSPECT_MAX_BYTES, Buffer.concat([], 9), Buffer.from('abc').copy(Buffer.alloc(3), 'x'), Buffer.from('ff').indexOf(Buffer.from('f'), 1, 'ucs2'));
for (const f of [() => { buffer.INSPECT_MAX_BYTES = -1; }, () => { buffer.INSPECT_MAX_BYTES = 'x'; }, () => util.deprecate(() => {}, 'm', 1), () => util.inherits(function A() {}, {}), () => util.inherits(function A() {}, null), () => qs.escape('\ud801'), () => url.domainToASCII(), () => events.setMaxListeners(1, 'x'), () => crypto.randomUUID(1), () => crypto.createHmac(null), () => new StringDecoder('odd')])
  try { f(); console.log('no error'); } catch (e) { console.log(e.name, e.code, e.message); }
buffer.INSPECT_MAX_BYTES = 2;
console.log(Buffer.from('1234'));
buffer.INSPECT_MAX_BYTES = 50;
const decoder = {};
StringDecoder.call(decoder, 'latin1');
console.log(decoder.encoding, qs.escape('x y'), url.domainToUnicode('xn--b1amarcd.com'));
events.prototype.on.call({}, 'event', () => {});
console.log(util.stripVTControlCharacters('\u001b]8;;https://a.b/?c=1\u0007click\u001b]8;;\u0007 \u001b[31mred\u001b[0m'), Object.getOwnPropertyDescriptor(Event, 'NONE').writable);
const params = new URLSearchParams();
params.append('a', '\ud83d');
const marked = (value) => Object.assign(new Uint8Array(2), { [Symbol.for('s')]: value });
console.log(util.isDeepStrictEqual(marked(1), marked(1)), util.isDeepStrictEqual(marked(1), marked(2)), params.get('a') === '\ufffd');
