/** Globals and modules of other JavaScript hosts that programs use and the sandbox does not have. */

export interface MissingGlobal {
  /** The host or feature that provides the name. */
  readonly needs: string;
  readonly instead?: string;
}

const FILE_FUNCTIONS = 'use readText, writeText, listFiles, std.loadFile and os.readdir for files';
const READ_FILES =
  'fetch the data outside the sandbox, pass it with the files option, and read it with readText or readJson';
/** The way to SQLite that works in JavaScript. */
export const SQLITE_MODULE =
  "node:sqlite: const { DatabaseSync } = require('node:sqlite'); new DatabaseSync('app.db').prepare(sql).all(...values)";
/** HTTP requests are possible if they are permitted. */
export const NETWORK_ACCESS: MissingGlobal = { needs: 'network access', instead: READ_FILES };

/** By name. */
export const MISSING_GLOBALS: Readonly<Record<string, MissingGlobal>> = {
  Deno: { needs: 'Deno', instead: FILE_FUNCTIONS },
  Bun: { needs: 'Bun', instead: FILE_FUNCTIONS },
  XMLHttpRequest: NETWORK_ACCESS,
  WebSocket: NETWORK_ACCESS,
  EventSource: NETWORK_ACCESS,
  axios: NETWORK_ACCESS,
  window: { needs: 'a browser', instead: 'globalThis' },
  document: { needs: 'a browser', instead: 'build HTML as text and write it to a file' },
  navigator: { needs: 'a browser' },
  location: { needs: 'a browser' },
  self: { needs: 'a browser', instead: 'globalThis' },
  alert: { needs: 'a browser', instead: 'console.log' },
  prompt: { needs: 'a browser', instead: 'std.in.getline() reads standard input' },
  confirm: { needs: 'a browser', instead: 'std.in.getline() reads standard input' },
  localStorage: {
    needs: 'a browser',
    instead: 'store the data in a file in /app: std.open and std.loadFile',
  },
  sessionStorage: {
    needs: 'a browser',
    instead: 'store the data in a file in /app: std.open and std.loadFile',
  },
  indexedDB: { needs: 'a browser', instead: 'store the data in a file in /app: std.open and std.loadFile' },
  requestAnimationFrame: { needs: 'a browser', instead: 'setTimeout' },
  Image: { needs: 'a browser' },
  FileReader: { needs: 'a browser', instead: 'std.loadFile' },
  HTMLElement: { needs: 'a browser', instead: 'build HTML as text' },
  Worker: { needs: 'threads', instead: 'do the work in the main program' },
  WebAssembly: { needs: 'WebAssembly inside the guest', instead: 'plain JavaScript' },
};

const THREADS: MissingGlobal = { needs: 'threads', instead: 'do the work in the main program' };
const MESSAGES: MissingGlobal = {
  needs: 'processes that exchange messages',
  instead:
    'start a process with child_process and pass data through its input or files, or do the work in this program',
};
const PROCESSES: MissingGlobal = {
  needs: 'this way to start processes',
  instead: 'start the process with require("child_process"), or do the work in JavaScript',
};

/** Missing features by the Node.js module that needs them. */
export const NODE_FEATURES: Readonly<Record<string, MissingGlobal>> = {
  child_process: MESSAGES,
  crypto: {
    needs: 'this algorithm of crypto',
    instead:
      'crypto has createHash, createHmac, createCipheriv with AES, pbkdf2Sync, scryptSync, hkdfSync and randomBytes',
  },
  cluster: MESSAGES,
  dgram: NETWORK_ACCESS,
  dns: NETWORK_ACCESS,
  http: NETWORK_ACCESS,
  http2: NETWORK_ACCESS,
  https: NETWORK_ACCESS,
  net: NETWORK_ACCESS,
  tls: NETWORK_ACCESS,
  sqlite: {
    needs: 'this feature of node:sqlite',
    instead: 'define functions with database.function() and aggregate(), and compare tables with SQL',
  },
  worker_threads: THREADS,
  zlib: { needs: 'Brotli', instead: 'compress with gzip or deflate' },
};

/** Functions that exist and always fail, by the name in their message. Those of Node.js modules have the row of the module. */
export const FAILING_FUNCTIONS: Readonly<Record<string, MissingGlobal>> = {
  fetch: NETWORK_ACCESS,
  'os.exec': PROCESSES,
  'os.Worker': THREADS,
  'std.popen': PROCESSES,
  'std.urlGet': NETWORK_ACCESS,
};
