/**
 * Node.js modules that need features the sandbox does not have: network, threads, contexts. They can be loaded, so that
 * programs that import them without using them run. Calling a function throws an error that names the alternative.
 */
import { host } from '../../host-calls.js';
import { unavailable } from './errors.js';

const NETWORK =
  'The sandbox has no network. Call a tool that gets the data, or pass the data as files or standard input';
const PROCESSES =
  'Processes of the sandbox run one after the other and exchange no messages. Use child_process.spawnSync';

const RESOLVE =
  'lookup lookupService getDefaultResultOrder setDefaultResultOrder setServers getServers resolve resolve4 resolve6 resolveAny resolveCaa resolveCname resolveMx resolveNaptr resolveNs resolvePtr resolveSoa resolveSrv resolveTxt reverse';
const DEBUGGER = 'Print values with console.log';

/** What to use instead of each module, and the names of its functions and classes. */
const MODULES = {
  cluster: [PROCESSES, 'fork setupPrimary setupMaster disconnect', 'Worker'],
  dgram: [NETWORK, 'createSocket', 'Socket'],
  dns: [NETWORK, RESOLVE, 'Resolver'],
  'dns/promises': [NETWORK, RESOLVE, 'Resolver'],
  domain: ["Use try/catch and process.on('uncaughtException')", 'create createDomain', 'Domain'],
  http: [
    NETWORK,
    'request get createServer validateHeaderName validateHeaderValue setMaxIdleHTTPParsers',
    'Agent Server ClientRequest ServerResponse IncomingMessage OutgoingMessage',
  ],
  http2: [
    NETWORK,
    'connect createServer createSecureServer getDefaultSettings getPackedSettings getUnpackedSettings performServerHandshake',
    'Http2ServerRequest Http2ServerResponse',
  ],
  https: [NETWORK, 'request get createServer', 'Agent Server'],
  inspector: [DEBUGGER, 'open close url waitForDebugger', 'Session'],
  'inspector/promises': [DEBUGGER, 'open close url waitForDebugger', 'Session'],
  net: [
    NETWORK,
    'connect createConnection createServer getDefaultAutoSelectFamily setDefaultAutoSelectFamily getDefaultAutoSelectFamilyAttemptTimeout setDefaultAutoSelectFamilyAttemptTimeout',
    'Socket Server Stream BlockList SocketAddress',
  ],
  repl: [
    'Use a session: its variables persist from call to call',
    'start writer isValidSyntax',
    'REPLServer Recoverable',
  ],
  sqlite: [
    'Use the sqlite3 command with child_process, or sqlite3 in Python',
    'backup',
    'DatabaseSync StatementSync Session',
  ],
  tls: [
    NETWORK,
    'connect createServer createSecureContext createSecurePair getCiphers convertALPNProtocols checkServerIdentity',
    'TLSSocket Server SecureContext',
  ],
  trace_events: ['Use performance.mark', 'createTracing getEnabledCategories', ''],
  v8: [
    'The engine is QuickJS. Use structuredClone to copy a value, and JSON to store one',
    'serialize deserialize cachedDataVersionTag getHeapSnapshot getHeapStatistics getHeapSpaceStatistics getHeapCodeStatistics setFlagsFromString takeCoverage stopCoverage writeHeapSnapshot queryObjects setHeapSnapshotNearHeapLimit',
    'Serializer Deserializer DefaultSerializer DefaultDeserializer GCProfiler',
  ],
  vm: [
    'The sandbox has one set of globals. Use vm.runInThisContext(code), or new Function(...names, code) with the values that the code may use',
    'createContext createScript runInContext runInNewContext measureMemory',
    '',
  ],
  wasi: ['Use the functions of fs and process', '', 'WASI'],
  worker_threads: [
    'The sandbox has one thread. Call the function directly, or run it in another call',
    'markAsUntransferable moveMessagePortToContext receiveMessageOnPort postMessageToThread setEnvironmentData getEnvironmentData',
    'Worker BroadcastChannel',
  ],
};

const METHODS =
  'ACL BIND CHECKOUT CONNECT COPY DELETE GET HEAD LINK LOCK OPTIONS PATCH POST PROPFIND PURGE PUT TRACE UNLINK'.split(
    ' ',
  );
