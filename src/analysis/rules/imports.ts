/** Rules for modules and features that are not there. They go by the exception's class and the module it names. */
import { builtin, capture, engineError, errnoOf, fromModule } from '../exception.ts';
import { type Catalogue, type CataloguePackage, packageOf, type RunFacts } from '../input.ts';
import {
  type Alternative,
  FILES_IN_JAVASCRIPT,
  JAVASCRIPT_UNSUPPORTED_NAMES,
  NODE_MODULES,
  PYTHON_ALTERNATIVES,
  PYTHON_UNSUPPORTED_MODULES,
} from '../known.ts';
import { cut, placeOf, statementOf } from '../quote.ts';
import { DOCS, docOf, type Rule, rule } from '../rule.ts';
import { closest } from '../similar-names.ts';

const missingModule = (facts: RunFacts) => {
  const error = builtin(facts, 'ModuleNotFoundError');
  return typeof error?.name === 'string' && error.name !== '' ? error.name : undefined;
};

const plainName = (name: string) => name.toLowerCase().replace(/[-_.]/g, '');

/** A vendored package that the program asked for by its distribution's name or in the wrong letter case. */
function byOtherName(name: string, catalogue: Catalogue, facts: RunFacts): CataloguePackage | undefined {
  const wanted = plainName(name.split('.')[0]!);
  return catalogue.packages.find(
    (entry) =>
      entry.language === facts.runtime &&
      [entry.name, ...entry.import_names].some((other) => plainName(other) === wanted),
  );
}

/** Names of JavaScript packages as programs know them, and the global name each is known under. */
const JAVASCRIPT_GLOBALS: Readonly<Record<string, string>> = {
  _: 'lodash',
  Papa: 'papaparse',
  dayjs: 'dayjs',
  moment: 'moment',
  uuid: 'uuid',
  Decimal: 'decimal.js',
  Big: 'big.js',
  math: 'mathjs',
  R: 'ramda',
  marked: 'marked',
  YAML: 'yaml',
  jsyaml: 'js-yaml',
  Handlebars: 'handlebars',
  Mustache: 'mustache',
};

