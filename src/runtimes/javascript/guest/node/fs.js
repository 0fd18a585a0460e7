/** The module `fs`. Functions with a callback call their synchronous form and the callback in a later turn. */
import { load } from '../node-modules.js';
import { completeLater } from '../timers.js';
import { Buffer } from './buffer.js';
import { codedError, invalidArgType } from './internal/errors.js';
import * as sync from './internal/fs-sync.js';
import { constants, Dirent, optionsOf, pathOf, Stats } from './internal/fs-values.js';
import { customArgs, promisify } from './internal/promisify.js';

const fs = { ...sync, constants, Stats, Dirent };

/** Calls the callback, the last argument, with the result of `action` later. Invalid arguments throw at once, as in Node.js. */
function callLater(args, action) {
  const callback = args.pop();
  if (typeof callback !== 'function') throw invalidArgType('cb', 'function', undefined);
  let values;
  try {
    values = [null, ...action(args)];
  } catch (error) {
    if (typeof error?.code === 'string' && error.code.startsWith('ERR_') && !error.code.startsWith('ERR_FS'))
      throw error;
    values = [error];
  }
  completeLater(() => callback(...values));
}

for (const [name, call] of Object.entries(sync)) {
  const plain = name.slice(0, -'Sync'.length);
  const withCallback = (...args) =>
    callLater(args, (rest) => {
      const value = call(...rest);
      return value === undefined ? [] : [value];
    });
  Object.defineProperty(withCallback, 'name', { value: plain });
  fs[plain] = withCallback;
}
fs.realpath.native = fs.realpath;

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
Object.assign(fs, {
  fdatasyncSync: sync.fsyncSync,
  fdatasync: fs.fsync,
  lchownSync: sync.chownSync,
  lchown: fs.chown,
  lutimesSync: sync.utimesSync,
  lutimes: fs.utimes,
  futimesSync: (fd) => void sync.fstatSync(fd),
  fchmodSync: (fd) => void sync.fstatSync(fd),
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
  return new (streams().Dir)(pathOf(path));
};
fs.opendir = (...args) => callLater(args, (rest) => [fs.opendirSync(...rest)]);
/** Functions that load the classes on first use, because `stream` is large. */
for (const name of ['ReadStream', 'WriteStream', 'Dir']) {
  fs[name] = function create(...args) {
    return new (streams()[name])(...args);
  };
  Object.defineProperty(fs[name], 'name', { value: name });
  Object.defineProperty(fs[name], Symbol.hasInstance, { value: (value) => value instanceof streams()[name] });
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
    throw codedError(
      Error,
      'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM',
      `fs.${name} is not available in the sandbox. ${advice}`,
    );
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
