/** The module `util`. */

import { LINUX_ERRNO } from '../../linux-errno.js';
import { format as formatList, formatWithOptions } from '../console-format.js';
import { host } from '../host-calls.js';
import { inspect } from '../inspect.js';
import { removeColors } from '../inspect-text.js';
import { TextDecoder, TextEncoder } from '../text-encoding.js';
import { isDeepStrictEqual } from './internal/deep-equal.js';
import { codedError, invalidArgType, invalidArgValue, validateString } from './internal/errors.js';
import { parseArgs } from './internal/parse-args.js';
import { parseEnv } from './internal/parse-env.js';
import { callbackify, promisify } from './internal/promisify.js';
import types from './util/types.js';

/** Colors and other styles of a terminal: code to start and code to end. */
const STYLES = {
  reset: [0, 0],
  bold: [1, 22],
  dim: [2, 22],
  italic: [3, 23],
  underline: [4, 24],
  blink: [5, 25],
  inverse: [7, 27],
  hidden: [8, 28],
  strikethrough: [9, 29],
  doubleunderline: [21, 24],
  black: [30, 39],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  blue: [34, 39],
  magenta: [35, 39],
  cyan: [36, 39],
  white: [37, 39],
  bgBlack: [40, 49],
  bgRed: [41, 49],
  bgGreen: [42, 49],
  bgYellow: [43, 49],
  bgBlue: [44, 49],
  bgMagenta: [45, 49],
  bgCyan: [46, 49],
  bgWhite: [47, 49],
  framed: [51, 54],
  overlined: [53, 55],
  gray: [90, 39],
  grey: [90, 39],
  redBright: [91, 39],
  greenBright: [92, 39],
  yellowBright: [93, 39],
  blueBright: [94, 39],
  magentaBright: [95, 39],
  cyanBright: [96, 39],
  whiteBright: [97, 39],
};
inspect.colors = Object.assign(Object.create(null), STYLES);
inspect.styles = Object.assign(Object.create(null), {
  special: 'cyan',
  number: 'yellow',
  bigint: 'yellow',
  boolean: 'yellow',
  undefined: 'grey',
  null: 'bold',
  string: 'green',
  symbol: 'green',
  date: 'magenta',
  regexp: 'red',
  module: 'underline',
});

/** Standard output is not a terminal, so the text is styled only if the stream is not checked. */
function styleText(format, text, { validateStream = true } = {}) {
  const names = Array.isArray(format) ? format : [format];
  let [left, right] = ['', ''];
  for (const name of names) {
    const codes = STYLES[name];
    if (codes === undefined)
      throw invalidArgValue(
        'format',
        name,
        `must be one of: ${Object.keys(STYLES)
          .map((key) => `'${key}'`)
          .join(', ')}`,
      );
    left += `\x1b[${codes[0]}m`;
    right = `\x1b[${codes[1]}m${right}`;
  }
  return validateStream ? text : `${left}${text}${right}`;
}

const warned = new Set();

/** Wraps a function so that its first call prints a warning. */
function deprecate(original, message, code = undefined) {
  if (code !== undefined) validateString(code, 'code');
  let isWarned = false;
  function deprecated(...args) {
    if (!isWarned) {
      isWarned = true;
      if (code === undefined || !warned.has(code)) {
        if (code !== undefined) warned.add(code);
        globalThis.process.emitWarning(message, 'DeprecationWarning', code);
      }
    }
    return new.target ? Reflect.construct(original, args, new.target) : original.apply(this, args);
  }
  Object.setPrototypeOf(deprecated, original);
  if (original.prototype) deprecated.prototype = original.prototype;
  return deprecated;
}

function inherits(constructor, parent) {
  if (typeof constructor !== 'function') throw invalidArgType('ctor', 'function', constructor);
  if (parent === undefined || parent === null) throw invalidArgType('superCtor', 'function', parent);
  if (parent.prototype === undefined) throw invalidArgType('superCtor.prototype', 'Object', parent.prototype);
  Object.defineProperty(constructor, 'super_', { value: parent, writable: true, configurable: true });
  Object.setPrototypeOf(constructor.prototype, parent.prototype);
}

const MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');

/** Prints a text after the time. */
function log(...args) {
  const now = new Date();
  const time = [now.getHours(), now.getMinutes(), now.getSeconds()].map((one) => `${one}`.padStart(2, '0'));
  globalThis.console.log(
    `${now.getDate()} ${MONTHS[now.getMonth()]} ${time.join(':')} - ${formatList(args)}`,
  );
}

const debugSections = () =>
  String(globalThis.process.env['NODE_DEBUG'] ?? '')
    .toLowerCase()
    .split(',');

function debuglog(section) {
  const log = (...args) => {
    if (log.enabled) host.writeText(2, `${section.toUpperCase()} 1: ${formatList(args)}\n`);
  };
  Object.defineProperty(log, 'enabled', {
    get: () => debugSections().includes(section.toLowerCase()),
    enumerable: true,
  });
  return log;
}

const refusedClass = (name) =>
  class {
    constructor() {
      throw codedError(
        Error,
        'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM',
        `util.${name} is not available in the sandbox. Use split(';').`,
      );
    }
  };

/** Errors of processes that the kernel does not report. */
const PROCESS_ERRNO = { ENOBUFS: 105, ETIMEDOUT: 110 };
const errnoNames = new Map(
  Object.entries({ ...LINUX_ERRNO, ...PROCESS_ERRNO }).map(([name, errno]) => [-errno, name]),
);

const util = {
  MIMEParams: refusedClass('MIMEParams'),
  MIMEType: refusedClass('MIMEType'),
  TextDecoder,
  TextEncoder,
  callbackify,
  debug: debuglog,
  debuglog,
  deprecate,
  format: (...args) => formatList(args),
  formatWithOptions(options, ...args) {
    if (typeof options !== 'object' || options === null)
      throw invalidArgType('inspectOptions', 'object', options);
    return formatWithOptions(options, ...args);
  },
  getSystemErrorMap: () => new Map([...errnoNames].map(([errno, name]) => [errno, [name, name]])),
  getSystemErrorName: (errno) => errnoNames.get(errno),
  inherits,
  inspect,
  isArray: Array.isArray,
  isDeepStrictEqual,
  log,
  parseArgs,
  parseEnv,
  promisify,
  stripVTControlCharacters(text) {
    validateString(text, 'str');
    // Links and titles end with a control character; the other sequences with a letter.
    const plain = removeColors(text).replace(
      /(?:\u001b\]|\u009d)[^\u0007\u001b\u009c]*(?:\u0007|\u001b\\|\u009c)/g,
      '',
    );
    return plain.replace(/[\u001b\u009b][[()#;?]*(?:\d{1,4}(?:;\d{0,4})*)?[\dA-PR-TZcf-nq-uy=><~]/g, '');
  },
  styleText,
  toUSVString: (text) => String(text).toWellFormed(),
  types,
  aborted: (signal) =>
    new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true })),
};
for (const [name, test] of Object.entries({
  isBoolean: (value) => typeof value === 'boolean',
  isBuffer: (value) => globalThis.Buffer.isBuffer(value),
  isDate: types.isDate,
  isError: (value) => value instanceof Error,
  isFunction: (value) => typeof value === 'function',
  isNull: (value) => value === null,
  isNullOrUndefined: (value) => value === null || value === undefined,
  isNumber: (value) => typeof value === 'number',
  isObject: (value) => value !== null && typeof value === 'object',
  isPrimitive: (value) => value === null || (typeof value !== 'object' && typeof value !== 'function'),
  isRegExp: types.isRegExp,
  isString: (value) => typeof value === 'string',
  isSymbol: (value) => typeof value === 'symbol',
  isUndefined: (value) => value === undefined,
}))
  util[name] = test;
util._extend = (target, source) =>
  source === null || typeof source !== 'object' ? target : Object.assign(target, source);

export default util;
