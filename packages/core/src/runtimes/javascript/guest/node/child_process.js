/**
 * The module `child_process`. A child does not run beside the program: it runs to its end when a synchronous function waits for
 * it, or in a turn of the event loop after its input has ended. Its output is delivered then.
 */
import { LINUX_ERRNO } from '../../linux-errno.js';
import { host } from '../host-calls.js';
import { environment, SIGNALS } from '../os.js';
import { addTick } from '../program-events.js';
import { completeLater } from '../timers.js';
import { Buffer } from './buffer.js';
import EventEmitter from './events.js';
import {
  AbortError,
  codedError,
  invalidArgType,
  invalidArgValue,
  outOfRange,
  systemError,
  unavailable,
  validateAbortSignal,
  validateBoolean,
  validateFunction,
  validateString,
} from './internal/errors.js';
import { check } from './internal/file-access.js';
import { promisify } from './internal/promisify.js';
import { Readable, Writable } from './stream.js';
import { fileURLToPath } from './url.js';

const MAX_BUFFER = 1024 * 1024;
const READ_BYTES = 65_536;
const MAX_DESCRIPTORS = 256;
/** Names of the standard descriptors of a child, by number. */
const STREAMS = ['stdin', 'stdout', 'stderr'];
/** Of a stream: the descriptor of the pipe, as long as the program has not read from it. */
const DESCRIPTOR = Symbol('descriptor');

// ---- arguments ----

function checkOptions(options) {
  const { cwd, env, timeout, maxBuffer, shell, uid, gid, argv0, killSignal } = options;
  if (cwd !== undefined && cwd !== null && typeof cwd !== 'string' && !(cwd instanceof URL))
    throw invalidArgType('options.cwd', ['string', 'URL'], cwd);
  if (env !== undefined && env !== null && typeof env !== 'object')
    throw invalidArgType('options.env', 'object', env);
  if (timeout !== undefined && timeout !== null && !(Number.isInteger(timeout) && timeout >= 0))
    throw outOfRange('timeout', 'an unsigned integer', timeout);
  if (maxBuffer !== undefined && maxBuffer !== null && !(typeof maxBuffer === 'number' && maxBuffer >= 0))
    throw outOfRange('options.maxBuffer', 'a positive number', maxBuffer);
  if (shell !== undefined && shell !== null && typeof shell !== 'boolean' && typeof shell !== 'string')
    throw invalidArgType('options.shell', ['boolean', 'string'], shell);
  for (const [name, value] of Object.entries({ uid, gid }))
    if (value !== undefined && value !== null && value !== 0)
      throw systemError(LINUX_ERRNO.EPERM, `spawn ${name}`);
  if (argv0 !== undefined && argv0 !== null) validateString(argv0, 'options.argv0');
  for (const name of ['detached', 'windowsHide', 'windowsVerbatimArguments'])
    if (options[name] !== undefined && options[name] !== null)
      validateBoolean(options[name], `options.${name}`);
  if (killSignal !== undefined && killSignal !== null) {
    if (typeof killSignal !== 'string' && typeof killSignal !== 'number')
      throw invalidArgType('options.killSignal', ['string', 'number'], killSignal);
    if (!Object.values(SIGNALS).includes(signalNumber(killSignal))) throw unknownSignal(killSignal);
  }
  validateAbortSignal(options.signal, 'options.signal');
}

const withoutNull = (text, name) => {
  if (text.includes('\0')) throw invalidArgValue(name, text, 'must be a string without null bytes');
  return text;
};

/** The arguments (file, args?, options?) of spawn and its relatives as one object. */
function normalize(file, args, options) {
  validateString(file, 'file');
  if (file.length === 0) throw invalidArgValue('file', file, 'cannot be empty');
  let words = args;
  let settings = options;
  if (!Array.isArray(args)) {
    if (args !== undefined && args !== null) {
      if (typeof args !== 'object') throw invalidArgType('args', 'object', args);
      settings = args;
    }
    words = [];
  }
  if (settings === undefined || settings === null) settings = {};
  else if (typeof settings !== 'object') throw invalidArgType('options', 'object', settings);
  checkOptions(settings);
  words = words.map((word, i) => withoutNull(`${word}`, `args[${i}]`));
  withoutNull(file, 'file');
  const { shell } = settings;
  if (shell) {
    const program = typeof shell === 'string' ? shell : '/bin/sh';
    return { file: program, argv: [program, '-c', [file, ...words].join(' ')], settings };
  }
  return { file, argv: [settings.argv0 ?? file, ...words], settings };
}

