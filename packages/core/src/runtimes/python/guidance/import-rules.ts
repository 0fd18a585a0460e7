/** Rules for modules and features that do not exist. They rely on the class of the exception and the module it names. */
import { type AnalysisInput, availablePackage } from '../../../analysis/input.ts';
import { failedAt, failedStatement, messageMatch, oneLine } from '../../../analysis/quote-guest-text.ts';
import type { AdviceLine, GuidanceReader } from '../../../analysis/reader.ts';
import { DOCS, type Rule, rule } from '../../../analysis/rule.ts';
import {
  describeAlternative,
  findAlternative,
  type MissingFeature,
  packageByOtherName,
  packageNotAvailableRule,
  unsupportedFeatureRule,
} from '../../../analysis/rules/rule-factories.ts';
import { noToolsRule } from '../../../analysis/rules/tool-rules.ts';
import { failedSystemCall } from '../../../analysis/system-error-code.ts';
import { PYTHON_PACKAGES, type VendoredPackage } from '../../../packages/vendored-package-table.ts';
import {
  ALTERNATIVES,
  commandSubstitute,
  deadlockAdvice,
  MISSING_ATTRIBUTES,
  NO_BUILD,
  STANDARD_MODULES,
  UNSUPPORTED_MODULES,
} from './advice.ts';
import { builtinException, moduleException } from './match-exception.ts';
import { failedCommands, INSTALLERS, NETWORK_PROGRAMS } from './shell-commands.ts';
import { chartCalls } from './translate-plot-calls.ts';

const topLevel = (module: string) => module.split('.')[0]!;

function missingModule(input: AnalysisInput): string | undefined {
  const name = builtinException(input, 'ModuleNotFoundError')?.name;
  return typeof name === 'string' && name !== '' ? name : undefined;
}

/** The vendored package that the program imports and that requires a package with native code. */
function userOf(needed: string, source: string): VendoredPackage | undefined {
  const text = source;
  return PYTHON_PACKAGES.find(
    ({ needs, import_names }) =>
      needs?.includes(needed.toLowerCase()) === true &&
      import_names.some((name) => new RegExp(`^[ \\t]*(?:import|from) ${name}\\b`, 'm').test(text)),
  );
}

/** Packages that draw, by top-level import name. */
const PLOT_PACKAGES: ReadonlySet<string> = new Set(['matplotlib', 'seaborn', 'plotly', 'bokeh']);

/** The package that plots of pandas require and do not find. */
const missingPlots = (input: AnalysisInput) =>
  builtinException(input, 'ImportError')?.message.startsWith('matplotlib is required for plotting') === true
    ? 'matplotlib'
    : undefined;

const ENDLESS_WAIT = /^deadlock: /;

/** A wait that no other thread can end. Threads take turns, and all that could end it wait as well. */
const endlessWait = (input: AnalysisInput): MissingFeature => ({
  what: 'threads that run at the same time. The wait can never end: every other thread has ended or waits as well',
  instead: [
    deadlockAdvice(failedStatement(input)) ??
      'call the function that sets the event or the result before the line that waits for it',
    'start the threads that set the event or add the items before the line that waits, and wait in plain functions, not in the key of a sort or in an iterator',
  ],
});
const NETWORK: MissingFeature = {
  what: 'network access',
  instead: 'fetch the data outside the sandbox, pass it with the files option, and read it from /app',
  enabledBy: 'network',
};
const SOCKETS: MissingFeature = {
  what: 'sockets',
  instead: 'send HTTP requests with urllib.request, http.client, requests, urllib3, httpx or aiohttp',
};
/** Modules whose exceptions mean that there is no network. */
const NETWORK_MODULES = [
  'socket',
  'urllib.error',
  'http.client',
  'ssl',
  'requests.exceptions',
  'urllib3.exceptions',
];
const FOREIGN_CALLS: MissingFeature = {
  what: 'calls between Python and C functions through ctypes',
  instead: 'write the code in Python; copy and fill memory with slices of a bytearray, memoryview or array',
};
/** ctypes reports the refusal of a call as an error of its own if it has released the interpreter for the call. */
const REFUSED_CALL = /^<CFunctionType object at 0x[0-9a-f]+> returned a result with an exception set$/;
const REFUSED_CALLBACK = /^ffi_prep_closure failed/;
const MAPPED_FILES: MissingFeature = {
  what: 'memory-mapped files',
  instead: 'read the file with read(), or a part of it with seek() and read(size)',
};
/** Formats of images that builds of Pillow may lack, as its messages and file names write them. */
const IMAGE_FORMAT = /\b(webp|avif)\b/i;

