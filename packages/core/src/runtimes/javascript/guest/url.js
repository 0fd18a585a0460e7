/** URL and URLSearchParams of the WHATWG standard, from core-js, with the errors and the inspection of Node.js. */
import CoreURL from 'core-js-pure/actual/url';
import URLSearchParams from 'core-js-pure/actual/url-search-params';
import { customInspect, inspect } from './inspect.js';
import { load } from './node-modules.js';

const PARTS = [
  ...['href', 'origin', 'protocol', 'username', 'password', 'host', 'hostname', 'port', 'pathname', 'search'],
  ...['searchParams', 'hash'],
];

function invalidUrl(input, base) {
  const error = new TypeError('Invalid URL');
  error.code = 'ERR_INVALID_URL';
  error.input = String(input);
  if (base !== undefined) error.base = String(base);
  return error;
}

const coded = (message, code) => Object.assign(new TypeError(message), { code });
const missingArgs = (...names) => {
  const list = names.map((name) => `"${name}"`).join(' and ');
  return coded(`The ${list} argument${names.length > 1 ? 's' : ''} must be specified`, 'ERR_MISSING_ARGS');
};
const invalidThis = (name) => coded(`Value of "this" must be of type ${name}`, 'ERR_INVALID_THIS');

class URL extends CoreURL {
  constructor(input, base = undefined) {
    try {
      super(input, base);
    } catch (error) {
      if (!(error instanceof TypeError) || typeof input === 'symbol') throw error;
      throw invalidUrl(input, base);
    }
  }

  static canParse(input, base = undefined) {
    if (arguments.length === 0) throw missingArgs('url');
    return CoreURL.canParse(input, base);
  }

  static parse(input, base = undefined) {
    return CoreURL.canParse(input, base) ? new URL(input, base) : null;
  }

  [customInspect](depth, options) {
    if (typeof depth === 'number' && depth < 0) return this;
    const parts = Object.fromEntries(PARTS.map((name) => [name, this[name]]));
    return `${this.constructor.name} ${inspect(parts, options)}`;
  }
}
// The bundler renames the class.
Object.defineProperty(URL, 'name', { value: 'URL', configurable: true });
Object.defineProperty(URL.prototype, customInspect, { enumerable: false });

const isParams = (value) => value instanceof URLSearchParams;

/** Gives the methods the errors of Node.js for a wrong `this` and for missing arguments. */
const REQUIRED = {
  append: ['name', 'value'],
  set: ['name', 'value'],
  delete: ['name'],
  get: ['name'],
  getAll: ['name'],
  has: ['name'],
  sort: [],
  toString: [],
};
for (const [name, required] of Object.entries(REQUIRED)) {
  const native = URLSearchParams.prototype[name];
  const method = {
    [name](...args) {
      if (!isParams(this)) throw invalidThis('URLSearchParams');
      if (args.length < required.length) throw missingArgs(...required);
      if (args.some((one, i) => typeof one === 'symbol' && i < 2))
        throw new TypeError('Cannot convert a Symbol value to a string');
      // Half of a pair of surrogates is replaced, as in all texts of the standard.
      return native.apply(
        this,
        args.map((one, i) => (i < required.length || one !== undefined ? String(one).toWellFormed() : one)),
      );
    },
  }[name];
  Object.defineProperty(method, 'length', { value: required.length, configurable: true });
  Object.defineProperty(URLSearchParams.prototype, name, { value: method });
}
const nativeForEach = URLSearchParams.prototype.forEach;
Object.defineProperty(URLSearchParams.prototype, 'forEach', {
  value: {
    forEach(callback, thisArg = undefined) {
      if (!isParams(this)) throw invalidThis('URLSearchParams');
      if (typeof callback !== 'function')
        throw load('node:internal/errors').invalidArgType('callback', 'function', callback);
      return nativeForEach.call(this, callback, thisArg);
    },
  }.forEach,
});

function inspectParams(depth, options) {
  if (!isParams(this)) throw invalidThis('URLSearchParams');
  if (typeof depth === 'number' && depth < 0) return '[Object]';
  const pairs = [...this].map(([name, value]) => `${inspect(name, options)} => ${inspect(value, options)}`);
  if (pairs.length === 0) return 'URLSearchParams {}';
  const line = `URLSearchParams { ${pairs.join(', ')} }`;
  return line.length <= options.breakLength ? line : `URLSearchParams {\n  ${pairs.join(',\n  ')} }`;
}
Object.defineProperty(URLSearchParams, 'name', { value: 'URLSearchParams', configurable: true });
Object.defineProperty(URLSearchParams.prototype, customInspect, {
  value: inspectParams,
  configurable: true,
  enumerable: false,
  writable: true,
});

/** Shows the pairs that are left, without advancing the iterator. */
function inspectIterator(depth, options) {
  if (typeof depth === 'number' && depth < 0) return '[Object]';
  const state = iterators.get(this);
  if (state === undefined) return 'Object [URLSearchParams Iterator] {}';
  const rest = [...state.params].slice(state.count).map((pair) => inspect(state.pick(pair), options));
  const line = `URLSearchParams Iterator { ${rest.join(', ')} }`;
  if (rest.length === 0) return 'URLSearchParams Iterator {  }';
  return line.length <= options.breakLength ? line : `URLSearchParams Iterator {\n  ${rest.join(',\n  ')} }`;
}

/** What the iterators of parameters have returned. */
const iterators = new WeakMap();
const PICKS = { entries: (pair) => pair, keys: ([name]) => name, values: ([, value]) => value };
const iteratorPrototype = Object.getPrototypeOf(new URLSearchParams().entries());
const { next } = iteratorPrototype;
for (const [name, pick] of Object.entries(PICKS)) {
  const native = URLSearchParams.prototype[name];
  const method = {
    [name]() {
      if (!isParams(this)) throw invalidThis('URLSearchParams');
      const iterator = native.call(this);
      iterators.set(iterator, { params: this, pick, count: 0 });
      return iterator;
    },
  }[name];
  Object.defineProperty(URLSearchParams.prototype, name, { value: method });
}
Object.defineProperty(URLSearchParams.prototype, Symbol.iterator, {
  value: URLSearchParams.prototype.entries,
});
Object.defineProperty(iteratorPrototype, 'next', {
  value: {
    next() {
      const state = typeof this === 'object' && this !== null ? iterators.get(this) : undefined;
      if (state === undefined) throw invalidThis('URLSearchParamsIterator');
      state.count++;
      return next.call(this);
    },
  }.next,
});
Object.defineProperty(iteratorPrototype, customInspect, {
  value: inspectIterator,
  configurable: true,
  writable: true,
});

export { URL, URLSearchParams };