function environmentOf(env) {
  const entries = env === undefined || env === null ? Object.entries(environment) : [];
  for (const name in env ?? {}) if (env[name] !== undefined) entries.push([name, `${env[name]}`]);
  return entries.map(([name, value]) => withoutNull(`${name}=${value}`, `options.env['${name}']`));
}

const directoryOf = (cwd) => (cwd instanceof URL ? fileURLToPath(cwd) : (cwd ?? undefined));

/** The paths at which a command may be. */
function candidates(file, env) {
  if (file.includes('/')) return [file];
  const path = env.find((entry) => entry.startsWith('PATH='))?.slice('PATH='.length) ?? '/usr/bin:/bin';
  return path.split(':').map((folder) => `${folder || '.'}/${file}`);
}

/** Starts a process and returns its number, or a negated errno. `fds` are pairs of a descriptor of the child and one of ours. */
function start({ file, argv, settings }, fds) {
  const env = environmentOf(settings.env);
  const cwd = directoryOf(settings.cwd);
  let result = -LINUX_ERRNO.ENOENT;
  for (const path of candidates(file, env)) {
    const request = { path, argv, env, cwd: cwd ?? null, fds };
    const pid = host.spawn(JSON.stringify(request));
    if (pid > 0 || pid !== -LINUX_ERRNO.ENOENT) return pid;
    result = pid;
  }
  return result;
}

/** The status of a process that has ended, or undefined. A timeout is in milliseconds. */
function wait(pid, options = 0, timeout = -1) {
  const status = host.wait(pid, options, timeout);
  if (status === -LINUX_ERRNO.EDEADLK) throw systemError(LINUX_ERRNO.EDEADLK, 'wait');
  if (status < 0) return undefined;
  const signal = status & 0x7f;
  if (signal === 0) return { code: status >> 8, signal: null };
  return { code: null, signal: signalName(signal) };
}

const signalName = (number) => Object.keys(SIGNALS).find((name) => SIGNALS[name] === number) ?? 'SIGKILL';

function signalNumber(signal) {
  if (signal === undefined || signal === null || signal === '') return SIGNALS.SIGTERM;
  if (typeof signal === 'number') return signal;
  const name = `${signal}`.toUpperCase();
  if (Object.hasOwn(SIGNALS, name)) return SIGNALS[name];
  throw unknownSignal(signal);
}

const unknownSignal = (signal) => codedError(TypeError, 'ERR_UNKNOWN_SIGNAL', `Unknown signal: ${signal}`);

function pipe() {
  const ends = check(host.pipe(), 'pipe');
  return [Math.floor(ends / MAX_DESCRIPTORS), ends % MAX_DESCRIPTORS];
}

/** The standard descriptors of a child: descriptors of ours, and the other ends of pipes. */
function openStdio(stdio) {
  const wanted =
    stdio === undefined || stdio === null
      ? ['pipe', 'pipe', 'pipe']
      : typeof stdio === 'string'
        ? [stdio, stdio, stdio]
        : [...stdio];
  while (wanted.length < 3) wanted.push('pipe');
  const fds = [];
  const ours = [];
  const temporary = [];
  wanted.forEach((kind, child) => {
    const isInput = child === 0;
    ours[child] = null;
    if (kind === undefined || kind === null || kind === 'pipe' || kind === 'overlapped') {
      if (child > 2 && (kind === undefined || kind === null)) return;
      const [read, write] = pipe();
      fds.push([child, isInput ? read : write]);
      temporary.push(isInput ? read : write);
      ours[child] = isInput ? write : read;
    } else if (kind === 'ignore') {
      const fd = check(host.open('/dev/null', 2, 0), 'open', '/dev/null');
      fds.push([child, fd]);
      temporary.push(fd);
    } else if (kind === 'inherit') fds.push([child, child]);
    else {
      const fd = typeof kind === 'number' ? kind : (kind?.[DESCRIPTOR]?.(isInput) ?? kind?.fd);
      if (!Number.isInteger(fd))
        throw codedError(
          TypeError,
          'ERR_INVALID_ARG_VALUE',
          `The argument 'stdio' is invalid. Received ${kind}`,
        );
      fds.push([child, fd]);
    }
  });
  const close = () => {
    for (const fd of temporary) host.close(fd);
  };
  return { fds, ours, close };
}