/** The module that `require('x')`, `import … from 'x'` or `requireVendor('x')` asked for. */
function moduleAsked(facts: RunFacts): string | undefined {
  const error = engineError(facts, 'ReferenceError', 'Error', 'TypeError', 'SyntaxError');
  if (error === undefined) return undefined;
  const loaded = capture(error, /^could not load module '([^'\n]{1,120})'/);
  if (loaded !== undefined) return loaded;
  const called = /\brequire\(\s*['"`]([^'"`]{1,120})['"`]/.exec(statementOf(facts))?.[1];
  return error.message === 'require is not defined' ? called : undefined;
}

const vendorPackage = (facts: RunFacts, catalogue: Catalogue): CataloguePackage | undefined => {
  if (facts.runtime !== 'javascript') return undefined;
  const asked = moduleAsked(facts);
  if (asked !== undefined)
    return packageOf(catalogue, 'javascript', asked) ?? byOtherName(asked, catalogue, facts);
  const name = capture(engineError(facts, 'ReferenceError'), /^(\S+) is not defined$/);
  if (name === undefined) return undefined;
  const known = Object.hasOwn(JAVASCRIPT_GLOBALS, name) ? JAVASCRIPT_GLOBALS[name]! : name;
  return packageOf(catalogue, 'javascript', known);
};

interface Lack {
  readonly what: string;
  readonly instead?: string | undefined;
}

const THREADS: Lack = {
  what: 'threads',
  instead:
    'run the work in a plain loop, or use asyncio for tasks that wait for each other (asyncio without network connections)',
};
const NETWORK: Lack = {
  what: 'a network',
  instead: 'put the data into /app before the run and read it from there',
};
const PROCESSES: Lack = {
  what: 'processes',
  instead: 'use the standard library (shutil, pathlib, glob, zipfile) instead of commands',
};
const UNSUPPORTED_ATTRIBUTES: Readonly<Record<string, { names: RegExp; lack: Lack }>> = {
  signal: {
    names: /^(alarm|setitimer|getitimer|pause|sigwait|pthread_\w+)$/,
    lack: { what: 'timer signals', instead: 'use the call option timeout_seconds' },
  },
  os: {
    names: /^(fork|forkpty|exec\w*|spawn\w*|getuid|geteuid|getlogin|nice|startfile|sched_\w+|getloadavg)$/,
    lack: PROCESSES,
  },
  time: { names: /^(pthread_\w+|clock)$/, lack: { what: 'that clock', instead: 'use time.perf_counter()' } },
  socket: { names: /./, lack: NETWORK },
};

function pythonLack(facts: RunFacts): Lack | undefined {
  const module = missingModule(facts)?.split('.')[0];
  if (module !== undefined && Object.hasOwn(PYTHON_UNSUPPORTED_MODULES, module)) {
    return { what: PYTHON_UNSUPPORTED_MODULES[module]! };
  }
  if (builtin(facts, 'RuntimeError')?.message === "can't start new thread") return THREADS;
  if (fromModule(facts, 'socket', 'urllib.error', 'http.client', 'ssl')) return NETWORK;
  const error = builtin(
    facts,
    'OSError',
    'PermissionError',
    'ConnectionError',
    'AttributeError',
    'NotImplementedError',
  );
  if (error === undefined) return undefined;
  if (error.type === 'AttributeError') {
    const row = Object.hasOwn(UNSUPPORTED_ATTRIBUTES, error.module_name ?? '')
      ? UNSUPPORTED_ATTRIBUTES[error.module_name!]
      : undefined;
    return row?.names.test(error.name ?? '') ? row.lack : undefined;
  }
  const code = errnoOf(facts);
  if (code === 'EAFNOSUPPORT') return NETWORK;
  if (code === 'EOPNOTSUPP') return PROCESSES;
  if (code === 'ENOSYS' || code === 'ENOTSUP') return { what: 'that system call' };
  if (code === 'EPERM' && error.path == null && error.type === 'PermissionError') return PROCESSES;
  return error.message === 'ctypes cannot call C functions in the sandbox'
    ? { what: 'native libraries' }
    : undefined;
}

function javascriptLack(facts: RunFacts): Lack | undefined {
  const module = moduleAsked(facts)?.replace(/^node:/, '');
  if (module !== undefined && NODE_MODULES.has(module)) {
    return {
      what: `Node.js (module '${module}')`,
      instead: FILES_IN_JAVASCRIPT,
    };
  }
  const absent = capture(engineError(facts, 'Error'), /^([\w.]+) is not available in the sandbox/);
  if (absent !== undefined) return { what: absent };
  const name = capture(engineError(facts, 'ReferenceError'), /^(\S+) is not defined$/);
  const row =
    name !== undefined && Object.hasOwn(JAVASCRIPT_UNSUPPORTED_NAMES, name)
      ? JAVASCRIPT_UNSUPPORTED_NAMES[name]
      : undefined;
  if (row === undefined || (name === 'require' && module !== undefined)) return undefined;
  return { what: `${row.needs} ('${name}')`, instead: row.instead };
}

/** What to use instead of a package, as far as it exists here. */
function alternatives(row: Alternative | undefined, catalogue: Catalogue): string | undefined {
  if (row === undefined) return undefined;
  const there = (row.vendored ?? [])
    .map((name) => catalogue.packages.find((entry) => entry.name === name))
    .filter((entry) => entry !== undefined)
    .map((entry) => `${entry.name} (import ${entry.import_names[0]}; ${entry.use})`);
  return [
    `Use instead: ${row.instead}`,
    ...(there.length > 0 ? [`vendored packages: ${there.join(', ')}`] : []),
  ].join('; ');
}

export const importRules: readonly Rule[] = [
  rule({
    type: 'MissingVendoredPackage',
    seen: 'ModuleNotFoundError for a package that the sandbox vendors: the program took it off the import path.',
    docs: [DOCS.pythonPackages],
    example: {
      source: "import sys\nsys.path = ['/app']\nimport openpyxl",
      error: {
        type: 'ModuleNotFoundError',
        module: 'builtins',
        kind: 'ModuleNotFoundError',
        message: "No module named 'openpyxl'",
        name: 'openpyxl',
        on_path: false,
        line: 3,
      },
    },
    match: (facts, catalogue) => {
      const name = missingModule(facts);
      if (name === undefined || (name.includes('.') && facts.error!.on_path === true)) return undefined;
      return packageOf(catalogue, 'python', name) && name.split('.')[0]!;
    },
    advise: (name, facts) => ({
      guidance:
        facts.error!.on_path === true
          ? [
              `Package '${name}' belongs to this sandbox but is not part of this installation`,
              'Run "llm-wasm-sandbox doctor" to see what is missing, and build again',
            ]
          : [
              `Package '${name}' is pre-installed but requires sys.path configuration`,
              "Add at start of code: import sys; sys.path.insert(0, '/data/site-packages')",
              `Then import normally: import ${name}`,
              'Note: In MCP server, sys.path is auto-configured - this error should not occur',
              /\bsys\.path\b/.test(facts.source.slice(0, 32_768))
                ? "The program changes sys.path itself: keep '/data/site-packages' in it"
                : undefined,
            ],
    }),
  }),
  rule({
    type: 'WrongImportName',
    seen: 'ModuleNotFoundError or ImportError where the module exists under another name, or does not have the part asked for.',
    docs: [DOCS.pythonPackages],
    example: {
      source: 'from math import squareroot',
      error: {
        type: 'ImportError',
        module: 'builtins',
        kind: 'ImportError',
        message: "cannot import name 'squareroot' from 'math' (unknown location)",
        name: 'math',
        attribute: 'squareroot',
        line: 1,
      },
    },
    match: (facts, catalogue) => {
      const name = missingModule(facts);
      if (name === undefined) return builtin(facts, 'ImportError') && { entry: undefined };
      const entry = name.includes('.') ? undefined : byOtherName(name, catalogue, facts);
      const isPart = name.includes('.') && facts.error!.message.startsWith(`No module named '${name}'`);
      return entry !== undefined || isPart ? { entry } : undefined;
    },
    advise: ({ entry }, facts) => {
      const place = placeOf(facts);
      if (entry !== undefined) {
        return {
          guidance: [
            `The package ${entry.name} is available, but it is imported as: import ${entry.import_names[0]}`,
            place && `The import was on ${place}`,
          ],
          examples: [`import ${entry.import_names[0]}`],
        };
      }
      const { attribute, name } = facts.error!;
      return {
        guidance: [
          attribute === undefined
            ? `There is no module '${cut(name ?? '')}': its package has no such part`
            : `The module '${cut(name ?? '')}' has no '${attribute}'`,
          'Check the spelling and the version: print(dir(module)) shows what a module has',
          place && `The import was on ${place}`,
        ],
      };
    },
  }),
  rule({
    type: 'MissingRequireVendor',
    seen: 'A JavaScript program used a vendored package through require(), import or as a global.',
    docs: [DOCS.javascriptVendor],
    example: {
      runtime: 'javascript',
      source: "const dayjs = require('dayjs');",
      error: { type: 'ReferenceError', message: 'require is not defined', line: 1 },
    },
    match: vendorPackage,
    advise: (entry, facts) => {
      const name = entry.import_names[0]!;
      const place = placeOf(facts);
      return {
        guidance: [
          `Package '${entry.name}' is vendored: get it with requireVendor('${name}')`,
          'require() and import of packages do not exist in the sandbox',
          place && `It was used on ${place}`,
        ],
        examples: [`const pkg = requireVendor('${name}');`],
      };
    },
  }),
  rule({
    type: 'UnsupportedFeature',
    seen: 'The program asked for what a sandbox does not have: threads, processes, sockets, a screen, or an API of Node or of a browser.',
    docs: [DOCS.pythonLimits, DOCS.javascriptLimits],
    example: {
      source: 'import threading\nthreading.Thread(target=print).start()',
      error: {
        type: 'RuntimeError',
        module: 'builtins',
        kind: 'RuntimeError',
        message: "can't start new thread",
        line: 2,
      },
    },
    match: (facts) => (facts.runtime === 'python' ? pythonLack(facts) : javascriptLack(facts)),
    advise: ({ what, instead }, facts) => {
      const place = placeOf(facts);
      return {
        guidance: [
          `The program needs ${what}, which the sandbox does not have`,
          instead && `Instead: ${instead}`,
          place && `It was asked for on ${place}`,
          'No setting changes this: write the program without it',
        ],
        docs: [docOf(facts, 'Limits')],
      };
    },
  }),
  rule({
    type: 'PackageNotAvailable',
    seen: 'ModuleNotFoundError (or a failed module load in JavaScript) for a package that is neither vendored nor in /app.',
    docs: [DOCS.pythonPackages, DOCS.javascriptVendor],
    example: {
      source: 'import pandas as pd',
      error: {
        type: 'ModuleNotFoundError',
        module: 'builtins',
        kind: 'ModuleNotFoundError',
        message: "No module named 'pandas'",
        name: 'pandas',
        line: 1,
      },
    },
    match: (facts) => missingModule(facts) ?? moduleAsked(facts) ?? vendorAsked(facts),
    advise: (name, facts, catalogue) => {
      const top = name.split('.')[0]!;
      const row = Object.hasOwn(PYTHON_ALTERNATIVES, top) ? PYTHON_ALTERNATIVES[top] : undefined;
      const vendored = catalogue.packages.filter((entry) => entry.language === facts.runtime);
      const near = closest(
        top,
        vendored.flatMap((entry) => [...entry.import_names]),
        2,
      );
      const own = ownModule(top, facts);
      return {
        guidance: [
          `Package '${cut(top, 80)}' is not available in the sandbox, and packages cannot be installed`,
          facts.runtime === 'python' ? alternatives(row, catalogue) : undefined,
          near.length > 0 ? `Similar packages that are vendored: ${near.join(', ')}` : undefined,
          own && `There is a file '${own}' in /app: import it by its path from /app`,
          facts.runtime === 'javascript'
            ? "Modules of one's own are imported by path: import { f } from './name.js'"
            : undefined,
        ],
        docs: [facts.runtime === 'python' ? DOCS.pythonPackages : DOCS.javascriptVendor],
      };
    },
  }),
];

/** What requireVendor was asked for and does not have. */
function vendorAsked(facts: RunFacts): string | undefined {
  return capture(
    engineError(facts, 'Error', 'ReferenceError'),
    /^requireVendor: there is no package '([^'\n]{1,120})'/,
  );
}

function ownModule(name: string, facts: RunFacts): string | undefined {
  const endings = facts.runtime === 'python' ? [`/${name}.py`, `/${name}/__init__.py`] : [`/${name}.js`];
  const found = facts.files().find((path) => endings.some((ending) => `/${path}`.endsWith(ending)));
  return found && cut(found, 80);
}
