/**
 * Formats values for people, in the style of util.inspect of Node.js. Depth, entries per object and the total number of
 * entries are limited, so that printing a huge object does not exhaust the fuel or the memory of a program.
 */

const WIDTH = 76;
const MAX_ITEMS = 100;
const MAX_STRING = 10_000;
/** Entries of all objects together. */
const MAX_ENTRIES = 5_000;
const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;
const ESCAPES = {
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\b': '\\b',
  '\f': '\\f',
  '\v': '\\v',
  '\\': '\\\\',
};

/** Properties that the text of an error already contains. */
const ERROR_KEYS = new Set(['name', 'message', 'stack', 'cause']);

export const DEFAULT_DEPTH = 2;

export function quote(text) {
  const mark = !text.includes("'") ? "'" : !text.includes('"') ? '"' : !text.includes('`') ? '`' : "'";
  const body = text.replace(/[\p{Cc}\\'"`]/gu, (char) => {
    if (char === mark) return `\\${char}`;
    if (char === "'" || char === '"' || char === '`') return char;
    return ESCAPES[char] ?? `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`;
  });
  return mark + body + mark;
}

function className(value) {
  for (let object = value; object !== null; object = Object.getPrototypeOf(object)) {
    const descriptor = Object.getOwnPropertyDescriptor(object, 'constructor');
    if (typeof descriptor?.value === 'function' && descriptor.value.name) return descriptor.value.name;
  }
  return null;
}

export function typeName(value) {
  if (value === null) return 'null';
  return typeof value === 'object' ? (className(value) ?? 'Object') : typeof value;
}

export function primitive(value) {
  if (typeof value === 'string') {
    const rest = value.length - MAX_STRING;
    return rest > 0 ? `${quote(value.slice(0, MAX_STRING))}... ${rest} more characters` : quote(value);
  }
  if (typeof value === 'bigint') return `${value}n`;
  if (Object.is(value, -0)) return '-0';
  return String(value);
}

/** The stack with its first line, which QuickJS omits from `stack`. */
function errorText(error) {
  const name = String(error.name ?? 'Error');
  const message = String(error.message ?? '');
  const headline = message === '' ? name : name === '' ? message : `${name}: ${message}`;
  const stack = typeof error.stack === 'string' ? error.stack.trimEnd() : '';
  if (stack === '') return headline;
  return stack.startsWith(headline) ? stack : `${headline}\n${stack}`;
}

export function functionText(value) {
  const source = Function.prototype.toString.call(value);
  const isClass = source.startsWith('class');
  const kind = isClass ? 'class' : value.constructor?.name || 'Function';
  const name = typeof value.name === 'string' && value.name !== '' ? value.name : undefined;
  if (!isClass) return name === undefined ? `[${kind} (anonymous)]` : `[${kind}: ${name}]`;
  const parent = Object.getPrototypeOf(value)?.name;
  return `[class ${name ?? '(anonymous)'}${parent ? ` extends ${parent}` : ''}]`;
}

class Inspector {
  constructor(depth) {
    this.depth = depth;
    this.left = MAX_ENTRIES;
    this.open = [];
    this.circular = new Map();
  }

  show(value, level) {
    if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return primitive(value);
    if (this.open.includes(value)) {
      if (!this.circular.has(value)) this.circular.set(value, this.circular.size + 1);
      return `[Circular *${this.circular.get(value)}]`;
    }
    this.open.push(value);
    const text = this.object(value, level);
    this.open.pop();
    return this.circular.has(value) ? `<ref *${this.circular.get(value)}> ${text}` : text;
  }

  object(value, level) {
    const name = className(value);
    const { prefix, isList, entries } = this.parts(value, name, level);
    if (entries === undefined) return prefix;
    const [left, right] = isList ? ['[', ']'] : ['{', '}'];
    const head = prefix === '' ? '' : `${prefix} `;
    if (entries.length === 0)
      return prefix !== '' && !this.isContainer(value) ? prefix : `${head}${left}${right}`;
    return head + layout(entries, left, right, isList, level);
  }

  isContainer(value) {
    return (
      Array.isArray(value) ||
      value instanceof Map ||
      value instanceof Set ||
      ArrayBuffer.isView(value) ||
      isPlainLike(value)
    );
  }

  /** The text before the brackets and the entries inside. There are no entries beyond the maximum depth. */
  parts(value, name, level) {
    if (typeof value === 'function') return this.wrapped(functionText(value), value, level);
    if (value instanceof Error) return this.wrapped(this.error(value, level), value, level);
    if (value instanceof Date) return this.wrapped(dateText(value), value, level);
    if (value instanceof RegExp) return this.wrapped(RegExp.prototype.toString.call(value), value, level);
    if (value instanceof Number || value instanceof String || value instanceof Boolean) {
      return { prefix: `[${name}: ${primitive(value.valueOf())}]` };
    }
    const isPlain = name === 'Object' || (name === 'Array' && Array.isArray(value));
    const size = Array.isArray(value) || ArrayBuffer.isView(value) ? value.length : value.size;
    const counted = size !== undefined && !isPlain && typeof size === 'number' ? `${name}(${size})` : name;
    const prefix = isPlain ? '' : (counted ?? '[Object: null prototype]');
    if (level > this.depth) return { prefix: `[${name ?? 'Object: null prototype'}]` };
    return { prefix, ...this.contents(value, level) };
  }

  wrapped(text, value, level) {
    if (level > this.depth) return { prefix: text };
    const keys = Object.keys(value);
    const shown = value instanceof Error ? keys.filter((key) => !ERROR_KEYS.has(key)) : keys;
    const entries = this.properties(value, level, shown);
    return entries.length === 0 ? { prefix: text } : { prefix: text, isList: false, entries };
  }

