/** The tables of advice for Python, which advice.json contains. */
import { adviceByPattern, keysByName, rowsByName } from '../../../analysis/advice-tables.ts';
import type { Alternative, MissingFeature } from '../../../analysis/rules/rule-factories.ts';
import tables from './advice.json' with { type: 'json' };

interface Named {
  readonly names: string;
}

/** What to use instead of packages, by top-level import name. */
export const ALTERNATIVES = rowsByName(tables.alternatives as readonly (Alternative & Named)[]);

/** Modules of the standard library and of other environments that need a missing feature, by top-level import name. */
export const UNSUPPORTED_MODULES = rowsByName(
  tables.unsupported_modules as readonly (MissingFeature & Named)[],
);

/** Attributes that modules have elsewhere and not in the sandbox. */
export const MISSING_ATTRIBUTES = tables.missing_attributes.map(({ names, ...row }) => ({
  ...row,
  names: names.split(' '),
}));

/** Packages with compiled code for which no build for WebAssembly exists, by top-level import name. */
export const NO_BUILD: ReadonlySet<string> = new Set(tables.modules_without_build.split(' '));

/** Modules of the standard library whose names are long enough to be misspelt. */
export const STANDARD_MODULES: readonly string[] = tables.standard_modules.split(' ');

/** Python replacements for command-line programs that the sandbox does not have. */
export const COMMANDS: ReadonlyMap<string, string> = new Map(Object.entries(tables.commands));

/** What to do instead of starting the program, as one line. */
export function commandSubstitute(name: string): string {
  const substitute = COMMANDS.get(name);
  return substitute === undefined
    ? `for '${name.slice(0, 40)}' write Python code, or run the command outside the sandbox and pass its output with the files option`
    : `for '${name}' use ${substitute}`;
}

/** Names of other languages and versions, by type and attribute. */
export const OTHER_NAMES: ReadonlyMap<string, string> = new Map(Object.entries(tables.other_names));

/** The chart for a function of matplotlib, seaborn, plotly.express or of the plots of pandas. */
export const CHARTS = keysByName(tables.charts);

/** The option of `chart` for a keyword argument of a plotting package. */
export const CHART_OPTIONS = keysByName(tables.chart_options);

/** Advice by the message of a TypeError. */
export const typeErrorAdvice = adviceByPattern(tables.type_errors);

/** Advice by the message of a ValueError or a similar exception. */
export const valueErrorAdvice = adviceByPattern(tables.value_errors);

/** Advice by the message of an exception of sqlite3. */
export const databaseAdvice = adviceByPattern(tables.database_errors);

/** What to do instead of waiting for another thread, by the statement that waits. */
export const deadlockAdvice = adviceByPattern(tables.deadlocks);
