/** Rules for packages, modules and globals that do not exist, or are not available under that name. */

import { type AnalysisInput, type AvailablePackage, availablePackage } from '../../../analysis/input.ts';
import { failedAt, messageMatch, oneLine } from '../../../analysis/quote-guest-text.ts';
import { DOCS, type Rule, rule } from '../../../analysis/rule.ts';
import { existingFileLine, workspaceListing } from '../../../analysis/rules/file-rules.ts';
import {
  describeAlternative,
  findAlternative,
  type MissingFeature,
  packageByOtherName,
  packageNotAvailableRule,
  unsupportedFeatureRule,
} from '../../../analysis/rules/rule-factories.ts';
import { noToolsRule } from '../../../analysis/rules/tool-rules.ts';
import {
  ALTERNATIVES,
  FAILING_FUNCTIONS,
  MISSING_GLOBALS,
  type MissingGlobal,
  NODE_FEATURES,
  PACKAGE_GLOBALS,
} from './advice.ts';
import { engineError } from './engine-error.ts';

const undefinedName = (input: AnalysisInput) =>
  messageMatch(engineError(input, 'ReferenceError'), /^(\S+) is not defined$/);

/** The module that `import … from 'x'` or `require('x')` asked for. */
function requestedModule(input: AnalysisInput): string | undefined {
  const error = engineError(input, 'ReferenceError', 'Error', 'TypeError', 'SyntaxError');
  return (
    messageMatch(error, /^(?:could not load|Cannot find) module '([^'\n]{1,120})'/) ??
    messageMatch(error, /^No such built-in module: (\S{1,120})$/)
  );
}

/** The path of a module that does not exist. */
function missingModuleFile(input: AnalysisInput): string | undefined {
  const module = requestedModule(input);
  return module !== undefined && /^[./]/.test(module) ? module : undefined;
}

/** The package that `requireVendor` was asked for and does not have. */
const requestedVendor = (input: AnalysisInput) =>
  messageMatch(
    engineError(input, 'Error', 'ReferenceError'),
    /^requireVendor: there is no package '([^'\n]{1,120})'/,
  );

/** The vendored package that the program tried to use, and why that failed. */
function misusedPackage(input: AnalysisInput): { vendored: AvailablePackage; reason: string } | undefined {
  // Without the part of the installation with packages, no other name helps.
  if (input.packagesProblem !== undefined) return undefined;
  const module = requestedModule(input);
  if (module !== undefined) {
    const vendored = availablePackage(input, module) ?? packageByOtherName(module, input.packages);
    return vendored && { vendored, reason: 'Package names are case-sensitive' };
  }
  const name = undefinedName(input);
  if (name === undefined) return undefined;
  const vendored = availablePackage(input, PACKAGE_GLOBALS.get(name) ?? name);
  return vendored && { vendored, reason: 'Packages are not global variables' };
}

const NODE: MissingGlobal = {
  needs: 'this Node.js module',
  instead: 'fs, path, util, events, buffer, assert and stream are available; write the rest in JavaScript',
};
const FUNCTION: MissingGlobal = { needs: 'this function' };

const SOCKETS: MissingGlobal = { needs: 'sockets', instead: 'send HTTP requests with fetch' };

/** Programs that may send requests lack only other connections. */
function describeFeature(name: string, feature: MissingGlobal, hasNetwork: boolean): MissingFeature {
  const isNetwork = feature.needs === 'network access';
  const { needs, instead } = isNetwork && hasNetwork ? SOCKETS : feature;
  return {
    what: `${needs} ('${name}')`,
    instead,
    ...(isNetwork && !hasNetwork && { enabledBy: 'network' }),
  };
}