/** Reads until the other end is closed, at most `max` bytes. The rest is dropped. */
function readAll(fd, max) {
  const chunks = [];
  let size = 0;
  for (;;) {
    const chunk = Buffer.allocUnsafe(READ_BYTES);
    const count = check(host.read(fd, chunk.buffer, chunk.byteOffset, chunk.length), 'read');
    if (count <= 0) break;
    size += count;
    chunks.push(chunk.subarray(0, count));
    if (size > max) break;
  }
  return { bytes: Buffer.concat(chunks).subarray(0, max), isCut: size > max };
}

/** Writes as much as a process accepts. */
function writeInput(fd, bytes) {
  for (let done = 0; done < bytes.length; ) {
    const count = host.write(fd, bytes.buffer, bytes.byteOffset + done, bytes.length - done);
    if (count <= 0) return check(count, 'write');
    done += count;
  }
}

function bytesOf(value, name, encoding = 'utf8') {
  if (typeof value === 'string') return Buffer.from(value, encoding === 'buffer' ? 'utf8' : encoding);
  if (ArrayBuffer.isView(value)) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  throw invalidArgType(name, ['Buffer', 'TypedArray', 'DataView', 'string'], value);
}

/** Errors that are not errors of the kernel. */
const OTHER_ERRNO = { ENOBUFS: 105, ETIMEDOUT: 110 };
const NUMBERS = { ...LINUX_ERRNO, ...OTHER_ERRNO };

function spawnError(code, { file, argv }, call) {
  const syscall = `${call} ${file}`;
  const error = new Error(`${syscall} ${code}`);
  return Object.assign(error, { errno: -NUMBERS[code], code, syscall, path: file, spawnargs: argv.slice(1) });
}

const codeOf = (errno) => Object.keys(NUMBERS).find((name) => NUMBERS[name] === errno) ?? 'UNKNOWN';

// ---- synchronous functions ----

export function spawnSync(file, args, options) {
  const request = normalize(file, args, options);
  return runSync(request);
}

function runSync(request) {
  const { settings } = request;
  const max = settings.maxBuffer ?? MAX_BUFFER;
  const stdio = openStdio(settings.stdio ?? 'pipe');
  const { ours } = stdio;
  let pid;
  try {
    pid = start(request, stdio.fds);
  } finally {
    stdio.close();
  }
  const result = {
    pid: Math.max(0, pid),
    output: null,
    stdout: null,
    stderr: null,
    status: null,
    signal: null,
  };
  if (pid < 0) {
    for (const fd of ours) if (fd !== null) host.close(fd);
    result.error = spawnError(codeOf(-pid), request, 'spawnSync');
    return result;
  }
  if (ours[0] !== null) {
    const { input } = settings;
    if (input !== undefined && input !== null)
      writeInput(ours[0], bytesOf(input, 'options.input', settings.encoding));
    host.close(ours[0]);
    ours[0] = null;
  }
  const timeout = settings.timeout ?? 0;
  let ended = wait(pid, 0, timeout > 0 ? timeout : -1);
  if (ended === undefined) {
    const signal = signalNumber(settings.killSignal);
    host.kill(pid, signal);
    ended = wait(pid) ?? { code: null, signal: signalName(signal) };
    result.error = spawnError('ETIMEDOUT', request, 'spawnSync');
  }
  const { encoding } = settings;
  const isText = encoding !== undefined && encoding !== null && encoding !== 'buffer';
  result.output = ours.map((fd, i) => {
    if (fd === null || i === 0) return null;
    const { bytes, isCut } = readAll(fd, max);
    host.close(fd);
    if (isCut) result.error = spawnError('ENOBUFS', request, 'spawnSync');
    return isText ? bytes.toString(encoding) : bytes;
  });
  result.status = result.error === undefined ? ended.code : null;
  result.signal = ended.signal;
  if (result.error?.code === 'ENOBUFS') result.signal = signalName(signalNumber(settings.killSignal));
  [, result.stdout, result.stderr] = result.output;
  return result;
}

