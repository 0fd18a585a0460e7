/** Advice for programs that install packages: the packages that they name, or what to use instead. */
import type { AnalysisInput } from '../../../analysis/input.ts';
import {
  describeAlternative,
  findAlternative,
  packageByOtherName,
} from '../../../analysis/rules/rule-factories.ts';
import { ALTERNATIVES } from './advice.ts';

const PACKAGE = /^([A-Za-z][\w-]{0,40})(?:\[[\w,-]{0,60}\])?(?:[=<>~!].{0,40})?$/;
const MAX_PACKAGES = 6;

export const alternative = (name: string, input: AnalysisInput) =>
  describeAlternative(findAlternative(ALTERNATIVES, name, input), input);

/** Whether a package would be of no use if it were added, because it needs a network, a server or the host. */
export const needsMissingFeature = (name: string, input: AnalysisInput): boolean =>
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
