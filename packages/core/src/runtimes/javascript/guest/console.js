/** The console. Warnings, errors and traces go to standard error, everything else to standard output. */
import { format } from './console-format.js';
import { framesOf } from './error-stack.js';
import { host } from './host-calls.js';
import { inspect } from './inspect.js';
import { textWidth } from './inspect-text.js';
import { printed } from './program-events.js';

const STDOUT = 1;
const STDERR = 2;
const GROUP_WIDTH = 2;
const TABLE_ROWS = 1000;

const writeTo = (fd) => (text) => {
  host.writeText(fd, text);
};

function elapsedText(milliseconds) {
  const seconds = milliseconds / 1000;
  if (seconds >= 3600) {
    const hours = seconds / 3600;
    return `${Math.trunc(hours)}:${String(Math.trunc((hours % 1) * 60)).padStart(2, '0')}:${String(Math.trunc(seconds % 60)).padStart(2, '0')} (h:mm:ss)`;
  }
  if (seconds >= 60)
    return `${Math.trunc(seconds / 60)}:${(seconds % 60).toFixed(3).padStart(6, '0')} (m:ss.mmm)`;
  return seconds >= 1 ? `${seconds.toFixed(3)}s` : `${Number(milliseconds.toPrecision(4))}ms`;
}

function rowsOf(data) {
  if (data instanceof Map) return [...data].map(([key, value], i) => [i, value, key]);
  return data instanceof Set
    ? [...data].map((value, i) => [i, value])
    : Object.keys(data).map((key) => [key, data[key]]);
}

function drawTable(header, rows) {
  const widths = header.map(
    (name, i) => Math.max(textWidth(name), ...rows.map((row) => textWidth(row[i]))) + 2,
  );
  const cell = (text, width) => ` ${text}${' '.repeat(width - 1 - textWidth(text))}`;
  const line = (row) => `│${row.map((text, i) => cell(text, widths[i])).join('│')}│`;
  const rule = (left, middle, right) => left + widths.map((width) => '─'.repeat(width)).join(middle) + right;
  return [
    rule('┌', '┬', '┐'),
    line(header),
    rule('├', '┼', '┤'),
    ...rows.map(line),
    rule('└', '┴', '┘'),
  ].join('\n');
}

const isObject = (value) => (typeof value === 'object' && value !== null) || typeof value === 'function';
const shown = (value) =>
  inspect(value, {
    maxArrayLength: 3,
    breakLength: Number.POSITIVE_INFINITY,
    depth: isObject(value) && !Array.isArray(value) && Object.keys(value).length > 2 ? -1 : 0,
  });

const namesOf = (row) => (isObject(row) ? Object.fromEntries(Object.keys(row).map((name) => [name, 0])) : {});

function tableText(data, columns) {
  const indexName = data instanceof Map || data instanceof Set ? '(iteration index)' : '(index)';
  const rows = rowsOf(data).slice(0, TABLE_ROWS);
  if (data instanceof Map) {
    const body = rows.map(([index, value, key]) => [String(index), shown(key), shown(value)]);
    return drawTable([indexName, 'Key', 'Values'], body);
  }
  // As properties of an object, so that the names that are indices come first.
  const found = () => Object.keys(Object.assign({}, ...rows.map(([, row]) => namesOf(row))));
  const names = [...(columns ?? found())];
  const isNested = data instanceof Set ? [] : names;
  const hasValues = rows.some(([, row]) => !isObject(row)) || data instanceof Set;
  const header = [indexName, ...isNested.map(String), ...(hasValues ? ['Values'] : [])];
  const body = rows.map(([index, row]) => {
    const values = isNested.map((name) =>
      isObject(row) && Object.hasOwn(row, name) ? shown(row[name]) : '',
    );
    return [
      String(index),
      ...values,
      ...(hasValues ? [isObject(row) && !(data instanceof Set) ? '' : shown(row)] : []),
    ];
  });
  return drawTable(header, body);
}

/** The methods of a console that writes with these functions. They work without their object. */
export function createConsole(writeOut, writeErr, inspectOptions = {}, groupWidth = GROUP_WIDTH) {
  let indent = '';
  const counts = new Map();
  const timers = new Map();
  const print = (write, text) => {
    const lines =
      indent === '' ? text : indent + (text.includes('\n') ? text.replaceAll('\n', `\n${indent}`) : text);
    write(`${lines}\n`);
    printed.error = undefined;
  };
  const printArguments = (write, args) => {
    print(write, format(args, inspectOptions));
    for (const value of args) if (typeof value === 'object' && value instanceof Error) printed.error = value;
  };
  const warn = (text) => print(writeErr, text);
  function elapsed(name, label, rest) {
    const start = timers.get(label);
    if (start === undefined) return warnProcess(`No such label '${label}' for console.${name}()`);
    const time = `${label}: ${elapsedText(host.monotonic() - start)}`;
    print(writeOut, rest.length === 0 ? time : format(['%s', time, ...rest], inspectOptions));
  }
  const warnProcess = (text) => writeErr(`(node:1) Warning: ${text}\n`);
  const methods = {
    log(...args) {
      printArguments(writeOut, args);
    },
    warn(...args) {
      printArguments(writeErr, args);
    },
    dir(value, options) {
      print(writeOut, inspect(value, { customInspect: false, ...inspectOptions, ...options }));
    },
    time(label = 'default') {
      const name = `${label}`;
      if (timers.has(name)) warnProcess(`Label '${name}' already exists for console.time()`);
      else timers.set(name, host.monotonic());
    },
    timeEnd(label = 'default') {
      elapsed('timeEnd', `${label}`, []);
      timers.delete(`${label}`);
    },
    timeLog(label = 'default', ...rest) {
      elapsed('timeLog', `${label}`, rest);
    },
    trace(...args) {
      const stack = framesOf(new Error()).split('\n').slice(1).join('\n').trimEnd();
      warn(`Trace${args.length > 0 ? `: ${format(args, inspectOptions)}` : ''}\n${stack}`);
    },
    assert(condition, ...args) {
      if (condition) return;
      const [first, ...rest] = args;
      methods.warn(args.length === 0 ? 'Assertion failed' : `Assertion failed: ${first}`, ...rest);
    },
    clear() {},
    // Without a profiler attached, these do nothing in Node.js either.
    profile() {},
    profileEnd() {},
    timeStamp() {},
    count(label = 'default') {
      const name = `${label}`;
      const count = (counts.get(name) ?? 0) + 1;
      counts.set(name, count);
      methods.log(`${name}: ${count}`);
    },
    countReset(label = 'default') {
      if (!counts.delete(`${label}`)) warnProcess(`Count for '${label}' does not exist`);
    },
    group(...args) {
      if (args.length > 0) methods.log(...args);
      indent += ' '.repeat(groupWidth);
    },
    groupEnd() {
      indent = indent.slice(0, indent.length - groupWidth);
    },
    table(data, columns) {
      if (!isObject(data)) methods.log(data);
      else methods.log(tableText(data, columns));
    },
  };
  const { log, warn: error, group } = methods;
  return { ...methods, debug: log, info: log, dirxml: log, error, groupCollapsed: group };
}

export const console = createConsole(writeTo(STDOUT), writeTo(STDERR));
Object.defineProperty(console, Symbol.toStringTag, { value: 'console', configurable: true });