  error(value, level) {
    const text = errorText(value);
    const cause = Object.hasOwn(value, 'cause') ? `\n  [cause]: ${this.show(value.cause, level + 1)}` : '';
    return level === 0 ? text + cause : `${text.replaceAll('\n', `\n${'  '.repeat(level)}`)}${cause}`;
  }

  contents(value, level) {
    if (Array.isArray(value)) return { isList: true, entries: this.items(value, level) };
    if (value instanceof Map) {
      const pairs = this.iterate(
        value,
        value.size,
        ([key, item]) => `${this.show(key, level + 1)} => ${this.show(item, level + 1)}`,
      );
      return { isList: false, entries: [...pairs, ...this.properties(value, level, Object.keys(value))] };
    }
    if (value instanceof Set)
      return {
        isList: false,
        entries: this.iterate(value, value.size, (item) => this.show(item, level + 1)),
      };
    if (value instanceof ArrayBuffer) {
      const bytes = new Uint8Array(value, 0, Math.min(50, value.byteLength));
      const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join(' ');
      return {
        isList: false,
        entries: [`byteLength: ${value.byteLength}`, `[${hex}${value.byteLength > 50 ? ' ...' : ''}]`],
      };
    }
    if (ArrayBuffer.isView(value) && !(value instanceof DataView)) {
      return { isList: true, entries: this.iterate(value, value.length, primitive) };
    }
    return { isList: false, entries: this.properties(value, level, Reflect.ownKeys(value)) };
  }

  *take(limit) {
    for (let i = 0; i < limit && this.left > 0; i++) {
      this.left--;
      yield i;
    }
  }

  items(array, level) {
    const entries = [];
    let holes = 0;
    const flush = () => {
      if (holes > 0) entries.push(`<${holes} empty item${holes > 1 ? 's' : ''}>`);
      holes = 0;
    };
    let done = 0;
    for (const i of this.take(Math.min(array.length, MAX_ITEMS))) {
      done++;
      if (i in array) {
        flush();
        entries.push(this.show(array[i], level + 1));
      } else holes++;
    }
    flush();
    if (done < array.length) entries.push(more(array.length - done));
    // Listing the keys of a long array is too expensive.
    const names = array.length > MAX_ITEMS ? [] : Object.keys(array).filter((key) => !/^\d+$/.test(key));
    return [...entries, ...this.properties(array, level, names)];
  }

  iterate(values, size, show) {
    const entries = [];
    const iterator = values[Symbol.iterator]();
    for (const _ of this.take(Math.min(size, MAX_ITEMS))) {
      const { value, done } = iterator.next();
      if (done) break;
      entries.push(show(value));
    }
    if (entries.length < size) entries.push(more(size - entries.length));
    return entries;
  }

  properties(value, level, keys) {
    const entries = [];
    for (const i of this.take(keys.length)) {
      const key = keys[i];
      const descriptor = Reflect.getOwnPropertyDescriptor(value, key);
      if (!descriptor?.enumerable) continue;
      const name = typeof key === 'symbol' ? `[${String(key)}]` : IDENTIFIER.test(key) ? key : quote(key);
      entries.push(`${name}: ${this.property(descriptor, level)}`);
      if (entries.length === MAX_ITEMS && i + 1 < keys.length) {
        entries.push(`... ${keys.length - i - 1} more properties`);
        break;
      }
    }
    return entries;
  }

  property(descriptor, level) {
    if (descriptor.get) return descriptor.set ? '[Getter/Setter]' : '[Getter]';
    return descriptor.set ? '[Setter]' : this.show(descriptor.value, level + 1);
  }
}

const isPlainLike = (value) =>
  typeof value === 'object' && !(value instanceof Error || value instanceof Date || value instanceof RegExp);
const more = (count) => `... ${count} more item${count > 1 ? 's' : ''}`;
const dateText = (date) => (Number.isNaN(date.getTime()) ? 'Invalid Date' : date.toISOString());

/** Puts everything on one line if it fits, otherwise one entry per line. Short list items share lines. */
function layout(entries, left, right, isList, level) {
  const length = entries.reduce((sum, entry) => sum + entry.length + 2, 0);
  const isFlat = !entries.some((entry) => entry.includes('\n'));
  if (isFlat && length + 2 * level <= WIDTH && (isList ? entries.length <= 26 : true))
    return `${left} ${entries.join(', ')} ${right}`;
  const indent = `\n${'  '.repeat(level + 1)}`;
  if (!(isList && isFlat && entries.length > 6 && entries.every((entry) => entry.length <= 24))) {
    return `${left}${indent}${entries.join(`,${indent}`)}\n${'  '.repeat(level)}${right}`;
  }
  const lines = [];
  let line = '';
  for (const entry of entries) {
    if (line !== '' && line.length + entry.length + 2 > WIDTH - 2 * level) {
      lines.push(line);
      line = '';
    }
    line += line === '' ? entry : `, ${entry}`;
  }
  lines.push(line);
  return `${left}${indent}${lines.join(`,${indent}`)}\n${'  '.repeat(level)}${right}`;
}

/** Never throws. Objects that cannot be inspected, such as hostile proxies, are replaced with a note. */
export function inspect(value, depth = DEFAULT_DEPTH) {
  try {
    return new Inspector(depth).show(value, 0);
  } catch (error) {
    if (error instanceof RangeError || error instanceof InternalError) return '[Object nested too deeply]';
    return '[Object that cannot be inspected]';
  }
}
