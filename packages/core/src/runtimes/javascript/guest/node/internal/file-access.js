/** Reads and writes whole files with host calls, for the Node.js modules. Failures throw system errors. */

import { LINUX_ERRNO } from '../../../linux-errno.js';
import { host, status, statusBuffer } from '../../host-calls.js';
import { FILE } from '../../std-file.js';
import { systemError } from './errors.js';

const TYPE_MASK = 0o170000;
const FOLDER = 0o040000;

/** Returns the result of a system call, or throws if it is a negated errno. */
export function check(result, syscall, path, dest) {
  if (typeof result === 'number' && result < 0) throw systemError(-result, syscall, path, dest);
  return result;
}

export function readDescriptor(fd) {
  check(host.fstat(fd, statusBuffer), 'fstat');
  if ((status[0] & TYPE_MASK) === FOLDER) throw systemError(LINUX_ERRNO.EISDIR, 'read');
  // Created for reading only: it is never closed, because the descriptor is the caller's.
  return new FILE(fd).readAsBytes(Number.POSITIVE_INFINITY);
}

export function readFileBytes(path, flags = 0) {
  const fd = check(host.open(path, flags, 0o666), 'open', path);
  try {
    return readDescriptor(fd);
  } finally {
    host.close(fd);
  }
}

export function writeAll(fd, bytes) {
  for (let done = 0; done < bytes.length; ) {
    const count = check(host.write(fd, bytes.buffer, bytes.byteOffset + done, bytes.length - done), 'write');
    if (count === 0) throw systemError(LINUX_ERRNO.EIO, 'write');
    done += count;
  }
}