/** The error of execSync and execFileSync if the process failed. */
function failureOf(result, command, argv) {
  if (result.error !== undefined) return Object.assign(result.error, result);
  if (result.status === 0) return undefined;
  const stderr = result.stderr?.length > 0 ? `\n${result.stderr.toString()}` : '';
  const error = new Error(`Command failed: ${command ?? argv.join(' ')}${stderr}`);
  return Object.assign(error, result);
}

/** As in Node.js, errors of the process are shown unless the program decides where they go. */
function finishSync(request, command) {
  const inherits = request.settings.stdio === undefined;
  const result = runSync(request);
  if (inherits && result.stderr?.length > 0) {
    const bytes = bytesOf(result.stderr, 'stderr');
    host.write(2, bytes.buffer, bytes.byteOffset, bytes.length);
  }
  const error = failureOf(result, command, request.argv);
  if (error !== undefined) throw error;
  return result.stdout;
}

export const execFileSync = (file, args, options) => finishSync(normalize(file, args, options));

function shellRequest(command, options) {
  validateString(command, 'command');
  return normalize(command, [], {
    ...options,
    shell: typeof options?.shell === 'string' ? options.shell : true,
  });
}

export const execSync = (command, options) => finishSync(shellRequest(command, options), command);

// ---- asynchronous functions ----

/** Processes that wait for their input to end. If nothing else happens, they get what was written. */
const waiting = new Set();
let isWatching = false;

function runWhenIdle() {
  isWatching = false;
  for (const child of [...waiting]) child.stdin?.end();
  return waiting.size > 0;
}

function watchIdle() {
  if (isWatching) return;
  isWatching = true;
  globalThis.process.once('beforeExit', runWhenIdle);
}

export class ChildProcess extends EventEmitter {
  #request;
  #ours;
  #isRun = false;
  #closed = 0;
  #hasInput = false;
  #closeInput;
  /** Numbers of the outputs that another process reads. */
  #given = new Set();

  constructor() {
    super();
    Object.assign(this, {
      pid: undefined,
      stdin: null,
      stdout: null,
      stderr: null,
      stdio: [null, null, null],
      exitCode: null,
      signalCode: null,
      killed: false,
      connected: false,
      spawnfile: null,
      spawnargs: [],
    });
  }

