/** Rules for modules and features that do not exist. They rely on the class of the exception and the module it names. */

import { failedSystemCall } from '../../../analysis/failed-system-call.ts';
import { type AnalysisInput, vendoredPackage } from '../../../analysis/input.ts';
import { failedAt, oneLine } from '../../../analysis/quote-guest-text.ts';
import { DOCS, type Rule, rule } from '../../../analysis/rule.ts';
import {
  type MissingFeature,
  packageByOtherName,
  packageNotAvailableRule,
  unsupportedFeatureRule,
} from '../../../analysis/rules/rule-factories.ts';
import { ALTERNATIVES, UNSUPPORTED_MODULES } from './missing-modules.ts';
import { builtinException, moduleException } from './select-exception.ts';

const SOURCE_MAX = 32_768;

const topLevel = (module: string) => module.split('.')[0]!;

function missingModule(input: AnalysisInput): string | undefined {
  const name = builtinException(input, 'ModuleNotFoundError')?.name;
  return typeof name === 'string' && name !== '' ? name : undefined;
}

const THREADS: MissingFeature = {
  what: 'threads',
  instead: 'do the work in a loop, or use asyncio for concurrent tasks (without network connections)',
};
const NETWORK: MissingFeature = {
  what: 'network access',
  instead: 'put the data into /app before the run and read it there',
};
const PROCESSES: MissingFeature = {
  what: 'processes',
  instead: 'use the standard library (shutil, pathlib, glob, zipfile) instead of shell commands',
};
/** Attributes that modules do not have in the sandbox, by module. */
const MISSING_ATTRIBUTES: Readonly<Record<string, { names: RegExp; feature: MissingFeature }>> = {
  signal: {
    names: /^(alarm|setitimer|getitimer|pause|sigwait|pthread_\w+)$/,
    feature: { what: 'timer signals', instead: 'use the call option timeout_seconds' },
  },
  os: {
    names: /^(fork|forkpty|exec\w*|spawn\w*|getuid|geteuid|getlogin|nice|startfile|sched_\w+|getloadavg)$/,
    feature: PROCESSES,
  },
  time: {
    names: /^(pthread_\w+|clock)$/,
    feature: { what: 'this clock', instead: 'use time.perf_counter()' },
  },
  socket: { names: /./, feature: NETWORK },
};

function missingFeature(input: AnalysisInput): MissingFeature | undefined {
  const module = topLevel(missingModule(input) ?? '');
  if (Object.hasOwn(UNSUPPORTED_MODULES, module)) return { what: UNSUPPORTED_MODULES[module]! };
  if (builtinException(input, 'RuntimeError')?.message === "can't start new thread") return THREADS;
  if (moduleException(input, 'socket', 'urllib.error', 'http.client', 'ssl')) return NETWORK;
  const attribute = builtinException(input, 'AttributeError');
  if (attribute !== undefined) {
    const { module_name: owner = '', name } = attribute;
    const row = Object.hasOwn(MISSING_ATTRIBUTES, owner) ? MISSING_ATTRIBUTES[owner] : undefined;
    return row?.names.test(name ?? '') ? row.feature : undefined;
  }
  return missingSystemCall(input);
}

function missingSystemCall(input: AnalysisInput): MissingFeature | undefined {
  const error = builtinException(
    input,
    'OSError',
    'PermissionError',
    'ConnectionError',
    'NotImplementedError',
  );
  if (error === undefined) return undefined;
  const code = failedSystemCall(input);
  if (code === 'EAFNOSUPPORT') return NETWORK;
  if (code === 'EOPNOTSUPP') return PROCESSES;
  if (code === 'ENOSYS' || code === 'ENOTSUP') return { what: 'this system call' };
  if (code === 'EPERM' && error.path == null && error.type === 'PermissionError') return PROCESSES;
  return error.message === 'ctypes cannot call C functions in the sandbox'
    ? { what: 'native libraries' }
    : undefined;
}

