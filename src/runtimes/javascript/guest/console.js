/** The console. Warnings, errors and traces go to standard error, everything else to standard output. */

import { format } from './console-format.js';
import { host } from './host-calls.js';
import { DEFAULT_DEPTH, inspect } from './inspect.js';

const STDOUT = 1;
const STDERR = 2;

let indent = '';
const counts = new Map();
const timers = new Map();

function print(fd, text) {
  const lines = indent === '' ? text : indent + text.replaceAll('\n', `\n${indent}`);
  host.writeText(fd, `${lines}\n`);
}

const out = (...args) => print(STDOUT, format(args));
const err = (...args) => print(STDERR, format(args));

function elapsed(label, fd, rest) {
  const start = timers.get(label);
  if (start === undefined) return err(`No such label '${label}' for console.time()`);
  print(fd, format([`${label}: ${(host.monotonic() - start).toFixed(3)}ms`, ...rest]));
}

const TABLE_ROWS = 1000;

function rowsOf(data) {
  if (data instanceof Map) return [...data];
  return data instanceof Set ? [...data].map((value, i) => [i, value]) : Object.entries(data);
}

function table(data, columns) {
  if (typeof data !== 'object' || data === null) return out(data);
  const rows = rowsOf(data).slice(0, TABLE_ROWS);
  const names = new Set(
    columns ?? rows.flatMap(([, row]) => (typeof row === 'object' && row !== null ? Object.keys(row) : [])),
  );
  const hasValues = !columns && rows.some(([, row]) => typeof row !== 'object' || row === null);
  const header = ['(index)', ...names, ...(hasValues ? ['Values'] : [])];
  const cells = rows.map(([index, row]) => {
    const isObject = typeof row === 'object' && row !== null;
    const values = [...names].map((name) =>
      isObject && Object.hasOwn(row, name) ? inspect(row[name], 0) : '',
    );
    return [String(index), ...values, ...(hasValues ? [isObject ? '' : inspect(row, 0)] : [])];
  });
  const widths = header.map((name, i) => Math.max(name.length, ...cells.map((row) => row[i].length)) + 2);
  const line = (row) => `│${row.map((cell, i) => ` ${cell.padEnd(widths[i] - 1)}`).join('│')}│`;
  const rule = (left, middle, right) => left + widths.map((width) => '─'.repeat(width)).join(middle) + right;
  const text = [
    rule('┌', '┬', '┐'),
    line(header),
    rule('├', '┼', '┤'),
    ...cells.map(line),
    rule('└', '┴', '┘'),
  ];
  print(STDOUT, text.join('\n'));
}

export const console = {
  log: out,
  info: out,
  debug: out,
  error: err,
  warn: err,
  trace(...args) {
    const stack = new Error().stack.split('\n').slice(1).join('\n').trimEnd();
    print(STDERR, `Trace${args.length > 0 ? `: ${format(args)}` : ''}\n${stack}`);
  },
  assert(condition, ...args) {
    if (condition) return;
    const [first, ...rest] = args;
    if (typeof first === 'string') err(`Assertion failed: ${first}`, ...rest);
    else err('Assertion failed', ...args);
  },
  dir: (value, options) =>
    print(STDOUT, inspect(value, options?.depth === null ? 20 : (options?.depth ?? DEFAULT_DEPTH))),
  dirxml: out,
  table,
  group(...args) {
    if (args.length > 0) out(...args);
    indent += '  ';
  },
  groupCollapsed: (...args) => console.group(...args),
  groupEnd() {
    indent = indent.slice(2);
  },
  count(label = 'default') {
    const count = (counts.get(label) ?? 0) + 1;
    counts.set(label, count);
    out(`${label}: ${count}`);
  },
  countReset: (label = 'default') => {
    counts.delete(label);
  },
  time: (label = 'default') => {
    timers.set(label, host.monotonic());
  },
  timeLog: (label = 'default', ...rest) => elapsed(label, STDOUT, rest),
  timeEnd(label = 'default') {
    elapsed(label, STDOUT, []);
    timers.delete(label);
  },
};