function missingFeature(input: AnalysisInput): MissingFeature | undefined {
  const describe = (name: string, feature: MissingGlobal) =>
    describeFeature(name, feature, input.requests !== undefined);
  const requested = requestedModule(input);
  const module = requested?.replace(/^node:/, '');
  if (module !== undefined && module !== requested)
    return describe(module, NODE_FEATURES.get(module) ?? NODE);
  const error = engineError(input, 'Error') ?? engineError(input, 'TypeError');
  const api = messageMatch(error, /^([\w.]+) (?:is not available|does not support .{1,80}) in the sandbox/);
  if (api !== undefined)
    return describe(api, NODE_FEATURES.get(api.split('.')[0]!) ?? FAILING_FUNCTIONS.get(api) ?? FUNCTION);
  const name = undefinedName(input);
  const row = name === undefined ? undefined : MISSING_GLOBALS.get(name);
  return row && describe(name!, row);
}

/** What to import instead of a file of a vendored package, such as `lodash/groupBy`. */
function wholePackage(name: string, input: AnalysisInput): string | undefined {
  const root = /^(?:@[^/]+\/)?[^/]+(?=\/)/.exec(name)?.[0];
  if (root === undefined || availablePackage(input, root) === undefined) return undefined;
  return `Import the name from the package instead: ${input.language.importStatement(root)}`;
}

export const importRules: readonly Rule[] = [
  noToolsRule({
    evidence:
      'ReferenceError for `tools` or one of its functions, or an import of `tools`, in a run without tools.',
    missingName: (input) => requestedModule(input) ?? undefinedName(input),
  }),
  rule({
    type: 'MissingRequireVendor',
    evidence: 'A vendored package was imported under the wrong name, or used as a global.',
    docs: [DOCS.packages],
    match: misusedPackage,
    advise: ({ vendored, reason }, input) => {
      const module = vendored.import_names[0]!;
      const statement = input.language.importStatement(module);
      return {
        guidance: [
          `Package '${vendored.name}' is vendored: ${statement}, or call requireVendor('${module}')`,
          reason,
          failedAt(input),
        ],
        examples: [`${statement};`],
      };
    },
  }),
  rule({
    type: 'WrongImportName',
    evidence: 'SyntaxError: the program imports a name that the module does not export.',
    docs: [DOCS.packages],
    match: (input) =>
      /^Could not find export '([^'\n]{1,120})' in module '([^'\n]{1,200})'$/.exec(
        engineError(input, 'SyntaxError')?.message ?? '',
      ) ?? undefined,
    advise: ([, name, module], input) => ({
      guidance: [
        `The module '${oneLine(module!, 120)}' does not export '${oneLine(name!, 80)}'`,
        `console.log(Object.keys(await import('${oneLine(module!, 120)}'))) lists what it exports`,
        failedAt(input),
      ],
    }),
  }),
  rule({
    type: 'FileNotFoundInWorkspace',
    evidence: 'A module that the program imports by its path does not exist.',
    docs: [DOCS.files],
    match: missingModuleFile,
    advise: (path, input) => ({
      guidance: [
        existingFileLine(path, input) ?? `The module '${oneLine(path)}' does not exist`,
        workspaceListing(input),
        "Write the file first or pass it with the files option, and import it by its path: import { f } from './name.js'",
        failedAt(input),
      ],
    }),
  }),
  unsupportedFeatureRule({
    evidence: 'The program uses a Node.js, browser or operating system API that the sandbox does not have.',
    match: missingFeature,
  }),
  packageNotAvailableRule({
    evidence: 'import, require() or requireVendor() of a package that is not vendored.',
    match: (input) => requestedModule(input) ?? requestedVendor(input),
    alternative: (name, input) =>
      (availablePackage(input, name) && input.packagesProblem) ??
      wholePackage(name, input) ??
      describeAlternative(findAlternative(ALTERNATIVES, name, input), input),
    known: ({ packages }) => [
      ...NODE_FEATURES.keys(),
      ...packages.flatMap(({ import_names }) => import_names),
    ],
    exists: (name, input) => ALTERNATIVES.has(name) || availablePackage(input, name) !== undefined,
    moduleFiles: (name) => [`${name}.js`],
    importFile: (path) => `import { f } from './${path}'`,
    hint: "Import your own files by path: import { f } from './name.js'",
  }),
];
