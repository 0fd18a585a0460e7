/** The tables of advice for JavaScript, which advice.json contains. */
import { adviceByPattern, keysByName, rowsByName } from '../../../analysis/advice-tables.ts';
import type { Alternative } from '../../../analysis/rules/rule-factories.ts';
import tables from './advice.json' with { type: 'json' };

interface Named {
  readonly names: string;
}

export interface MissingGlobal {
  /** The host or feature that provides the name. */
  readonly needs: string;
  readonly instead?: string;
}

/** npm packages that programs import and the sandbox does not have, with alternatives. */
export const ALTERNATIVES = rowsByName(tables.alternatives as readonly (Alternative & Named)[]);

/** Globals of other JavaScript hosts that programs use and the sandbox does not have. */
export const MISSING_GLOBALS = rowsByName(tables.missing_globals as readonly (MissingGlobal & Named)[]);

/** Missing features by the Node.js module that needs them. */
export const NODE_FEATURES = rowsByName<MissingGlobal>(tables.missing_in_modules);

/** Functions that exist and always fail, by the name in their message. Those of Node.js modules have the row of the module. */
export const FAILING_FUNCTIONS = rowsByName<MissingGlobal>(tables.failing_functions);

/** Packages by the global name under which browser programs know them. */
export const PACKAGE_GLOBALS: ReadonlyMap<string, string> = new Map(Object.entries(tables.package_globals));

/** Methods of other languages, with what JavaScript has instead. */
export const METHODS: ReadonlyMap<string, string> = new Map(Object.entries(tables.methods));

/** What functions of the modules `os` and `std` return. */
export const RETURNS = keysByName(tables.returns);

/** Advice by the message of a TypeError. */
export const typeErrorAdvice = adviceByPattern(tables.type_errors);

/** Advice by the message of an error about an invalid value. */
export const valueErrorAdvice = adviceByPattern(tables.value_errors);

/** Advice by the message of a SyntaxError. */
export const syntaxErrorAdvice = adviceByPattern(tables.syntax_errors);

/** What the first token that JSON.parse rejects says about the text. */
export const jsonErrorAdvice = adviceByPattern(tables.json_errors);

/** Advice for values that are not text, by the text that JSON.parse converts them to. */
export const jsonValueAdvice = adviceByPattern(tables.json_values);
