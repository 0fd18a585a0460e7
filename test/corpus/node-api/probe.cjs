/**
 * Probes the functions of Node.js modules. Runs in Node.js and in the sandbox; both print, as the last line, JSON that maps
 * modules to the outcomes of their exports. `EXPORTS`, which the caller defines, lists the exports of Node.js by module.
 */
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
/** Modules whose functions have side effects even without arguments: only their existence is compared. */
const EXISTING = ['console', 'constants', 'module', 'process', 'sys', 'test', 'tty'];
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

function probe(module, name) {
  const exported = module[name];
  if (exported === undefined) return ['missing'];
  if (typeof exported !== 'function') return [typeof exported];
  return undefined;
}

const results = {};
for (const [name, names] of Object.entries(EXPORTS)) {
  const module = require(`node:${name}`);
  results[name] = {};
  for (const one of names) {
    const known = probe(module, one);
    const sets = EXISTING.includes(name) ? [] : PURE.includes(name) ? ARGUMENTS : [[]];
    results[name][one] = known ?? [
      'function',
      ...sets.map((args) => outcome(module[one], one, args, PURE.includes(name))),
    ];
  }
}
// Functions of readline write to the terminal.
process.stdout.write(`\n${JSON.stringify(results)}\n`);
// Timers and streams that a function started do not keep the program running.
process.exit(0);
