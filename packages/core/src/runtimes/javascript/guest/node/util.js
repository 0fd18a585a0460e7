/** The module `util`. */

import { LINUX_ERRNO } from '../../linux-errno.js';
import { format as formatList, formatWithOptions } from '../console-format.js';
import { host } from '../host-calls.js';
import { inspect } from '../inspect.js';
import { removeColors } from '../inspect-text.js';
import { TextDecoder, TextEncoder } from '../text-encoding.js';
import { isDeepStrictEqual } from './internal/deep-equal.js';
import { invalidArgType, invalidArgValue, unavailable, validateString } from './internal/errors.js';
import { parseArgs } from './internal/parse-args.js';
import { parseEnv } from './internal/parse-env.js';
import { callbackify, promisify } from './internal/promisify.js';
import types from './util/types.js';

/** Styles of a terminal by the code that ends them, each with the code that starts it. */
const STYLE_CODES = {
  0: 'reset=0',
  22: 'bold=1 dim=2',
  23: 'italic=3',
  24: 'underline=4 doubleunderline=21',
  25: 'blink=5',
  27: 'inverse=7',
  28: 'hidden=8',
  29: 'strikethrough=9',
  39: `black=30 red=31 green=32 yellow=33 blue=34 magenta=35 cyan=36 white=37 gray=90 grey=90 redBright=91 greenBright=92
yellowBright=93 blueBright=94 magentaBright=95 cyanBright=96 whiteBright=97`,
  49: 'bgBlack=40 bgRed=41 bgGreen=42 bgYellow=43 bgBlue=44 bgMagenta=45 bgCyan=46 bgWhite=47',
  54: 'framed=51',
  55: 'overlined=53',
};
const STYLES = Object.create(null);
for (const [end, names] of Object.entries(STYLE_CODES))
  for (const [, name, start] of names.matchAll(/(\w+)=(\d+)/g)) STYLES[name] = [Number(start), Number(end)];
inspect.colors = STYLES;
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

function debuglog(section) {
  const log = (...args) => {
    if (log.enabled) host.writeText(2, `${section.toUpperCase()} 1: ${formatList(args)}\n`);
  };
  Object.defineProperty(log, 'enabled', {
    get: () =>
      `${globalThis.process.env['NODE_DEBUG']}`.toLowerCase().split(',').includes(section.toLowerCase()),
    enumerable: true,
  });
  return log;
}

const refusedClass = (name) =>
  class {
    constructor() {
      throw unavailable(`util.${name} is not available in the sandbox. Use split(';').`);
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
/** The tests that Node.js 23 has removed. */
Object.assign(util, {
  isBoolean: (value) => typeof value === 'boolean',
  isDate: types.isDate,
  isError: (value) => value instanceof Error,
  isFunction: (value) => typeof value === 'function',
  isNumber: (value) => typeof value === 'number',
  isObject: (value) => value !== null && typeof value === 'object',
  isRegExp: types.isRegExp,
  isString: (value) => typeof value === 'string',
});
util._extend = (target, source) =>
  source === null || typeof source !== 'object' ? target : Object.assign(target, source);

export default util;
