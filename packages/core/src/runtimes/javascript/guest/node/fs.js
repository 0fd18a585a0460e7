/** The module `fs`. Functions with a callback call their synchronous form and the callback in a later turn. */
import { load } from '../node-modules.js';
import { completeLater } from '../timers.js';
import { Buffer } from './buffer.js';
import { AbortError, codedError, invalidArgType, unavailable, validateInteger } from './internal/errors.js';
import * as sync from './internal/fs-sync.js';
import {
  constants,
  Dirent,
  descriptorOf,
  optionsOf,
  pathOf,
  Stats,
  toUnixTimestamp,
} from './internal/fs-values.js';
import { customArgs, promisify } from './internal/promisify.js';

/** Functions with the option `signal`. */
const SIGNALS = new Set(['readFile', 'writeFile', 'appendFile']);

const fs = { ...sync, constants, Stats, Dirent };

/** Checks of the arguments of functions that check their callback last. */
const CHECKS = {
  fchmod: (fd) => descriptorOf(fd),
  fsync: (fd) => descriptorOf(fd),
  fchown(fd, uid, gid) {
    descriptorOf(fd);
    validateInteger(uid, 'uid', -1, 2 ** 32 - 1);
    validateInteger(gid, 'gid', -1, 2 ** 32 - 1);
  },
  ftruncate(fd, length) {
    descriptorOf(fd);
    if (typeof length !== 'function') validateInteger(length, 'len');
  },
};

const isInvalidArgument = ({ code } = {}) =>
  typeof code === 'string' && /^ERR_(?!FS_(?!INVALID_SYMLINK_TYPE))/.test(code);

/** Calls the callback, the last argument, with the result of `action` later. Invalid arguments throw at once, as in Node.js. */
function callLater(args, action, name = '') {
  const callback = args.pop();
  if (typeof callback !== 'function') {
    if (Object.hasOwn(CHECKS, name)) CHECKS[name](...args, callback);
    throw invalidArgType('cb', 'function', undefined);
  }
  const signal = SIGNALS.has(name) ? args.at(-1)?.signal : undefined;
  let values;
  try {
    values = [null, ...action(args)];
  } catch (error) {
    if (isInvalidArgument(error)) throw error;
    values = [error];
  }
  completeLater(() =>
    signal?.aborted ? callback(new AbortError(undefined, { cause: signal.reason })) : callback(...values),
  );
}

for (const [name, call] of Object.entries(sync)) {
  const plain = name.slice(0, -'Sync'.length);
  const withCallback = (...args) =>
    callLater(
      args,
      (rest) => {
        const value = call(...rest);
        return value === undefined ? [] : [value];
      },
      plain,
    );
  Object.defineProperty(withCallback, 'name', { value: plain });
  fs[plain] = withCallback;
}
fs.realpath.native = fs.realpath;

fs.close = (fd, callback = throwFailure) => {
  if (callback !== throwFailure && typeof callback !== 'function') {
    descriptorOf(fd);
    throw invalidArgType('cb', 'function', callback);
  }
  callLater([fd, callback], () => {
    sync.closeSync(fd);
    return [];
  });
};
function throwFailure(error) {
  if (error) throw error;
}
fs.exists = (path, callback) => {
  if (typeof callback !== 'function') throw invalidArgType('cb', 'function', callback);
  const found = sync.existsSync(path);
  completeLater(() => callback(found));
};
fs.exists[promisify.custom] = (path) => Promise.resolve(sync.existsSync(path));
fs.read = (fd, ...rest) => {
  const buffer = ArrayBuffer.isView(rest[0]) ? rest[0] : (rest[0]?.buffer ?? Buffer.alloc(16_384));
  callLater(rest, (args) => {
    const options = ArrayBuffer.isView(args[0]) ? args.slice(1) : [args[0]];
    return [sync.readSync(fd, buffer, ...options), buffer];
  });
};
fs.read[customArgs] = ['bytesRead', 'buffer'];
fs.write = (fd, data, ...rest) => callLater(rest, (args) => [sync.writeSync(fd, data, ...args), data]);
fs.write[customArgs] = ['bytesWritten', 'buffer'];
fs.readv = (fd, buffers, ...rest) =>
  callLater(rest, (args) => [sync.readvSync(fd, buffers, ...args), buffers]);
fs.readv[customArgs] = ['bytesRead', 'buffers'];
fs.writev = (fd, buffers, ...rest) =>
  callLater(rest, (args) => [sync.writevSync(fd, buffers, ...args), buffers]);
fs.writev[customArgs] = ['bytesWritten', 'buffers'];
Object.assign(fs, {
  fdatasyncSync: sync.fsyncSync,
  fdatasync: fs.fsync,
  lutimesSync: sync.utimesSync,
  lutimes: fs.utimes,
  _toUnixTimestamp: toUnixTimestamp,
  F_OK: constants.F_OK,
  R_OK: constants.R_OK,
  W_OK: constants.W_OK,
  X_OK: constants.X_OK,
});

const streams = () => load('node:internal/fs-streams');
fs.createReadStream = (path, options) => new (streams().ReadStream)(path, options);
fs.createWriteStream = (path, options) => new (streams().WriteStream)(path, options);
fs.opendirSync = (path, options) => {
  optionsOf(options);
  return new (streams().Dir)(pathOf(path), options);
};
fs.opendir = (...args) => callLater(args, (rest) => [fs.opendirSync(...rest)]);
/** The classes are loaded on first use, because `stream` is large. Programs can replace them. */
for (const [name, original] of [
  ['ReadStream', 'ReadStream'],
  ['WriteStream', 'WriteStream'],
  ['FileReadStream', 'ReadStream'],
  ['FileWriteStream', 'WriteStream'],
  ['Dir', 'Dir'],
]) {
  let replacement;
  Object.defineProperty(fs, name, {
    get: () => replacement ?? streams()[original],
    set: (value) => {
      replacement = value;
    },
    configurable: true,
    enumerable: true,
  });
}
Object.defineProperty(fs, 'promises', {
  get: () => load('node:fs/promises'),
  configurable: true,
  enumerable: true,
});

/** Functions that throw, and what the error advises. */
const UNAVAILABLE = {
  watch: 'No other process changes files.',
  watchFile: 'No other process changes files.',
  glob: 'Use readdir with recursive: true.',
  globSync: 'Use readdirSync with recursive: true.',
};
for (const [name, advice] of Object.entries(UNAVAILABLE)) {
  fs[name] = () => {
    throw unavailable(`fs.${name} is not available in the sandbox. ${advice}`);
  };
}
fs.unwatchFile = () => {};
fs.openAsBlob = (path, options = {}) => {
  let bytes;
  try {
    bytes = sync.readFileSync(path);
  } catch {
    throw codedError(TypeError, 'ERR_INVALID_ARG_VALUE', 'Unable to open file as blob');
  }
  return Promise.resolve(new globalThis.Blob([bytes], { type: options.type ?? '' }));
};

export default fs;