const STATUS_TEXT = `100 Continue|101 Switching Protocols|200 OK|201 Created|202 Accepted|204 No Content|206 Partial Content|301 Moved Permanently
302 Found|303 See Other|304 Not Modified|307 Temporary Redirect|308 Permanent Redirect|400 Bad Request|401 Unauthorized
402 Payment Required|403 Forbidden|404 Not Found|405 Method Not Allowed|406 Not Acceptable|408 Request Timeout|409 Conflict|410 Gone
411 Length Required|412 Precondition Failed|413 Payload Too Large|414 URI Too Long|415 Unsupported Media Type|418 I'm a Teapot
422 Unprocessable Entity|425 Too Early|426 Upgrade Required|428 Precondition Required|429 Too Many Requests
431 Request Header Fields Too Large|451 Unavailable For Legal Reasons|500 Internal Server Error|501 Not Implemented|502 Bad Gateway
503 Service Unavailable|504 Gateway Timeout|505 HTTP Version Not Supported|507 Insufficient Storage
511 Network Authentication Required`;
let statusCodes;

/** Created on first use, because programs load the modules of this file without it. */
function readStatusCodes() {
  statusCodes ??= Object.fromEntries(
    STATUS_TEXT.split(/[|\n]/).map((line) => [line.slice(0, 3), line.slice(4)]),
  );
  return statusCodes;
}

const octet = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)';
const IPV4 = new RegExp(`^${octet}(?:\\.${octet}){3}$`);

function isIPv6(text) {
  try {
    return /^[\da-fA-F:.]+$/.test(text) && new URL(`http://[${text}]`).hostname !== '';
  } catch {
    return false;
  }
}

function failInContext() {
  throw unavailable(`Contexts of vm are not available in the sandbox. ${MODULES.vm[0]}.`);
}

/** The class `vm.Script`: a script that runs with the globals of the program. */
class Script {
  #code;
  #file;

  constructor(code, options = {}) {
    this.#code = `${code}`;
    this.#file = typeof options === 'string' ? options : (options?.filename ?? 'evalmachine.<anonymous>');
    // Compiling it again throws its SyntaxError.
    if (host.compiles(this.#code, this.#file, 0) !== 1) host.evaluate(this.#code, this.#file, 0);
  }
  runInThisContext() {
    return host.evaluate(this.#code, this.#file, 0);
  }
  runInContext() {
    failInContext();
  }
  runInNewContext() {
    failInContext();
  }
}

/** Parts of the modules that work in the sandbox. */
const WORKING = {
  http: {
    METHODS,
    get STATUS_CODES() {
      return readStatusCodes();
    },
    globalAgent: {},
    maxHeaderSize: 16_384,
  },
  https: { globalAgent: {} },
  net: {
    isIPv4: (text) => IPV4.test(text),
    isIPv6,
    isIP: (text) => (IPV4.test(text) ? 4 : isIPv6(text) ? 6 : 0),
  },
  cluster: { isMaster: true, isPrimary: true, isWorker: false, workers: {} },
  vm: {
    isContext: () => false,
    runInThisContext: (code, options) => new Script(code, options).runInThisContext(),
    compileFunction(code, names = [], options = {}) {
      if (options.parsingContext !== undefined || options.contextExtensions?.length > 0) failInContext();
      return new Function(...names, code);
    },
    Script,
  },
  worker_threads: {
    isMainThread: true,
    parentPort: null,
    workerData: null,
    threadId: 0,
    resourceLimits: {},
    SHARE_ENV: Symbol.for('nodejs.worker_threads.SHARE_ENV'),
    get MessageChannel() {
      return globalThis.MessageChannel;
    },
    get MessagePort() {
      return globalThis.MessagePort;
    },
  },
};

export function createModule(name) {
  const [alternative, functions, classes] = MODULES[name];
  const fail = (part) => {
    throw unavailable(`${name}.${part} is not available in the sandbox. ${alternative}.`);
  };
  const module = Object.defineProperties({}, Object.getOwnPropertyDescriptors(WORKING[name] ?? {}));
  const names = (text) => text.split(' ').filter((part) => part !== '');
  for (const part of names(functions)) {
    module[part] = () => fail(part);
    Object.defineProperty(module[part], 'name', { value: part });
  }
  for (const part of names(classes)) {
    module[part] = class {
      constructor() {
        fail(part);
      }
    };
    Object.defineProperty(module[part], 'name', { value: part });
  }
  if (name === 'dns') module.promises = createModule('dns/promises');
  return module;
}