/** What to use instead of a package. */
function alternatives(name: string, { language, packages }: AnalysisInput): string | undefined {
  const row = Object.hasOwn(ALTERNATIVES, name) ? ALTERNATIVES[name] : undefined;
  if (row === undefined) return undefined;
  const vendored = (row.vendored ?? [])
    .map((wanted) => packages.find((one) => one.name === wanted))
    .filter((one) => one !== undefined)
    .map((one) => `${one.name} (${language.importStatement(one.import_names[0]!)}; ${one.use})`);
  const options = [
    row.instead,
    vendored.length > 0 ? `vendored packages: ${vendored.join(', ')}` : undefined,
  ];
  const instead = options.filter((option) => option !== undefined).join('; ');
  return [row.note, instead && `Use instead: ${instead}`].filter(Boolean).join('. ');
}

export const importRules: readonly Rule[] = [
  rule({
    type: 'MissingVendoredPackage',
    evidence: 'ModuleNotFoundError for a vendored package: the program removed it from the import path.',
    docs: [DOCS.packages],
    match: (input) => {
      const name = missingModule(input);
      if (name === undefined || (name.includes('.') && input.error!.on_path === true)) return undefined;
      return vendoredPackage(input, name) && topLevel(name);
    },
    advise: (name, input) => ({
      guidance:
        input.error!.on_path === true
          ? [
              `Package '${name}' is missing from this installation of the sandbox`,
              'Run "llm-wasm-sandbox doctor" to see what is missing, then rebuild',
            ]
          : [
              `Package '${name}' is pre-installed but requires sys.path configuration`,
              "Add at start of code: import sys; sys.path.insert(0, '/data/site-packages')",
              `Then import normally: import ${name}`,
              'Note: In MCP server, sys.path is auto-configured - this error should not occur',
              /\bsys\.path\b/.test(input.source.slice(0, SOURCE_MAX))
                ? "The program changes sys.path: keep '/data/site-packages' in it"
                : undefined,
            ],
    }),
  }),
  rule({
    type: 'WrongImportName',
    evidence:
      'ModuleNotFoundError or ImportError: the package has another import name, or the module lacks the imported name.',
    docs: [DOCS.packages],
    match: (input) => {
      const name = missingModule(input);
      if (name === undefined) return builtinException(input, 'ImportError') && { vendored: undefined };
      const vendored = name.includes('.') ? undefined : packageByOtherName(name, input.packages);
      const isSubmodule = name.includes('.') && input.error!.message.startsWith(`No module named '${name}'`);
      return vendored !== undefined || isSubmodule ? { vendored } : undefined;
    },
    advise: ({ vendored }, input) => {
      const location = failedAt(input);
      if (vendored !== undefined) {
        const statement = input.language.importStatement(vendored.import_names[0]!);
        return {
          guidance: [`The package ${vendored.name} is vendored under another name: ${statement}`, location],
          examples: [statement],
        };
      }
      const { attribute, name } = input.error!;
      return {
        guidance: [
          attribute === undefined
            ? `The module '${oneLine(name ?? '')}' does not exist in its package`
            : `The module '${oneLine(name ?? '')}' has no '${attribute}'`,
          'Check the spelling and the version: print(dir(module)) lists the names in a module',
          location,
        ],
      };
    },
  }),
  unsupportedFeatureRule({
    evidence:
      'The program needs a feature that the sandbox does not have: threads, processes, sockets, native libraries, a display.',
    match: missingFeature,
  }),
  packageNotAvailableRule({
    evidence: 'ModuleNotFoundError for a package that is not vendored.',
    match: (input) => {
      const module = missingModule(input);
      return module && topLevel(module);
    },
    alternatives,
    moduleFiles: (name) => [`${name}.py`, `${name}/__init__.py`],
    importFile: (path) => `import ${path.replace(/(?:\/__init__)?\.py$/, '').replaceAll('/', '.')}`,
  }),
];
