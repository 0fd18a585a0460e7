/**
 * The root causes of the programs in this folder: which types of guidance express a cause, the words by which the
 * guidance names it, and advice that is wrong for every program with this cause.
 */

const MORE_FUEL =
  /fuel_budget\s*=\s*\d|higher fuel budget|raise the (?:limit|budget)|increase (?:the )?budget/i;
const MORE_TIME = /timeout_seconds\s*=\s*\d/i;
const LARGE_DATA = /large dataset/i;
const ENDLESS = /endless|infinite loop|never ends/i;
const INSTALL = /\b(?:run|use|try) (?:pip|npm) install/i;

/** Advice that is wrong for every program. */
export const ALWAYS_FORBIDDEN = [INSTALL, /non-recoverable/i, /\[resource_link\]/, /\bundefined'\s*$/];

const UNSUPPORTED = ['UnsupportedFeature'];

/** By name. `says`: how the guidance names the cause, if its type alone does not. */
export const CAUSES = {
  endless_loop: {
    types: ['OutOfFuel', 'Timeout'],
    says: ENDLESS,
    forbidden: [MORE_FUEL, MORE_TIME, LARGE_DATA],
  },
  exponential_recursion: {
    types: ['OutOfFuel', 'Timeout'],
    says: /exponential|recursi/i,
    forbidden: [MORE_FUEL, MORE_TIME, LARGE_DATA, ENDLESS],
  },
  deep_recursion: { types: ['RecursionLimit'], forbidden: [/setrecursionlimit/, MORE_FUEL, LARGE_DATA] },
  expensive_computation: { types: ['OutOfFuel', 'Timeout'], forbidden: [ENDLESS, /exponential recursion/i] },
  heavy_import: { types: ['OutOfFuel'], says: /import/i, forbidden: [ENDLESS, LARGE_DATA] },
  regex_backtracking: {
    types: ['OutOfFuel', 'Timeout'],
    says: /backtrack|regular expression/i,
    forbidden: [LARGE_DATA],
  },
  waiting: { types: ['Timeout'], says: /wait/i, forbidden: [LARGE_DATA, /faster algorithm/i] },
  memory_limit: { types: ['MemoryExhausted'], forbidden: [MORE_FUEL] },
  output_limit: { types: ['OutputLimit'] },

  wrong_path: { types: ['PathRestriction', 'FileNotFoundInWorkspace'] },
  missing_file: { types: ['FileNotFoundInWorkspace'] },
  missing_folder: { types: ['FileNotFoundInWorkspace'], says: /folder/i, forbidden: [/security error/i] },
  outside_path: { types: ['PathRestriction'] },
  file_conflict: { types: ['FileConflict'] },
  file_mode: { types: ['FileMode'] },
  lost_state: { types: ['UndefinedName'], says: /earlier call/i },

  missing_package: { types: ['PackageNotAvailable'] },
  missing_parser: { types: ['PackageNotAvailable', 'UnsupportedFeature', 'WrongImportName'] },
  missing_module_file: { types: ['FileNotFoundInWorkspace', 'PackageNotAvailable'], says: /does not exist/i },
  wrong_import: { types: ['WrongImportName', 'MissingRequireVendor'] },
  no_installation: { types: UNSUPPORTED, says: /install/i },
  no_processes: { types: UNSUPPORTED, says: /processes|commands?\b/i },
  no_network: { types: [...UNSUPPORTED, 'PackageNotAvailable'], says: /network/i },
  no_threads: { types: UNSUPPORTED, says: /threads/i },
  no_display: { types: UNSUPPORTED, says: /display/i },
  no_browser: { types: UNSUPPORTED, says: /browser/i },
  no_web_crypto: { types: UNSUPPORTED, says: /crypto/i },
  no_webassembly: { types: UNSUPPORTED, says: /WebAssembly/ },
  no_input: { types: ['InputExhausted'] },

  encoding: { types: ['EncodingError'] },
  invalid_json: { types: ['DataShape'], says: /JSON/ },
  invalid_format: { types: ['InvalidFormat'] },
  not_serializable: { types: ['TypeMismatch'] },
  database: { types: ['DatabaseError'] },
  missing_key: { types: ['DataShape'] },
  bad_index: { types: ['DataShape'] },
  unpack: { types: ['DataShape'], says: /values/ },

  none_value: { types: ['MissingAttribute', 'TypeMismatch'], says: /None/ },
  null_value: { types: ['UndefinedValue'] },
  missing_attribute: { types: ['MissingAttribute'] },
  not_a_function: { types: ['NotAFunction'] },
  read_only: { types: ['ReadOnlyValue'] },
  type_mismatch: { types: ['TypeMismatch'] },
  bigint_json: { types: ['TypeMismatch'], says: /BigInt/ },
  wrong_arguments: { types: ['WrongArguments'] },
  missing_await: {
    types: ['AsyncMisuse', 'TypeMismatch', 'NotAFunction', 'UndefinedValue', 'UnsettledPromise'],
    says: /await/,
  },
  async_misuse: { types: ['AsyncMisuse'] },
  unsettled_promise: { types: ['UnsettledPromise'] },
  tuple: { types: ['QuickJSTupleDestructuring'] },
  undefined_name: { types: ['UndefinedName'] },
  invalid_value: { types: ['InvalidValue'] },
  division_by_zero: { types: ['DivisionByZero'] },
  number_too_large: { types: ['NumberTooLarge'] },
  mutation: { types: ['MutationDuringIteration'] },
  regex: { types: ['RegexError'] },
  assertion: { types: ['AssertionFailed'] },
  raised: { types: ['RaisedByProgram'] },
  syntax: { types: ['SyntaxError'] },
  other_language: { types: ['SyntaxError'], says: /looks like/i },
};
