/** The text and the arguments of the tool `execute_code`, for the MCP server and the adapters. */
import * as z from 'zod';
import { LANGUAGES } from '../runtimes/registry/languages.ts';
import type { Abilities } from '../schema/capabilities.ts';
import type { RuntimeName } from '../schema.ts';
import { formatList, languageLine, missingPackagesText, type PackageSettings } from './language-text.ts';

const MAX_CODE_CHARS = 1_000_000;

interface DescribedExecution {
  /** Titles of the languages, as in "Python or JavaScript". */
  readonly titles: string;
  readonly runtimes: readonly RuntimeName[];
  readonly settings: PackageSettings;
  readonly capabilities: Abilities;
  /** How programs call tools; empty if there are none. */
  readonly toolText?: string;
  /** How calls are made and what they keep. */
  readonly usage: string;
  /** Further lines about frequent mistakes. */
  readonly pitfalls?: readonly string[];
  readonly limits: string;
  /** Whether results explain failures; true by default. */
  readonly explainsFailures?: boolean;
}

export function executeDescription(described: DescribedExecution): string {
  const { titles, runtimes, settings, capabilities, toolText = '', usage, pitfalls = [], limits } = described;
  const explanation = described.explainsFailures === false ? '' : ' and, on failure, steps to fix it';
  const lines = [...runtimes.flatMap((name) => LANGUAGES[name].pitfalls), ...pitfalls];
  return `Execute ${titles} code (a program, script, function or snippet) in an isolated sandbox; returns output, exit code, changed files${explanation}.

${EXECUTE_CODE_PURPOSE} ${abilities(capabilities)}${runtimes.map((name) => missingPackagesText(settings, name)).join('')}

${toolText}${runtimes.map((name) => languageLine(settings, name)).join('\n')}

${usage}

Pitfalls
${lines.map((line) => `- ${line}`).join('\n')}

Limits: ${limits}.`;
}

/** What running code is for, and what it is not for. */
const EXECUTE_CODE_PURPOSE =
  'Use it to calculate numbers, sums and averages, to verify arithmetic, to try out and test functions and regular expressions, to parse, extract, convert, sort, count and transform data, and to read and write CSV, JSON, Excel workbooks, PDF and text files.';
const REQUESTS =
  'Programs can send HTTP requests, but only to URLs that a person has permitted; the error of a refused request names the missing rule. ';
const ADDED_PACKAGES =
  'Known packages of Python, such as numpy, pandas, matplotlib and Pillow, are added when a program imports them. ';

function abilities({ network, addsPackages }: Abilities): string {
  const missing = [!network && 'network requests', !addsPackages && 'installing packages', 'GUIs'].filter(
    (one) => one !== false,
  );
  return `${network ? REQUESTS : ''}${addsPackages ? ADDED_PACKAGES : ''}Not for ${formatList(missing, 'or')}.`;
}

/** The highest limits that a call may request. */
interface RequestLimits {
  readonly max_fuel_budget: number;
  readonly max_timeout_seconds: number;
}

const GENEROUS_FUEL = 20_000_000_000;

/** A fuel budget that is enough for most programs, within the maximum. */
export const suggestedFuelBudget = ({ max_fuel_budget }: Pick<RequestLimits, 'max_fuel_budget'>) =>
  Math.min(GENEROUS_FUEL, max_fuel_budget);

/** The arguments `fuel_budget` and `timeout_seconds`. `seconds` is an example. */
export const limitInputs = (limits: RequestLimits, scope: string, seconds: number) => ({
  fuel_budget: z
    .number()
    .int()
    .min(1)
    .max(limits.max_fuel_budget)
    .optional()
    .describe(`Maximum number of instructions ${scope}, e.g. ${suggestedFuelBudget(limits)}.`),
  timeout_seconds: z
    .number()
    .positive()
    .max(limits.max_timeout_seconds)
    .optional()
    .describe(`Time limit ${scope} in seconds, e.g. ${Math.min(seconds, limits.max_timeout_seconds)}.`),
});

/** The arguments. `language` is the schema of the languages that the caller may choose. */
export const executeInput = <L extends z.ZodType>(language: L, limits: RequestLimits) =>
  z.strictObject({
    code: z.string().max(MAX_CODE_CHARS).describe('Source code. Show results with print() or display().'),
    language,
    ...limitInputs(limits, 'for this call', 60),
    stdin: z.string().optional().describe('Standard input of the program.'),
    files: z
      .record(z.string(), z.string())
      .optional()
      .describe('Text files to write first, e.g. {"data.csv": "a,b\\n1,2"}.'),
  });
