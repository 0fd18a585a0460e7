/**
 * Probes the functions of Node.js modules. Runs in Node.js and in the sandbox; both print, as the last line, JSON that maps
 * modules to the outcomes of their exports. `EXPORTS`, which the caller defines, lists the exports of Node.js by module.
 */
const { Console } = require('node:console');
const { Writable } = require('node:stream');
const { inspect } = require('node:util');

/** Modules whose functions depend on nothing but their arguments: results are compared. */
const PURE = [
  'path',
  'path/posix',
  'path/win32',
  'punycode',
  'querystring',
  'string_decoder',
  'url',
  'util/types',
];
/**
 * Arguments for modules whose functions have side effects even without arguments. Functions that are not listed are not
 * called: they end the process, wait for input, or change its users.
 */
const CALLS = {
  console: {
    Console: [],
    assert: [false, 'a %d', 1],
    clear: [],
    count: ['a'],
    countReset: ['a'],
    debug: ['a', { b: [1] }],
    dir: [{ a: { b: { c: {} } } }, { depth: 0 }],
    dirxml: [[1], 'a'],
    error: ['%s=%o', 'a', [1]],
    group: ['a'],
    groupCollapsed: ['a'],
    groupEnd: [],
    info: [new Map([[1, 2]])],
    log: ['a\nb', -0, 5n],
    table: [[{ a: 1 }, { b: 'x' }]],
    time: ['a'],
    timeEnd: ['a'],
    timeLog: ['a'],
    trace: ['a'],
    warn: ['a'],
    profile: [],
    profileEnd: [],
    timeStamp: [],
  },
  module: {
    Module: ['a'],
    createRequire: ['/app/main.js'],
    findSourceMap: ['/app/main.js'],
    isBuiltin: ['node:fs'],
    syncBuiltinESMExports: [],
  },
  process: {
    availableMemory: [],
    binding: ['none'],
    chdir: ['.'],
    constrainedMemory: [],
    cpuUsage: [],
    cwd: [],
    dlopen: [{}, '/a.node'],
    emit: ['a'],
    emitWarning: ['a'],
    getActiveResourcesInfo: [],
    getBuiltinModule: ['fs'],
    getegid: [],
    geteuid: [],
    getgid: [],
    getgroups: [],
    getuid: [],
    hasUncaughtExceptionCaptureCallback: [],
    hrtime: [[0, 0]],
    loadEnvFile: ['/none.env'],
    memoryUsage: [],
    nextTick: [() => {}],
    resourceUsage: [],
    setUncaughtExceptionCaptureCallback: [null],
    setgid: [],
    setuid: [],
    umask: [],
    uptime: [],
  },
  test: {
    after: [() => {}],
    afterEach: [() => {}],
    before: [() => {}],
    beforeEach: [() => {}],
    describe: ['a', () => {}],
    it: ['a', () => {}],
    only: ['a', () => {}],
    run: [{ files: [] }],
    skip: ['a', () => {}],
    suite: ['a', () => {}],
    test: ['a', () => {}],
    todo: ['a', () => {}],
  },
  tty: { isatty: [0] },
};
const ARGUMENTS = [[], [undefined], [null], [1], ['a/b?c=d%20e'], ['x', 'y'], [{}], [['a']], [true], [/x/]];
const UNAVAILABLE = 'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM';

function describe(value, isPure) {
  if (value instanceof Promise) {
    value.catch(() => {});
    return 'promise';
  }
  if (isPure) return inspect(value, { depth: 4 }).replaceAll(process.cwd(), '/app');
  if (value === null || typeof value !== 'object') return typeof value;
  return `object ${value.constructor?.name}`;
}

/** Classes are constructed. Messages of errors of the engine, which have no code, are not compared. */
function outcome(call, name, args, isPure) {
  try {
    const value = /^[A-Z]/.test(name) ? new call(...args) : call(...args);
    return describe(value, isPure);
  } catch (error) {
    if (error?.code === UNAVAILABLE) return UNAVAILABLE;
    const hasCode = typeof error?.code === 'string';
    return `throws ${error?.name} ${hasCode ? error.code : ''} ${isPure && hasCode ? error.message : ''}`;
  }
}

/** What a method of a new console prints. Durations and stack traces differ. */
function printed(name, args) {
  let text = '';
  const sink = new Writable({
    write(chunk, _encoding, done) {
      text += chunk;
      done();
    },
  });
  const console = new Console(sink);
  if (/^time(?:End|Log)/.test(name)) console.time('a');
  const returned = console[name](...args);
  if (/^group/.test(name)) console.log('indented');
  return [typeof returned, text.replace(/\d+(?:\.\d+)?m?s/g, 'DURATION').replace(/\n {4}at .*/gs, '')];
}

function callOf(moduleName, module, name, args) {
  // Instances of Console do not have the methods of the inspector.
  const isMethodOfConsole = moduleName === 'console' && !/^(?:Console|profile|timeStamp)/.test(name);
  if (!isMethodOfConsole) return [outcome(module[name].bind?.(module) ?? module[name], name, args, false)];
  try {
    return printed(name, args);
  } catch (error) {
    return [`throws ${error}`];
  }
}

function probe(moduleName, module, name) {
  if (!(name in module)) return ['missing'];
  if (typeof module[name] !== 'function') return [typeof module[name]];
  const calls = CALLS[moduleName];
  if (calls !== undefined)
    return name in calls
      ? ['function', ...callOf(moduleName, module, name, calls[name])]
      : ['function', 'not called'];
  const isPure = PURE.includes(moduleName);
  const sets = isPure ? ARGUMENTS : [[]];
  return ['function', ...sets.map((args) => outcome(module[name], name, args, isPure))];
}

const results = {};
for (const [name, names] of Object.entries(EXPORTS)) {
  const module = require(`node:${name}`);
  results[name] = {};
  for (const one of names) {
    results[name][one] = probe(name, module, one);
  }
}
// Functions of readline write to the terminal.
process.stdout.write(`\n${JSON.stringify(results)}\n`);
// Timers and streams that a function started do not keep the program running.
process.exit(0);
