/** The module `process`. The process has no users, and gets only signals that it sends to itself; its output goes to the streams of the program. */

import { LINUX_ERRNO } from '../../linux-errno.js';
import { defineTag } from '../define.js';
import { host } from '../host-calls.js';
import { deleteVariable, environment, SIGNALS, setVariable } from '../os.js';
import { addTick, exit, hooks, programSource } from '../program-events.js';
import { completeLater } from '../timers.js';
import EventEmitter from './events.js';
import {
  codedError,
  invalidArgType,
  unavailable,
  validateFunction,
  validateInteger,
  validateString,
} from './internal/errors.js';
import { check } from './internal/file-access.js';
import { parseEnv } from './internal/parse-env.js';
import { resetInput, StandardOutput, stdin } from './internal/standard-streams.js';

const VERSION = '20.19.0';
const MEMORY = 256 * 1024 * 1024;
/** Signals that end the process even if a listener exists, and signals that do nothing if none does. */
const UNSTOPPABLE = ['SIGKILL', 'SIGSTOP'];
const IGNORED = ['SIGCHLD', 'SIGCONT', 'SIGURG', 'SIGWINCH'];
const MAX_SIGNAL = 64;
const start = host.monotonic();

const killError = (code, errno) =>
  Object.assign(new Error(`kill ${code}`), { errno: -errno, code, syscall: 'kill' });

function signalNumber(name) {
  if (Object.hasOwn(SIGNALS, name)) return SIGNALS[name];
  throw codedError(TypeError, 'ERR_UNKNOWN_SIGNAL', `Unknown signal: ${name}`);
}

const notAVariable = (reason) =>
  codedError(TypeError, 'ERR_INVALID_OBJECT_DEFINE_PROPERTY', `'process.env' ${reason}`);

/** `process.env`: the environment variables; all values are text. */
const env = new Proxy(environment, {
  set(_target, name, value) {
    if (typeof name === 'symbol' || typeof value === 'symbol')
      throw new TypeError('Cannot convert a Symbol value to a string');
    setVariable(name, value);
    return true;
  },
  deleteProperty: (_target, name) => deleteVariable(name),
  defineProperty(_target, name, descriptor) {
    const { value, writable, enumerable, configurable, get, set } = descriptor;
    if (get || set) throw notAVariable('does not accept an accessor(getter/setter) descriptor');
    if (!writable || !enumerable || !configurable)
      throw notAVariable('only accepts a configurable, writable, and enumerable data descriptor');
    env[name] = value;
    return true;
  },
});

const nanoseconds = () => BigInt(Math.round(host.monotonic() * 1e6));

function hrtime(previous = undefined) {
  const now = nanoseconds();
  if (previous !== undefined && !Array.isArray(previous)) throw invalidArgType('time', 'Array', previous);
  const since =
    previous === undefined ? now : now - (BigInt(previous[0]) * 1_000_000_000n + BigInt(previous[1]));
  return [Number(since / 1_000_000_000n), Number(since % 1_000_000_000n)];
}
hrtime.bigint = nanoseconds;

function memoryUsage() {
  return {
    rss: MEMORY / 4,
    heapTotal: MEMORY / 8,
    heapUsed: MEMORY / 16,
    external: 1_000_000,
    arrayBuffers: 10_000,
  };
}
memoryUsage.rss = () => MEMORY / 4;

let isExiting = false;

const refused = (name) => () => {
  throw unavailable(`process.${name} is not available in the sandbox`);
};

class Process extends EventEmitter {}
Object.defineProperty(Process, 'name', { value: 'process' });

const process = new Process();

const stdout = new StandardOutput(1);
const stderr = new StandardOutput(2);

function exitCodeOf(code) {
  if (code === undefined || code === null) return undefined;
  const number = typeof code === 'string' && code !== '' ? Number(code) : code;
  if (typeof number !== 'number' || Number.isNaN(number)) throw invalidArgType('code', 'number', code);
  validateInteger(number, 'code');
  return number;
}

/** As in Node.js, code that is no file has no place among the arguments. */
const argumentsOf = ({ file, args }) =>
  /\/\[(?:eval|stdin)\][^/]*$/.test(file)
    ? ['/usr/bin/node', ...args]
    : ['/usr/bin/node', file || '/app/main.js', ...args];

// A child has numbers of its own.
for (const [name, get] of Object.entries({ pid: () => host.getpid(), ppid: () => host.getppid() }))
  Object.defineProperty(process, name, { get, enumerable: true, configurable: true });