  /** Not for programs: starts the process of a checked request. */
  begin(request) {
    this.#request = request;
    const { file, argv, settings } = request;
    Object.assign(this, { spawnfile: file, spawnargs: argv });
    const stdio = openStdio(settings.stdio);
    let pid;
    try {
      pid = start(request, stdio.fds);
    } finally {
      stdio.close();
    }
    this.#ours = stdio.ours;
    this.#createStreams();
    if (pid < 0) {
      addTick(() => this.#fail(spawnError(codeOf(-pid), request, 'spawn')));
      return this;
    }
    this.pid = pid;
    addTick(() => this.emit('spawn'));
    completeLater(() => this.#runIfReady());
    this.#obey(settings);
    return this;
  }

  /** Ends the process when the program aborts the signal. */
  #obey({ signal, killSignal }) {
    if (signal === undefined || signal === null) return;
    const abort = () => {
      if (this.exitCode !== null || this.signalCode !== null || !this.kill(killSignal)) return;
      this.emit('error', new AbortError(undefined, { cause: signal.reason }));
    };
    if (signal.aborted) return addTick(abort);
    signal.addEventListener('abort', abort, { once: true });
    this.once('exit', () => signal.removeEventListener('abort', abort));
  }

  #createStreams() {
    this.stdio = this.#ours.map((fd, i) =>
      fd === null ? null : i === 0 ? this.#inputTo(fd) : this.#outputOf(fd, i),
    );
    STREAMS.forEach((name, i) => {
      this[name] = this.stdio[i] ?? null;
    });
    // A program that uses the input is going to write to it or to end it.
    const [stdin] = this.stdio;
    if (!stdin) return;
    const get = () => {
      this.#hasInput = true;
      return stdin;
    };
    Object.defineProperty(this, 'stdin', { get, set: undefined, enumerable: true, configurable: true });
  }

  #inputTo(fd) {
    let isOpen = true;
    const close = () => {
      if (isOpen) host.close(fd);
      isOpen = false;
    };
    this.#closeInput = close;
    const stream = new Writable({
      write: (chunk, _encoding, callback) => {
        try {
          writeInput(fd, chunk);
          callback();
        } catch (error) {
          callback(error);
        }
      },
      final: (callback) => {
        close();
        callback();
        completeLater(() => this.#runIfReady());
      },
      destroy: (error, callback) => {
        close();
        callback(error);
        completeLater(() => this.#runIfReady());
      },
    });
    return Object.assign(stream, { readable: false, [DESCRIPTOR]: (isInput) => (isInput ? undefined : fd) });
  }

  #outputOf(fd, i) {
    const stream = new Readable({ read() {} });
    stream.once('close', () => this.#onStreamClosed());
    stream[DESCRIPTOR] = (isInput) => {
      if (!isInput || this.#isRun) return undefined;
      this.#given.add(i);
      return fd;
    };
    return stream;
  }

  /** Runs the process, unless the program has begun to write input that it has not ended. */
  #runIfReady() {
    if (this.#isRun || this.pid === undefined) return;
    const [stdin] = this.stdio;
    const isEnded = stdin === null || stdin.writableEnded || stdin.destroyed;
    if (!isEnded && this.#hasInput) {
      waiting.add(this);
      watchIdle();
      return;
    }
    waiting.delete(this);
    // The descriptor is closed at once, so the process finds the end of its input.
    if (!isEnded) stdin.destroy();
    this.#closeInput?.();
    this.#run();
  }

  #run() {
    this.#isRun = true;
    const { timeout = 0, killSignal } = this.#request.settings;
    let ended = wait(this.pid, 0, timeout > 0 ? timeout : -1);
    if (ended === undefined) {
      this.kill(killSignal);
      ended = wait(this.pid) ?? { code: null, signal: signalName(signalNumber(killSignal)) };
    }
    this.exitCode = ended.code;
    this.signalCode = ended.signal;
    this.#deliver();
    completeLater(() => {
      this.emit('exit', ended.code, ended.signal);
      // What nobody reads is dropped, so that the streams close.
      this.stdio.forEach((stream, i) => {
        if (i > 0) stream?.resume();
      });
      this.#onStreamClosed();
    });
  }

  #deliver() {
    this.#ours.forEach((fd, i) => {
      if (fd === null || i === 0) return;
      const stream = this.stdio[i];
      while (!this.#given.has(i)) {
        const chunk = Buffer.allocUnsafe(READ_BYTES);
        const count = host.read(fd, chunk.buffer, chunk.byteOffset, chunk.length);
        if (count < 0) stream.destroy(systemError(-count, 'read'));
        if (count <= 0) break;
        stream.push(chunk.subarray(0, count));
      }
      host.close(fd);
      stream.push(null);
    });
  }

  /** `close` follows when the process has ended and all its output has been read. */
  #onStreamClosed() {
    const count = this.stdio.filter((stream, i) => stream !== null && i > 0).length + 1;
    if (++this.#closed === count) addTick(() => this.emit('close', this.exitCode, this.signalCode));
  }

  #fail(error) {
    this.exitCode = error.errno;
    this.#ours.forEach((fd, i) => {
      if (fd !== null && i > 0) host.close(fd);
      this.stdio[i]?.destroy();
    });
    this.emit('error', error);
    this.#onStreamClosed();
  }

  kill(signal) {
    const number = signalNumber(signal);
    if (this.pid === undefined) return false;
    const result = host.kill(this.pid, number);
    if (result === 0) this.killed = number !== 0;
    return result === 0;
  }

  [Symbol.dispose]() {
    if (!this.killed) this.kill();
  }

  ref() {}
  unref() {}
  send() {
    throw codedError(Error, 'ERR_IPC_CHANNEL_CLOSED', 'Channel closed');
  }
  disconnect() {
    throw codedError(Error, 'ERR_IPC_DISCONNECTED', 'IPC channel is already disconnected');
  }
}

