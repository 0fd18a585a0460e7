// program: prints primitives
console.log(1, -0, 0, 1.5, NaN, Infinity, 5n, 'text', true, null, undefined, Symbol('s'), Symbol());
console.log([1, -0, 'text', true, null, undefined, Symbol('s'), 10n]);
// program: prints nested objects up to depth 2
console.log({ a: { b: { c: { d: 1 } } }, e: [[[[1]]]] });
console.log({}, [], { a: {} }, [[]], { a: [] });
// program: breaks long objects into lines
console.log({ name: 'a long name that takes space', value: 12345678, other: 'another long text here', more: true });
console.log({ a: 'x'.repeat(30), b: 'y'.repeat(30), c: [1, 2, 3] });
// program: groups long arrays in columns
console.log(Array.from({ length: 30 }, (_, i) => i * 7));
console.log(Array.from({ length: 120 }, (_, i) => i));
console.log(['apple', 'banana', 'cherry', 'date', 'elderberry', 'fig', 'grape', 'honeydew melon']);
console.log(Array.from({ length: 10 }, (_, i) => ({ id: i })));
// program: prints sparse arrays and extra properties
const sparse = [1, , 3, , , 6];
console.log(sparse, [, ,], new Array(5));
console.log(Object.assign([1, 2], { key: 'v', '-x': 1 }));
// program: prints maps, sets and weak collections
console.log(new Map([['a', 1], [{ b: 2 }, new Map([[1, 2]])]]), new Set([1, 'two', [3]]), new Map(), new Set());
console.log(new WeakMap(), new WeakSet());
console.log({ m: new Map([['k', { deep: { er: { x: 1 } } }]]) });
// program: prints functions and classes
class A {}
class B extends A { static s = 1; }
console.log(function f() {}, () => {}, async () => {}, function* g() {}, async function* ag() {}, A, B, class {}, class extends A {});
console.log({ f() {}, g: () => 1, h: class Named {} }, Math.max, Object.assign(() => {}, { x: 1 }));
// program: prints instances with the name of their class
class Point { constructor(x, y) { this.x = x; this.y = y; } }
class Point3 extends Point { constructor() { super(1, 2); this.z = 3; } get len() { return 1; } }
console.log(new Point(1, 2), new Point3(), [new Point(0, 0)], new (class extends Array {})(3));
class Empty {}
console.log(new Empty(), { e: new Empty() });
class Stack extends Array {}
console.log(Stack.from([1, 2]), new (class M extends Map {})([[1, 2]]));
// program: prints null prototypes and tags
console.log(Object.create(null), Object.assign(Object.create(null), { a: 1 }));
console.log({ [Symbol.toStringTag]: 'Tag' }, new (class { get [Symbol.toStringTag]() { return 'T'; } })());
console.log(Object.create({ inherited: 1 }), Object.create(Array.prototype));
// program: prints dates, regular expressions and boxed values
console.log(new Date(0), [new Date(86400000)], new Date(NaN), /a+b/gi, [/x/]);
console.log(new Number(3), new String('abc'), new Boolean(false), Object(5n), Object(Symbol('q')));
console.log(Object.assign(new Date(5), { extra: 1 }), Object.assign(/r/, { p: 2 }));
// program: prints accessors, symbols and hidden properties
console.log({ get a() { return 1; }, set b(v) {}, get c() { return 1; }, set c(v) {} });
console.log({ [Symbol('k')]: 1, [Symbol.iterator]: 2 });
const hidden = Object.defineProperty({ a: 1 }, 'h', { value: 2, enumerable: false });
console.log(hidden);
console.log(require('util').inspect(hidden, { showHidden: true }));
// program: prints circular references
const c = { name: 'c' };
c.self = c;
c.list = [c, { c }];
console.log(c);
const a = [];
a.push(a, [a]);
console.log(a);
const m = new Map();
m.set('m', m);
console.log(m);
// program: quotes strings
console.log(["it's", 'say "hi"', `both ' and "`, 'all \' " `', 'new\nline', 'tab\t', 'null\0', '\u001b[0m', '\\', 'é😀', '\ud800', '\x7f']);
console.log({ "it's": 1, 'a-b': 2, valid_1: 3, $dollar: 4, 0: 5, 'ü': 6 });
// program: splits long strings with line ends
console.log({ text: 'first line of the text\nsecond line of the text\nthird line of the text that is long' });
console.log(['short\nlines']);
// program: prints typed arrays and buffers
console.log(new Uint8Array([1, 2, 3]), new Float64Array([1.5, -0]), new BigInt64Array([1n]), new Uint8Array(0));
console.log(new ArrayBuffer(4), new DataView(new ArrayBuffer(2)), Buffer.from('hello'), Buffer.alloc(0), [Buffer.from([1, 255])]);
console.log(Buffer.alloc(60, 1), new Uint8Array(200));
// program: prints promises and proxies
console.log(Promise.resolve(4), Promise.resolve({ a: 1 }), new Promise(() => {}));
const rejected = Promise.reject(new RangeError('no'));
rejected.catch(() => {});
console.log(Object.prototype.toString.call(rejected));
console.log(new Proxy({ a: 1 }, { get: () => 'trap' }), new Proxy([1, 2], {}), new Proxy(function f() {}, {}));
console.log(require('util').inspect(new Proxy({ a: 1 }, { get() {} }), { showProxy: true }));
// program: prints generators, arguments and module objects
console.log((function* () {})(), (function () { return arguments; })(1, 'two'), JSON, Math, globalThis === global, Reflect);
// program: prints errors without stack
const e = new Error('boom');
e.stack = undefined;
console.log(e);
const t = new TypeError('bad');
t.stack = 'TypeError: bad';
t.code = 'E_BAD';
console.log(t, [t], { t });
// program: prints errors with a cause and aggregate errors
const trim = (error) => { error.stack = `${error.name}: ${error.message}\n    at place (file.js:1:1)`; return error; };
const inner = trim(new Error('inner'));
console.log(trim(Object.assign(new Error('outer', { cause: inner }), { code: 'X' })));
console.log({ e: trim(new Error('in object')) });
const all = trim(new AggregateError([trim(new Error('one')), trim(new Error('two'))], 'many'));
console.log(all);
// program: prints error classes
class AppError extends Error { constructor(m, extra) { super(m); this.name = 'AppError'; Object.assign(this, extra); } }
class NoName extends Error {}
const first = (x) => require('util').inspect(x).split('\n')[0];
console.log(first(new AppError('a', { status: 404 })), first(new NoName('b')), first(new Error('')), first(new Error('multi\nline')));
console.log(String(new AppError('x')), new NoName('y').toString(), Object.prototype.toString.call(new AppError('z')));
// program: formats with specifiers
console.log('%s %s %s %s', 'str', 5, { a: 1 }, [1, [2]], 'extra');
console.log('%d %d %d %i %i %f', 5, '5.5', {}, 5.9, '7px', '1.25abc');
console.log('%j %j', { a: [1] }, 'x');
console.log('%o', { f: [1, { g: 2 }] });
console.log('%O', { a: { b: { c: { d: 1 } } } });
console.log('%c styled', 'color: red');
console.log('100%', 5, '%%', '%x', 1);
console.log('%s', null, undefined, Symbol('s'), 5n, -0, () => 1, class Q {});
console.log('a', 'b', { c: 1 }, 'd');
console.log('%s', { toString() { return 'custom'; } }, new (class X { toString() { return 'X!'; } })());
console.log('%s and %s', 'only one');
console.log('%s', new Date(0), [1, 'a'], new Error('e').message);
// program: formats with util.format
const util = require('util');
console.log(util.format('%s:%s', 'a'), util.format('a', 'b', 3), util.format(1, 2, '3'), util.format('%%'), util.format());
console.log(util.format('%d', 42n), util.format('%i', 42n), util.format('%f', 42n));
console.log(util.format('%s', 'a', { b: 1 }), util.format({ a: 1 }, 'x'));
// program: honours the options of util.inspect
const util = require('util');
const o = { a: { b: { c: { d: { e: 1 } } } }, list: Array.from({ length: 200 }, (_, i) => i), s: 'x'.repeat(50) };
console.log(util.inspect(o, { depth: 0 }), util.inspect(o.a, { depth: null }), util.inspect(o.a, false, null));
console.log(util.inspect(o.list, { maxArrayLength: 3 }), util.inspect(o.s, { maxStringLength: 10 }));
console.log(util.inspect({ b: 1, a: 2 }, { sorted: true }), util.inspect({ a: 1, b: { c: 2 } }, { compact: false }));
console.log(util.inspect({ a: 1, b: [1, 2, { c: 3 }] }, { compact: true }), util.inspect({ a: { b: 1 } }, { breakLength: 5 }));
console.log(util.inspect({ a: 1, s: 'x', n: null, u: undefined, d: new Date(0), r: /x/, y: Symbol('y'), f() {} }, { colors: true }));
console.log(util.inspect({ get a() { return { x: 1 }; }, get b() { return 2; } }, { getters: true }));
console.log(util.inspect({ n: 1234567.891 }, { numericSeparator: true }), util.inspect(new Map([[1, { a: { b: {} } }]]), { depth: 0 }));
// program: uses custom inspection functions
const util = require('util');
class Money {
  constructor(v) { this.v = v; }
  [util.inspect.custom](depth, options, inspect) { return `Money<${inspect(this.v, options)}>`; }
}
console.log(new Money(5), [new Money('x')], { m: new Money({ a: 1 }) }, `${util.inspect(new Money(1))}`);
console.log({ [util.inspect.custom]() { return { replaced: true }; } });
console.log({ [util.inspect.custom](d) { return 'depth ' + d; } }, { x: { [util.inspect.custom](d) { return 'depth ' + d; } } });
// program: prints large nested data
console.log({ users: [{ id: 1, name: 'Ann', tags: ['a', 'b'], address: { city: 'X', geo: { lat: 1, lng: 2 } } }, { id: 2, name: 'Bob', tags: [], address: null }], total: 2 });
console.log(JSON.parse('{"a":[{"b":[1,2,3,{"c":[]}]}],"long":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}'));
console.log([['name', 'age'], ['Ann', 5], ['Bob', 10]], [[1, 2, [3, 4, [5, [6]]]], { a: [{ b: { c: {} } }] }]);
console.log(Object.fromEntries(Array.from({ length: 30 }, (_, i) => ['key' + i, i])));
// program: prints tables
console.table([{ a: 1, b: 'x' }, { a: 2, c: true }]);
console.table([[1, 2], [3, 4]]);
console.table({ x: { y: 1 }, z: 3 });
console.table(['p', 'q']);
console.table([{ a: 1, b: 2 }], ['b']);
console.table(new Map([['k', 1]]));
console.table(new Set(['s']));
console.table(5);
console.table([]);
// program: indents groups and counts
console.group('Group');
console.log('inside');
console.group();
console.info({ a: 1, b: 'x'.repeat(80) });
console.groupEnd();
console.groupEnd();
console.log('outside');
console.count();
console.count('x');
console.count();
console.countReset();
console.count();
console.dir({ a: { b: { c: { d: 1 } } } }, { depth: 0 });
console.dirxml([1], { b: 2 });
console.debug('debug %d', 5);
// program: checks types with util.types
const { types } = require('util');
console.log(types.isDate(new Date()), types.isRegExp(/x/), types.isPromise(Promise.resolve()), types.isMap(new Map()), types.isProxy(new Proxy({}, {})));
console.log(types.isGeneratorFunction(function* () {}), types.isAsyncFunction(async () => {}), types.isTypedArray(new Uint8Array()), types.isUint8Array(Buffer.alloc(1)));
console.log(types.isNativeError(new TypeError()), types.isBoxedPrimitive(Object(1)), types.isArrayBuffer(new ArrayBuffer(1)), types.isSet({}), types.isArgumentsObject((function () { return arguments; })()));
// program: compares deeply with util.isDeepStrictEqual
const { isDeepStrictEqual: eq } = require('util');
console.log(eq({ a: [1, { b: 2 }] }, { a: [1, { b: 2 }] }), eq([1], ['1']), eq(new Set([{ a: 1 }]), new Set([{ a: 1 }])), eq(new Map([[{}, 1]]), new Map([[{}, 1]])));
console.log(eq(NaN, NaN), eq(0, -0), eq(new Date(0), new Date(0)), eq(/a/g, /a/i), eq([1, , 3], [1, undefined, 3]), eq({ a: undefined }, {}), eq(Object.create(null), {}));
console.log(eq(new Error('a'), new Error('a')), eq(new Error('a'), new Error('b')), eq(Buffer.from('a'), Buffer.from('a')), eq([1, 2], { 0: 1, 1: 2 }));
