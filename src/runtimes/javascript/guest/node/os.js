/** The module `os`: constant values, which reveal nothing about the host. */

import { LINUX_ERRNO } from '../../linux-errno.js';
import { host } from '../host-calls.js';
import { environment } from '../std.js';
import { SIGNALS } from './internal/signals.js';

const MEMORY = 256 * 1024 * 1024;
const start = host.monotonic();

export default {
  EOL: '\n',
  devNull: '/dev/null',
  arch: () => 'x64',
  availableParallelism: () => 1,
  constants: {
    UV_UDP_REUSEADDR: 4,
    dlopen: {},
    errno: { ...LINUX_ERRNO },
    signals: SIGNALS,
    priority: {
      PRIORITY_LOW: 19,
      PRIORITY_BELOW_NORMAL: 10,
      PRIORITY_NORMAL: 0,
      PRIORITY_ABOVE_NORMAL: -7,
      PRIORITY_HIGH: -14,
      PRIORITY_HIGHEST: -20,
    },
  },
  cpus: () => [{ model: 'WebAssembly', speed: 0, times: { user: 0, nice: 0, sys: 0, idle: 0, irq: 0 } }],
  endianness: () => 'LE',
  freemem: () => MEMORY / 2,
  getPriority: () => 0,
  setPriority: () => {},
  homedir: () => environment.get('HOME') ?? '/app',
  hostname: () => 'sandbox',
  loadavg: () => [0, 0, 0],
  machine: () => 'x86_64',
  networkInterfaces: () => ({}),
  platform: () => 'linux',
  release: () => '6.0.0',
  tmpdir: () => '/tmp',
  totalmem: () => MEMORY,
  type: () => 'Linux',
  uptime: () => (host.monotonic() - start) / 1000,
  userInfo: () => ({
    uid: 0,
    gid: 0,
    username: 'sandbox',
    homedir: environment.get('HOME') ?? '/app',
    shell: null,
  }),
  version: () => '#1 sandbox',
};