export const spawn = (file, args, options) => new ChildProcess().begin(normalize(file, args, options));

/** Collects the output of a child for the callback of exec and execFile. */
function collect(child, request, command, callback) {
  const { maxBuffer = MAX_BUFFER } = request.settings;
  // As in Node.js, an encoding that is undefined is not the default.
  const { encoding } = { encoding: 'utf8', ...request.settings };
  const isText = encoding !== null && Buffer.isEncoding(encoding);
  const chunks = { stdout: [], stderr: [] };
  let failure = null;
  let isFinished = false;
  for (const name of ['stdout', 'stderr']) {
    let size = 0;
    if (isText) child[name]?.setEncoding(encoding);
    child[name]?.on('data', (chunk) => {
      const length =
        typeof chunk === 'string' ? Buffer.byteLength(chunk, child[name].readableEncoding) : chunk.length;
      size += length;
      if (size <= maxBuffer) chunks[name].push(chunk);
      else if (failure === null) {
        // As in Node.js, the rest of a text is measured in characters.
        chunks[name].push(chunk.slice(0, maxBuffer - (size - length)));
        failure = codedError(
          RangeError,
          'ERR_CHILD_PROCESS_STDIO_MAXBUFFER',
          `${name} maxBuffer length exceeded`,
        );
      }
    });
  }
  const output = (name) => {
    // A program that has called setEncoding gets text in that encoding.
    if (child[name]?.readableEncoding || (isText && !child[name])) return chunks[name].join('');
    return Buffer.concat(chunks[name]);
  };
  const finish = (error) => {
    if (isFinished) return;
    isFinished = true;
    callback?.(error, output('stdout'), output('stderr'));
  };
  child.once('error', (error) => finish(Object.assign(error, { cmd: command })));
  child.once('close', (code, signal) => {
    if (failure === null && code === 0 && signal === null) return finish(null);
    if (failure === null) {
      const text = output('stderr');
      failure = Object.assign(new Error(`Command failed: ${command}\n${text}`), {
        killed: child.killed,
        code: code < 0 ? codeOf(-code) : code,
        signal,
      });
    }
    failure.cmd = command;
    finish(failure);
  });
}

function execRequest(request, command, callback) {
  if (callback !== undefined && callback !== null) validateFunction(callback, 'callback');
  const child = new ChildProcess().begin(request);
  collect(child, request, command, callback);
  return child;
}

export function execFile(file, args, options, callback) {
  const values = [args, options, callback];
  const done = values.find((value) => typeof value === 'function');
  const [words, settings] = values.filter((value) => typeof value !== 'function');
  const request = normalize(file, words, settings);
  return execRequest(request, [file, ...request.argv.slice(1)].join(' '), done);
}

export function exec(command, options, callback) {
  const done = typeof options === 'function' ? options : callback;
  const settings = typeof options === 'function' ? undefined : options;
  return execRequest(shellRequest(command, settings), command, done);
}

/** `util.promisify` returns both outputs; the promise has the child. */
const promised =
  (start) =>
  (...args) => {
    const { promise, resolve, reject } = Promise.withResolvers();
    // Arguments that are invalid are reported at once.
    promise.child = start(...args, (error, stdout, stderr) =>
      error === null ? resolve({ stdout, stderr }) : reject(Object.assign(error, { stdout, stderr })),
    );
    return promise;
  };
for (const start of [exec, execFile])
  Object.defineProperty(start, promisify.custom, { value: promised(start), enumerable: false });

export function fork() {
  throw unavailable(
    'child_process.fork is not available in the sandbox. Processes cannot exchange messages. Use spawnSync with the option input, or files.',
  );
}

export default { ChildProcess, exec, execFile, execFileSync, execSync, fork, spawn, spawnSync };
