/** The `std` module as QuickJS documents it, over the guest's file system and environment. */
import { door, status, statusBuffer } from './door.js';
import { ERRNO, strerror } from './errno.js';
import { FILE, openFlags, SEEK } from './file.js';
import { sprintf } from './format.js';
import { os, unavailable } from './os.js';
import { decodeUtf8 } from './text.js';

const BARRIER = 64;
const ASYNC = 128;

/** The program's environment: its own copy, as a process has. */
export const environment = new Map();

function report(errorObj, errno) {
  if (errorObj !== undefined && errorObj !== null) errorObj.errno = errno;
}

function opened(fd, errorObj) {
  report(errorObj, fd < 0 ? -fd : 0);
  return fd < 0 ? null : new FILE(fd);
}

let temporaries = 0;

/** A file without a name, as tmpfile(3) makes it. */
function tmpfile(errorObj) {
  const name = `/tmp/.tmpfile-${temporaries++}`;
  const fd = door.open(name, 0o302, 0o600);
  if (fd >= 0) door.unlink(name);
  return opened(fd, errorObj);
}

function loadFile(name, options) {
  const fd = door.open(`${name}`, 0, 0);
  if (fd < 0) return null;
  const file = new FILE(fd);
  try {
    if (door.fstat(fd, statusBuffer) === 0 && (status[0] & os.S_IFMT) === os.S_IFDIR) return null;
    const bytes = file.readAsBytes(Number.POSITIVE_INFINITY);
    return options?.binary ? bytes : decodeUtf8(bytes);
  } finally {
    file.close();
  }
}

function writeFile(name, data) {
  const file = opened(door.open(`${name}`, 0o1101, 0o666));
  if (file === null) throw new Error(`could not open '${name}' for writing`);
  try {
    if (typeof data === 'string') file.puts(data);
    else if (data instanceof ArrayBuffer) file.write(data);
    else file.write(data.buffer, data.byteOffset, data.byteLength);
  } finally {
    file.close();
  }
}

function evalScript(code, { backtrace_barrier: barrier = false, async: isAsync = false } = {}, file = '<evalScript>') {
  return door.evaluate(`${code}`, file, (barrier ? BARRIER : 0) | (isAsync ? ASYNC : 0));
}

function loadScript(name) {
  const code = loadFile(name);
  if (code === null) throw new ReferenceError(`could not load '${name}'`);
  return evalScript(code, {}, `${name}`);
}

/** JSON with the liberties QuickJS takes: comments, unquoted names, single quotes, trailing commas, more numbers. */
function parseExtJSON(text) {
  const TOKEN =
    /\s+|\/\/[^\n]*|\/\*[^]*?\*\/|("(?:[^"\\]|\\[^])*"|'(?:[^'\\]|\\[^])*')|([-+]?(?:0[xX][\da-fA-F]+|0[oO][0-7]+|0[bB][01]+|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|Infinity|NaN))|([\p{ID_Start}$_][\p{ID_Continue}$]*)|([{}[\],:])/uy;
  const source = `${text}`;
  const tokens = [];
  for (let at = 0; at < source.length; at = TOKEN.lastIndex) {
    TOKEN.lastIndex = at;
    const match = TOKEN.exec(source);
    if (match === null) throw new SyntaxError(`unexpected character at position ${at}`);
    const [, string, number, word, mark] = match;
    if (string) tokens.push({ value: unquoted(string), isName: true });
    else if (number) tokens.push({ value: numeric(number), isName: false });
    else if (word) tokens.push({ word, value: { true: true, false: false, null: null }[word], isName: true });
    else if (mark) tokens.push({ mark });
  }
  const [value, end] = parseValue(tokens, 0);
  if (end !== tokens.length) throw new SyntaxError('unexpected data at the end');
  return value;
}

function numeric(text) {
  const sign = text[0] === '-' ? -1 : 1;
  return sign * Number(text.replace(/^[-+]/, ''));
}

function unquoted(text) {
  const inner = text.slice(1, -1).replace(/\\\r?\n/g, '');
  const body = inner.replace(/\\([^])|"/g, (all, escaped) => (all === '"' ? '\\"' : escaped === "'" ? "'" : all));
  return JSON.parse(`"${body}"`);
}

function parseValue(tokens, at) {
  const token = tokens[at];
  if (token === undefined) throw new SyntaxError('unexpected end of data');
  if (token.mark === '[') return parseItems(tokens, at + 1, ']', [], (list, value) => list.push(value));
  if (token.mark === '{') return parseItems(tokens, at + 1, '}', {}, undefined);
  if (token.mark !== undefined || token.value === undefined) {
    throw new SyntaxError(`unexpected token '${token.mark ?? token.word}'`);
  }
  return [token.value, at + 1];
}

function parseItems(tokens, start, close, into, append) {
  let at = start;
  while (tokens[at]?.mark !== close) {
    let name;
    if (append === undefined) {
      if (!tokens[at]?.isName || tokens[at + 1]?.mark !== ':') throw new SyntaxError('property name expected');
      name = tokens[at].word ?? tokens[at].value;
      at += 2;
    }
    const [value, end] = parseValue(tokens, at);
    if (append === undefined) Object.defineProperty(into, name, { value, writable: true, enumerable: true, configurable: true });
    else append(into, value);
    at = end;
    if (tokens[at]?.mark === ',') at++;
    else if (tokens[at]?.mark !== close) throw new SyntaxError(`expecting '${close}'`);
  }
  return [into, at + 1];
}

const standard = { in: new FILE(0), out: new FILE(1), err: new FILE(2) };

export const std = {
  exit: (code = 0) => door.exit(Number(code) | 0),
  gc: () => door.collect(),
  evalScript: (code, options) => evalScript(code, options),
  loadScript,
  loadFile,
  writeFile,
  open: (name, mode, errorObj) => opened(door.open(`${name}`, openFlags(`${mode}`), 0o666), errorObj),
  fdopen(fd, mode, errorObj) {
    openFlags(`${mode}`);
    const result = door.fstat(Number(fd), statusBuffer);
    return opened(result < 0 ? result : Number(fd), errorObj);
  },
  tmpfile,
  popen: unavailable('std.popen'),
  urlGet: unavailable('std.urlGet'),
  puts: (...texts) => standard.out.puts(...texts),
  printf: (format, ...args) => standard.out.printf(format, ...args),
  sprintf,
  getenv: (name) => environment.get(`${name}`),
  setenv: (name, value) => {
    environment.set(`${name}`, `${value}`);
  },
  unsetenv: (name) => {
    environment.delete(`${name}`);
  },
  getenviron: () => Object.fromEntries(environment),
  parseExtJSON,
  strerror: (errno) => strerror(Number(errno)),
  Error: Object.fromEntries(Object.entries(ERRNO).map(([name, [number]]) => [name, number])),
  ...standard,
  ...SEEK,
};