/** A format that Pillow does not know although programs use it: the build has no codec for it. */
function missingCodec(input: AnalysisInput): MissingFeature | undefined {
  const statement = failedStatement(input);
  const [unknown, unreadable] = [
    messageMatch(builtinException(input, 'ValueError'), /^unknown file extension: \.(\w{1,10})$/) ??
      (/\.save\(/.test(statement) ? builtinException(input, 'KeyError')?.key : undefined),
    moduleException(input, 'PIL')?.type === 'UnidentifiedImageError' ? statement : undefined,
  ];
  const format = IMAGE_FORMAT.exec(unknown ?? unreadable ?? '')?.[1];
  if (format === undefined || !/\bPIL\b/.test(input.source)) return undefined;
  return {
    what: `the codec for ${format.toUpperCase()} images in this build of Pillow`,
    instead:
      unreadable === undefined
        ? 'save the image as PNG or JPEG'
        : 'convert the image to PNG or JPEG outside the sandbox',
  };
}

function missingFeature(input: AnalysisInput): MissingFeature | undefined {
  const codec = missingCodec(input);
  if (codec !== undefined) return codec;
  const module = topLevel(missingModule(input) ?? '');
  const unsupported = UNSUPPORTED_MODULES.get(module);
  if (unsupported !== undefined) return unsupported;
  const runtimeError = builtinException(input, 'RuntimeError')?.message ?? '';
  if (ENDLESS_WAIT.test(runtimeError)) return endlessWait(input);
  if (REFUSED_CALLBACK.test(runtimeError)) return FOREIGN_CALLS;
  if (REFUSED_CALL.test(builtinException(input, 'SystemError')?.message ?? '')) return FOREIGN_CALLS;
  // Programs that may send requests get the errors of the network, which speak for themselves.
  const hasNetwork = input.requests !== undefined;
  if (moduleException(input, ...NETWORK_MODULES)) return hasNetwork ? undefined : NETWORK;
  if (moduleException(input, 'subprocess')?.type === 'CalledProcessError') {
    const commands = failedCommands(input);
    if (commands.some(isInstaller)) return missingCommands(input);
    if (!hasNetwork && commands.some(({ name }) => name === 'curl')) return NETWORK;
  }
  const attribute = builtinException(input, 'AttributeError');
  if (attribute !== undefined) {
    const { module_name: owner = '', name } = attribute;
    if (owner === 'socket') return hasNetwork ? SOCKETS : NETWORK;
    return MISSING_ATTRIBUTES.find((row) => row.module === owner && row.names.includes(name ?? ''));
  }
  return missingSystemCall(input);
}

function missingSystemCall(input: AnalysisInput): MissingFeature | undefined {
  const error = builtinException(
    input,
    'OSError',
    'FileNotFoundError',
    'PermissionError',
    'ConnectionError',
    'NotImplementedError',
  );
  if (error === undefined) return undefined;
  const code = failedSystemCall(input);
  if (code === 'EAFNOSUPPORT' || code === 'ENETUNREACH' || code === 'ENOTCONN')
    return input.requests === undefined ? NETWORK : SOCKETS;
  if (code === 'ENOENT') return isMissingProgram(input) ? missingCommands(input) : undefined;
  if (code === 'EBADF' && /\bmmap\(/.test(failedStatement(input))) return MAPPED_FILES;
  if (code === 'ENOSYS' || code === 'EOPNOTSUPP') return { what: 'this system call' };
  if (code === 'EPERM' && error.path == null && error.type === 'PermissionError')
    return missingCommands(input);
  if (/^This Python build lacks multiprocessing/.test(error.message))
    return UNSUPPORTED_MODULES.get('_multiprocessing');
  return error.message === 'ctypes cannot call C functions in the sandbox' ? FOREIGN_CALLS : undefined;
}

/** Whether a program that does not exist was to be started. */
export function isMissingProgram(failure: Pick<AnalysisInput, 'source' | 'error'>): boolean {
  const { type, module, path } = failure.error ?? {};
  if (type !== 'FileNotFoundError' || module !== 'builtins') return false;
  const name = path?.slice(path.lastIndexOf('/') + 1).toLowerCase();
  return failedCommands(failure).some((command) => command.name === name);
}

const isInstaller = ({ name }: { readonly name: string }) => INSTALLERS.has(name);

/** The processes that the failed statement would have started, with what does the same job in Python. */
function missingCommands(input: AnalysisInput): MissingFeature {
  const commands = failedCommands(input);
  const names = [...new Set(commands.map(({ name }) => name))];
  const list = names.map((name) => `'${oneLine(name, 40)}'`).join(', ');
  const installer = commands.find(isInstaller);
  if (installer !== undefined)
    return {
      what: `package installation (${list})`,
      instead: installationAdvice(installer.words, input),
      enabledBy: 'packages',
    };
  if (names.some((name) => NETWORK_PROGRAMS.has(name)))
    return { ...NETWORK, what: `network access (${list})` };
  const substitutes = names.map((name) => commandSubstitute(name));
  return {
    what: list === '' ? 'these processes' : `the program ${list}`,
    instead: substitutes.length > 0 ? substitutes : 'do the work in Python with its standard library',
  };
}

/** The parser that Beautiful Soup was asked for and does not find. */
const missingParser = (input: AnalysisInput) => {
  const error = moduleException(input, 'bs4', 'bs4.exceptions');
  return error?.type === 'FeatureNotFound'
    ? oneLine(messageMatch(error, /features you requested: ([^.]{1,60})/) ?? '', 60)
    : undefined;
};

/** Which of the missing packages the operator can add, and which nobody can. */
function installationLines(names: readonly string[], input: AnalysisInput): AdviceLine[] {
  const useful = names.filter((name) => !needsMissingFeature(name, input));
  const addable = useful.flatMap((name) => input.addablePackage(name) ?? []);
  const users = addable.flatMap((name) => userOf(name, input.source) ?? []);
  const added = [...new Set([...addable, ...users.flatMap(({ needs }) => needs!)])].join(' ');
  const unbuilt = useful.filter((name) => input.addablePackage(name) === undefined && NO_BUILD.has(name));
  const isOne = names.length === 1 && users.length === 0;
  return [
    ...[...new Set(users)].map((user) => `${user.name} requires ${user.needs!.join(', ')}`),
    ...(added === ''
      ? []
      : [
          ({ isOperator }: GuidanceReader) =>
            `${isOperator ? 'Add' : 'Only the operator of the sandbox can add'} ${isOne ? 'it' : added.replaceAll(' ', ', ')}, with: llm-wasm-sandbox packages add ${added}`,
        ]),
    ...unbuilt.map((name) => `No build of '${name}' exists for the sandbox`),
  ];
}

/** Names that newer versions of Python have in another module, by module. */
const MOVED: Readonly<Record<string, readonly [RegExp, string]>> = {
  collections: [
    /^(?:Async)?(?:Mutable)?(?:Awaitable|ByteString|Callable|Collection|Container|Coroutine|Generator|Hashable|ItemsView|Iterable|Iterator|KeysView|Mapping|MappingView|Reversible|Sequence|Set|Sized|ValuesView)$/,
    'collections.abc',
  ],
  fractions: [/^gcd$/, 'math'],
  asyncio: [/^coroutine$/, 'types'],
};

function movedName(module: string | null | undefined, name: string | null | undefined): string | undefined {
  if (module == null || name == null || !Object.hasOwn(MOVED, module)) return undefined;
  const [names, home] = MOVED[module]!;
  return names.test(name) ? `Write: from ${home} import ${name}` : undefined;
}

const PACKAGE = /^([A-Za-z][\w-]{0,40})(?:\[[\w,-]{0,60}\])?(?:[=<>~!].{0,40})?$/;
const MAX_PACKAGES = 6;

export const alternative = (name: string, input: AnalysisInput) =>
  describeAlternative(findAlternative(ALTERNATIVES, name, input), input);

/** Whether a package would be of no use if it were added, because it needs a network, a server or the host. */
const needsMissingFeature = (name: string, input: AnalysisInput): boolean =>
  findAlternative(ALTERNATIVES, name, input)?.note !== undefined;

/** Advice for the arguments of an installer: `install`, options and packages. */
export function installationAdvice(words: readonly string[], input: AnalysisInput): string[] {
  const names = words
    .filter((word) => word !== 'install')
    .map((word) => PACKAGE.exec(word)?.[1])
    .filter((name) => name !== undefined)
    .slice(0, MAX_PACKAGES);
  return [
    'import the installed packages directly; they need no installation',
    ...names.flatMap((name) => {
      const installed = packageByOtherName(name, input.packages);
      if (installed !== undefined)
        return [`for '${name}': ${input.language.importStatement(installed.import_names[0]!)}`];
      const line = alternative(name, input);
      const addable = needsMissingFeature(name, input) ? undefined : input.addablePackage(name);
      return [
        ...(line === undefined ? [] : [`for '${name}': ${line.replace(/^Use instead: /, '')}`]),
        ...(addable === undefined
          ? []
          : [
              `for '${name}': the operator of the sandbox can add it, with: llm-wasm-sandbox packages add ${addable}`,
            ]),
      ];
    }),
  ];
}

export const importRules: readonly Rule[] = [
  noToolsRule({
    evidence: 'NameError or ModuleNotFoundError for `tools` or one of its functions, in a run without tools.',
    missingName: (input) => missingModule(input) ?? builtinException(input, 'NameError')?.name ?? undefined,
  }),
  rule({
    type: 'MissingVendoredPackage',
    evidence: 'ModuleNotFoundError for an installed package: the program removed it from the import path.',
    docs: [DOCS.packages],
    match: (input) => {
      const name = missingModule(input);
      if (name === undefined || (name.includes('.') && input.error!.on_path === true)) return undefined;
      return availablePackage(input, name) && topLevel(name);
    },
    advise: (name, input) => ({
      guidance:
        input.error!.on_path === true
          ? [
              `Package '${name}' is missing from this installation of the sandbox`,
              input.packagesProblem ?? 'Run "llm-wasm-sandbox doctor" to see what is missing, then rebuild',
            ]
          : [
              `Package '${name}' is pre-installed but requires sys.path configuration`,
              "Add at start of code: import sys; sys.path.insert(0, '/data/site-packages')",
              `Then import normally: import ${name}`,
              'Note: In MCP server, sys.path is auto-configured - this error should not occur',
              /\bsys\.path\b/.test(input.source)
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
      if (name === undefined)
        return missingPlots(input) === undefined
          ? builtinException(input, 'ImportError') && { installed: undefined }
          : undefined;
      const installed = name.includes('.') ? undefined : packageByOtherName(name, input.packages);
      const isSubmodule = name.includes('.') && input.error!.message.startsWith(`No module named '${name}'`);
      return installed !== undefined || isSubmodule ? { installed } : undefined;
    },
    advise: ({ installed }, input) => {
      const location = failedAt(input);
      if (installed !== undefined) {
        const statement = input.language.importStatement(installed.import_names[0]!);
        return {
          guidance: [`The package ${installed.name} is installed under another name: ${statement}`, location],
          examples: [statement],
        };
      }
      const { attribute, name } = input.error!;
      return {
        guidance: [
          attribute === undefined
            ? `The module '${oneLine(name ?? '')}' does not exist in its package`
            : `The module '${oneLine(name ?? '')}' has no '${attribute}'`,
          movedName(name, attribute) ??
            'Check the spelling and the version: print(dir(module)) lists the names in a module',
          location,
        ],
      };
    },
  }),
  rule({
    type: 'PackageNotAvailable',
    evidence: 'A program requested a Beautiful Soup parser whose package is not installed.',
    docs: [DOCS.packages],
    match: missingParser,
    advise: (parser, input) => ({
      message: `FeatureNotFound: Beautiful Soup has no parser '${parser}'`,
      guidance: [
        input.capabilities.addsPackages
          ? `The parser '${parser}' is not available. An import of its package, such as import lxml, adds it if it is known`
          : `The parser '${parser}' is not available, and programs cannot install packages`,
        /xml$/.test(parser) && parser !== 'lxml'
          ? 'For XML use xml.etree.ElementTree'
          : "Use instead: BeautifulSoup(html, 'html.parser'), or 'html5lib' to parse like a browser",
        failedAt(input),
      ],
      examples: /xml$/.test(parser) && parser !== 'lxml' ? undefined : ["BeautifulSoup(html, 'html.parser')"],
    }),
  }),
  unsupportedFeatureRule({
    evidence:
      'The program needs a feature that the sandbox does not have, such as threads, processes, sockets, native libraries or a display.',
    match: missingFeature,
  }),
  packageNotAvailableRule({
    evidence: 'ModuleNotFoundError for a package that is not installed.',
    match: (input) => {
      const module = missingModule(input) ?? missingPlots(input);
      return module && topLevel(module);
    },
    alternative,
    known: ({ packages }) => [
      ...STANDARD_MODULES,
      ...packages.flatMap(({ import_names }) => import_names),
      ...ALTERNATIVES.keys(),
    ],
    exists: (name, { addablePackage }) =>
      ALTERNATIVES.has(name) || NO_BUILD.has(name) || addablePackage(name) !== undefined,
    substitutes: (name, { source }) => (PLOT_PACKAGES.has(name) ? chartCalls(source) : []),
    installation: installationLines,
    installed: ({ capabilities }) => capabilities.addsPackages,
    moduleFiles: (name) => [`${name}.py`, `${name}/__init__.py`],
    hint: 'If it is your own module, write its file to /app first or pass it with the files option',
    importFile: (path) => `import ${path.replace(/(?:\/__init__)?\.py$/, '').replaceAll('/', '.')}`,
  }),
];
