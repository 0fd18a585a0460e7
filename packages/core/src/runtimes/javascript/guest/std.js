/** The functions of the module `std` of QuickJS for files, standard streams and the environment. The others throw. */
import { LINUX_ERRNO, strerror } from '../linux-errno.js';
import { host, status, statusBuffer } from './host-calls.js';
import { deleteVariable, environment, os, setVariable, unavailable } from './os.js';
import { FILE, openFlags, SEEK } from './std-file.js';
import { decodeUtf8 } from './text-encoding.js';

function setErrno(errorObj, errno) {
  if (errorObj !== undefined && errorObj !== null) errorObj.errno = errno;
}

function opened(fd, errorObj) {
  setErrno(errorObj, fd < 0 ? -fd : 0);
  return fd < 0 ? null : new FILE(fd);
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

/** What to use instead of the functions that throw. */
const INSTEAD = {
  evalScript: 'eval',
  loadScript: 'require or import',
  parseExtJSON: "JSON.parse, or eval('(' + text + ')') for text that you trust",
  popen: 'child_process.execSync',
  printf: 'console.log and a template literal',
  sprintf: 'a template literal with toFixed and padStart',
  tmpfile: "std.open('/tmp/file', 'w+')",
  urlGet: 'fetch',
};

const standard = { in: new FILE(0), out: new FILE(1), err: new FILE(2) };

export const std = {
  exit: (code = 0) => host.exit(Number(code) | 0),
  gc: () => host.collectGarbage(),
  loadFile,
  writeFile,
  open: (name, mode, errorObj) => opened(host.open(`${name}`, openFlags(`${mode}`), 0o666), errorObj),
  fdopen(fd, mode, errorObj) {
    openFlags(`${mode}`);
    const result = host.fstat(Number(fd), statusBuffer);
    return opened(result < 0 ? result : Number(fd), errorObj);
  },
  puts: (...texts) => standard.out.puts(...texts),
  getenv: (name) => (Object.hasOwn(environment, name) ? environment[name] : undefined),
  setenv: (name, value) => {
    setVariable(`${name}`, value);
  },
  unsetenv: (name) => {
    deleteVariable(`${name}`);
  },
  getenviron: () => ({ ...environment }),
  strerror: (errno) => strerror(Number(errno)),
  Error: { ...LINUX_ERRNO },
  ...standard,
  ...SEEK,
  ...unavailable('std', INSTEAD),
};