Object.assign(process, {
  version: `v${VERSION}`,
  versions: { node: VERSION, quickjs: '0.10.0' },
  arch: 'x64',
  platform: 'linux',
  release: { name: 'node', lts: 'Iron' },
  title: 'node',
  execPath: '/usr/bin/node',
  execArgv: [],
  argv: argumentsOf(programSource),
  get argv0() {
    return programSource.argv0 ?? 'node';
  },
  debugPort: 9229,
  env,
  features: { inspector: false, debug: false, uv: true, ipv6: false, tls: false, typescript: false },
  config: { target_defaults: {}, variables: { v8_enable_i18n_support: 1 } },
  stdin,
  stdout,
  stderr,
  report: { excludeNetwork: true },
  allowedNodeEnvironmentFlags: new Set(),
  hrtime,
  memoryUsage,
  uptime: () => (host.monotonic() - start) / 1000,
  cwd: () => host.getcwd(),
  chdir(directory) {
    validateString(directory, 'directory');
    const before = host.getcwd();
    const result = host.chdir(directory);
    if (result < 0) check(result, 'chdir', before, directory);
  },
  umask: () => 0o22,
  nextTick(callback, ...args) {
    validateFunction(callback, 'callback');
    addTick(args.length === 0 ? callback : () => callback(...args));
  },
  exit(code) {
    const number = exitCodeOf(code);
    if (number !== undefined) exit.code = number & 255;
    if (!isExiting) {
      isExiting = true;
      process.emit('exit', exit.code ?? 0);
    }
    exit.hasExited = true;
    host.terminate();
  },
  reallyExit: (code) => process.exit(code),
  abort: () => process.exit(134),
  kill(pid, signal = 'SIGTERM') {
    // biome-ignore lint/suspicious/noDoubleEquals: as in Node.js
    if (pid != (pid | 0)) throw invalidArgType('pid', 'number', pid);
    const number = signal === (signal | 0) ? signal : signalNumber(signal || 'SIGTERM');
    if (number < 0 || number > MAX_SIGNAL) throw killError('EINVAL', 22);
    if (pid !== 0 && Math.abs(pid) !== process.pid) {
      const result = host.kill(pid, number);
      if (result < 0) throw killError(result === -LINUX_ERRNO.EPERM ? 'EPERM' : 'ESRCH', -result);
      return true;
    }
    if (number === 0) return true;
    const name = Object.keys(SIGNALS).find((one) => SIGNALS[one] === number);
    if (process.listenerCount(name) > 0 && !UNSTOPPABLE.includes(name))
      completeLater(() => process.emit(name, name, number));
    else if (!IGNORED.includes(name)) {
      // Only a child can end by a signal. The program of a call exits.
      if (process.ppid !== 1) host.kill(process.pid, number);
      process.exit(128 + number);
    }
    return true;
  },
  emitWarning(warning, typeOrOptions = 'Warning', code = undefined) {
    const options = typeof typeOrOptions === 'object' ? typeOrOptions : { type: typeOrOptions, code };
    const name = warning instanceof Error ? warning.name : (options.type ?? 'Warning');
    if (name === 'DeprecationWarning' && process.noDeprecation) return;
    const error = warning instanceof Error ? warning : Object.assign(new Error(warning), { name });
    if (options.code !== undefined) error.code = options.code;
    if (options.detail !== undefined) error.detail = options.detail;
    addTick(() => {
      if (process.listenerCount('warning') > 0) process.emit('warning', error);
      const label = error.code === undefined ? '' : `[${error.code}] `;
      host.writeText(2, `(node:1) ${label}${error.name}: ${error.message}\n`);
      if (error.detail !== undefined) host.writeText(2, `${error.detail}\n`);
    });
  },
  cpuUsage: () => ({ user: Math.round((host.monotonic() - start) * 1000), system: 0 }),
  resourceUsage: () => ({
    userCPUTime: Math.round((host.monotonic() - start) * 1000),
    systemCPUTime: 0,
    maxRSS: MEMORY / 4096,
  }),
  constrainedMemory: () => MEMORY,
  availableMemory: () => MEMORY,
  getActiveResourcesInfo: () => [],
  getuid: () => 0,
  geteuid: () => 0,
  getgid: () => 0,
  getegid: () => 0,
  getgroups: () => [0],
  binding: refused('binding'),
  dlopen: refused('dlopen'),
  setuid: refused('setuid'),
  setgid: refused('setgid'),
  setUncaughtExceptionCaptureCallback(callback) {
    captureCallback = callback;
  },
  hasUncaughtExceptionCaptureCallback: () => captureCallback !== null,
  getBuiltinModule: (name) =>
    globalThis.require('module').isBuiltin(name) ? globalThis.require(name) : undefined,
  openStdin: () => stdin,
  /** Variables that exist already keep their values. */
  loadEnvFile(path = '.env') {
    const text = globalThis.require('fs').readFileSync(path, 'utf8');
    for (const [name, value] of Object.entries(parseEnv(text)))
      if (!Object.hasOwn(environment, name)) setVariable(name, value);
  },
});
Object.defineProperty(process, 'exitCode', {
  get: () => exit.code,
  set(code) {
    exit.code = exitCodeOf(code);
  },
  enumerable: true,
  configurable: true,
});
defineTag(process, 'process');

let captureCallback = null;

hooks.uncaughtException = (error, isRejection) => {
  const origin = isRejection ? 'unhandledRejection' : 'uncaughtException';
  process.emit('uncaughtExceptionMonitor', error, origin);
  if (captureCallback !== null) {
    captureCallback(error);
    return true;
  }
  return process.emit('uncaughtException', error, origin);
};
hooks.unhandledRejection = (reason, promise) => process.emit('unhandledRejection', reason, promise);
hooks.beforeExit = () => process.emit('beforeExit', exit.code ?? 0);
hooks.exit = (code) => {
  if (isExiting) return;
  isExiting = true;
  // A failed program has the code 1, which a listener can change.
  if (code !== 0) exit.code = code;
  process.emit('exit', exit.code ?? 0);
};
/** Removes the listeners of an earlier program of the session. */
const PROGRAM_EVENTS = [
  ...['exit', 'beforeExit', 'uncaughtException', 'unhandledRejection', 'warning'],
  ...Object.keys(SIGNALS),
];
hooks.begin = () => {
  resetInput();
  process.argv = argumentsOf(programSource);
  isExiting = false;
  captureCallback = null;
  for (const name of PROGRAM_EVENTS) process.removeAllListeners(name);
};

export default process;
