/** The `std` module as documented by QuickJS, for the guest's file system and environment. */
import { LINUX_ERRNO, strerror } from '../linux-errno.js';
import { host, status, statusBuffer } from './host-calls.js';
import { deleteVariable, environment, os, setVariable, unavailable } from './os.js';
import { sprintf } from './printf.js';
import { FILE, openFlags, SEEK } from './std-file.js';
import { parseExtJSON } from './std-parse-ext-json.js';
import { decodeUtf8 } from './text-encoding.js';

const BARRIER = 64;
const ASYNC = 128;

function setErrno(errorObj, errno) {
  if (errorObj !== undefined && errorObj !== null) errorObj.errno = errno;
}

function opened(fd, errorObj) {
  setErrno(errorObj, fd < 0 ? -fd : 0);
  return fd < 0 ? null : new FILE(fd);
}

let temporaryFiles = 0;

/** Creates a file without a name, like tmpfile(3). */
function tmpfile(errorObj) {
  const name = `/tmp/.tmpfile-${temporaryFiles++}`;
  const fd = host.open(name, 0o302, 0o600);
  if (fd >= 0) host.unlink(name);
  return opened(fd, errorObj);
}

function loadFile(name, options) {
  const fd = host.open(`${name}`, 0, 0);
  if (fd < 0) return null;
  const file = new FILE(fd);
  try {
    if (host.fstat(fd, statusBuffer) === 0 && (status[0] & os.S_IFMT) === os.S_IFDIR) return null;
    const bytes = file.readAsBytes(Number.POSITIVE_INFINITY);
    return options?.binary ? bytes : decodeUtf8(bytes);
  } finally {
    file.close();
  }
}

function writeFile(name, data) {
  const file = opened(host.open(`${name}`, 0o1101, 0o666));
  if (file === null) throw new Error(`could not open '${name}' for writing`);
  try {
    if (typeof data === 'string') file.puts(data);
    else if (data instanceof ArrayBuffer) file.write(data);
    else file.write(data.buffer, data.byteOffset, data.byteLength);
  } finally {
    file.close();
  }
}

function evalScript(
  code,
  { backtrace_barrier: barrier = false, async: isAsync = false } = {},
  file = '<evalScript>',
) {
  return host.evaluate(`${code}`, file, (barrier ? BARRIER : 0) | (isAsync ? ASYNC : 0));
}

function loadScript(name) {
  const code = loadFile(name);
  if (code === null) throw new ReferenceError(`could not load '${name}'`);
  return evalScript(code, {}, `${name}`);
}

const standard = { in: new FILE(0), out: new FILE(1), err: new FILE(2) };

export const std = {
  exit: (code = 0) => host.exit(Number(code) | 0),
  gc: () => host.collectGarbage(),
  evalScript: (code, options) => evalScript(code, options),
  loadScript,
  loadFile,
  writeFile,
  open: (name, mode, errorObj) => opened(host.open(`${name}`, openFlags(`${mode}`), 0o666), errorObj),
  fdopen(fd, mode, errorObj) {
    openFlags(`${mode}`);
    const result = host.fstat(Number(fd), statusBuffer);
    return opened(result < 0 ? result : Number(fd), errorObj);
  },
  tmpfile,
  popen: unavailable('std.popen'),
  urlGet: unavailable('std.urlGet'),
  puts: (...texts) => standard.out.puts(...texts),
  printf: (format, ...args) => standard.out.printf(format, ...args),
  sprintf,
  getenv: (name) => (Object.hasOwn(environment, name) ? environment[name] : undefined),
  setenv: (name, value) => {
    setVariable(`${name}`, value);
  },
  unsetenv: (name) => {
    deleteVariable(`${name}`);
  },
  getenviron: () => ({ ...environment }),
  parseExtJSON,
  strerror: (errno) => strerror(Number(errno)),
  Error: { ...LINUX_ERRNO },
  ...standard,
  ...SEEK,
};
