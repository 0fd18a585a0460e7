/** The module `sqlite`: databases in files and in memory. SQLite itself is a library of the guest; see loadSqlite. */
import { host } from '../host-calls.js';
import {
  checkOptions,
  checkType,
  constructError,
  databasePath,
  option,
  stateError,
  typeError,
  unavailable,
  valueError,
} from './internal/sqlite-arguments.js';

const sqlite = host.loadSqlite();
if (sqlite === undefined) throw new RangeError('There is not enough memory to load SQLite');

const OPEN = { readOnly: 1, readWrite: 2, create: 4, uri: 0x40 };
const CONFIGURATION = { foreignKeys: 1002, defensive: 1010, quotedInStatements: 1013, quotedInSchema: 1014 };
const FUNCTION = { deterministic: 0x800, directOnly: 0x80000 };
const PERSISTENT = 1;
const READ_BIGINTS = 1;
const RETURN_ARRAYS = 2;
const NO_SESSIONS = 'Compare tables with SQL, such as EXCEPT, or record changes with triggers.';
const NO_EXTENSIONS = 'Define functions with database.function() and database.aggregate().';
const NO_COPY = "Copy a database with SQL: VACUUM INTO 'copy.db'.";
/** What to use instead of the members of a database that throw. */
const REFUSED = {
  applyChangeset: NO_SESSIONS,
  createSession: NO_SESSIONS,
  createTagStore: 'Use prepare, and keep the statement.',
  deserialize: NO_COPY,
  enableLoadExtension: NO_EXTENSIONS,
  loadExtension: NO_EXTENSIONS,
  serialize: NO_COPY,
  setAuthorizer: 'Open the database with the option readOnly, or check the text of a statement.',
};
/** Passed to constructors that programs cannot call. */
const INTERNAL = Symbol('internal');

function checkInternal(key) {
  if (key !== INTERNAL) throw constructError('Illegal constructor', 'ERR_ILLEGAL_CONSTRUCTOR');
}

const STATEMENT_OPTIONS = [
  'readBigInts',
  'returnArrays',
  'allowBareNamedParameters',
  'allowUnknownNamedParameters',
];
const readStatementOptions = (options, defaults) =>
  Object.fromEntries(
    STATEMENT_OPTIONS.map((name) => [name, option(options, name, 'boolean', defaults[name])]),
  );

const isShared = (value) => value instanceof SharedArrayBuffer;
/** A value in a form that the functions of SQLite know: they read neither views of other kinds nor shared memory. */
function asBytes(value) {
  if (isShared(value)) return new Uint8Array(value).slice();
  if (!ArrayBuffer.isView(value) || (value instanceof Uint8Array && !isShared(value.buffer))) return value;
  const bytes = new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  return isShared(value.buffer) ? bytes.slice() : bytes;
}

const isView = (value) => ArrayBuffer.isView(value) || value instanceof ArrayBuffer || isShared(value);
/** Whether a value has the values of named parameters. */
const isNamed = (value) => typeof value === 'object' && value !== null && !isView(value);

class StatementSyncIterator {
  #advance;
  #end;

  constructor(key, advance, end) {
    checkInternal(key);
    this.#advance = advance;
    this.#end = end;
  }

  next() {
    return this.#advance();
  }

  return() {
    return this.#end();
  }
}
Object.setPrototypeOf(StatementSyncIterator.prototype, Iterator.prototype);

/** The connection of a database. */
let connectionOf;

class StatementSync {
  #database;
  #statement;
  #options;
  #parameters;
  #bareNames;
  /** Whether getters of bound objects run. */
  #isBinding = false;
  /** Changes whenever the statement starts again, which ends iterators. */
  #generation = 0;

  constructor(key, database, statement, options) {
    checkInternal(key);
    this.#database = database;
    this.#statement = statement;
    this.#options = options;
  }

  #check() {
    if (sqlite.isFinalized(this.#statement)) throw stateError('statement has been finalized');
    if (this.#isBinding) throw stateError('statement is already being executed');
  }

  get #flags() {
    const { readBigInts, returnArrays } = this.#options;
    return (readBigInts ? READ_BIGINTS : 0) | (returnArrays ? RETURN_ARRAYS : 0);
  }

  /** Starts the statement with values: an object with named ones may be first. */
  #begin(values) {
    this.#check();
    sqlite.reset(this.#statement, true);
    this.#generation++;
    this.#isBinding = true;
    try {
      this.#parameters ??= sqlite.parameters(this.#statement);
      this.#bindAll(values);
    } finally {
      this.#isBinding = false;
    }
  }

  #bindAll(values) {
    const first = isNamed(values[0]) ? 1 : 0;
    if (first === 1) this.#bindNamed(values[0]);
    const isAnonymous = (index) => (this.#parameters[index - 1] ?? '?')[0] === '?';
    let index = 1;
    for (let i = first; i < values.length; i++) {
      while (!isAnonymous(index)) index++;
      this.#bind(index++, values[i]);
    }
  }

  #bindNamed(values) {
    for (const name of Object.keys(values)) {
      let index = this.#parameters.indexOf(name) + 1;
      if (index === 0 && this.#options.allowBareNamedParameters) index = this.#findBareName(name);
      if (index > 0) this.#bind(index, values[name]);
      else if (!this.#options.allowUnknownNamedParameters)
        throw stateError(`Unknown named parameter '${name}'`);
    }
    if (this.#options.allowBareNamedParameters) this.#findBareName('');
  }

  /** The index of the parameter with a name without its prefix, or 0. */
  #findBareName(name) {
    if (this.#bareNames === undefined) {
      const found = new Map();
      this.#parameters.forEach((full, i) => {
        if (full === null || full[0] === '?') return;
        const bare = full.slice(1);
        const before = found.get(bare);
        if (before !== undefined && this.#parameters[before - 1] !== full)
          throw stateError(
            `Cannot create bare named parameter '${bare}' because of conflicting names ` +
              `'${this.#parameters[before - 1]}' and '${full}'.`,
          );
        found.set(bare, i + 1);
      });
      this.#bareNames = found;
    }
    return this.#bareNames.get(name) ?? 0;
  }

  #bind(index, value) {
    const isBound = sqlite.bind(this.#statement, index, asBytes(value));
    if (isBound === null) throw valueError('BigInt value is too large to bind.');
    if (!isBound) throw typeError(`Provided value cannot be bound to SQLite parameter ${index}.`);
  }

  all(...values) {
    this.#begin(values);
    const flags = this.#flags;
    const rows = [];
    for (;;) {
      const row = sqlite.step(this.#statement, flags);
      if (row === undefined) return rows;
      rows.push(row);
    }
  }

  get(...values) {
    this.#begin(values);
    const row = sqlite.step(this.#statement, this.#flags);
    if (row !== undefined) sqlite.reset(this.#statement, false);
    return row;
  }

  run(...values) {
    this.#begin(values);
    while (sqlite.step(this.#statement, READ_BIGINTS) !== undefined);
    const bigints = this.#options.readBigInts ? READ_BIGINTS : 0;
    const [changes, lastInsertRowid] = sqlite.changes(connectionOf(this.#database), bigints);
    return { changes, lastInsertRowid };
  }

  iterate(...values) {
    this.#begin(values);
    const generation = this.#generation;
    let isDone = false;
    const end = () => {
      isDone = true;
      return { __proto__: null, done: true, value: null };
    };
    const advance = () => {
      if (sqlite.isFinalized(this.#statement)) throw stateError('statement has been finalized');
      if (isDone) return end();
      if (generation !== this.#generation) throw stateError('iterator was invalidated');
      const value = sqlite.step(this.#statement, this.#flags);
      return value === undefined ? end() : { __proto__: null, done: false, value };
    };
    return new StatementSyncIterator(INTERNAL, advance, () => {
      this.#check();
      if (!isDone && generation === this.#generation) sqlite.reset(this.#statement, false);
      return end();
    });
  }

  columns() {
    this.#check();
    return sqlite.columns(this.#statement);
  }

  get sourceSQL() {
    return sqlite.source(this.#statement, false);
  }

  get expandedSQL() {
    return sqlite.source(this.#statement, true);
  }

  #set(name, value, argument = name) {
    this.#check();
    this.#options[name] = checkType(value, 'boolean', argument);
  }

  setReadBigInts(enabled) {
    this.#set('readBigInts', enabled);
  }

  setReturnArrays(enabled) {
    this.#set('returnArrays', enabled);
  }

  setAllowBareNamedParameters(enabled) {
    this.#set('allowBareNamedParameters', enabled);
  }

  setAllowUnknownNamedParameters(enabled) {
    this.#set('allowUnknownNamedParameters', enabled, 'enabled');
  }

  close() {
    this.#check();
    sqlite.finalize(this.#statement);
  }

  [Symbol.dispose]() {
    if (!sqlite.isFinalized(this.#statement)) this.close();
  }
}

/** Sessions record changes; the library is built without them. */
class Session {
  constructor() {
    throw constructError('Illegal constructor', 'ERR_ILLEGAL_CONSTRUCTOR');
  }
}

function readOpenOptions(options) {
  const read = (name, fallback) => option(options, name, 'boolean', fallback);
  const opened = {
    open: read('open', true),
    readOnly: read('readOnly', false),
    foreignKeys: read('enableForeignKeyConstraints', true),
    quotes: read('enableDoubleQuotedStringLiterals', false),
    allowExtension: read('allowExtension', false),
    timeout: option(options, 'timeout', 'integer', 0),
    statements: readStatementOptions(options, {
      readBigInts: false,
      returnArrays: false,
      allowBareNamedParameters: true,
      allowUnknownNamedParameters: false,
    }),
    defensive: read('defensive', true),
  };
  if (opened.allowExtension) throw unavailable('allowExtension', NO_EXTENSIONS);
  if (options.limits !== undefined) throw unavailable('limits', 'The limits of the sandbox hold.');
  return opened;
}

class Database {
  #path;
  #settings;
  #connection;

  constructor(path, options) {
    this.#path = databasePath(path);
    this.#settings = readOpenOptions(checkOptions(options));
    if (this.#settings.open) this.open();
  }

  static {
    connectionOf = (database) => {
      if (database.#connection === undefined) throw stateError('database is not open');
      return database.#connection;
    };
  }

  open() {
    if (this.#connection !== undefined) throw stateError('database is already open');
    const { readOnly, foreignKeys, quotes, timeout, defensive } = this.#settings;
    const mode = readOnly ? OPEN.readOnly : OPEN.readWrite | OPEN.create;
    const connection = sqlite.open(this.#path, mode | OPEN.uri, timeout);
    sqlite.configure(connection, CONFIGURATION.quotedInStatements, quotes ? 1 : 0);
    sqlite.configure(connection, CONFIGURATION.quotedInSchema, quotes ? 1 : 0);
    sqlite.configure(connection, CONFIGURATION.foreignKeys, foreignKeys ? 1 : 0);
    sqlite.configure(connection, CONFIGURATION.defensive, defensive ? 1 : 0);
    this.#connection = connection;
  }

  close() {
    sqlite.close(connectionOf(this));
    this.#connection = undefined;
  }

  [Symbol.dispose]() {
    if (this.#connection !== undefined) this.close();
  }

  get isOpen() {
    return this.#connection !== undefined;
  }

  get isTransaction() {
    return sqlite.inTransaction(connectionOf(this));
  }

  exec(sql) {
    const connection = connectionOf(this);
    sqlite.exec(connection, checkType(sql, 'string', 'sql'));
  }

  prepare(sql, options) {
    const connection = connectionOf(this);
    checkType(sql, 'string', 'sql');
    const given = checkOptions(options);
    const settings = readStatementOptions(given, this.#settings.statements);
    const flags = option(given, 'persistent', 'boolean', false) ? PERSISTENT : 0;
    const statement = sqlite.prepare(connection, sql, flags);
    if (statement === null) throw valueError('The SQL query contains no statements.');
    return new StatementSync(INTERNAL, this, statement, settings);
  }

  location(name = 'main') {
    const connection = connectionOf(this);
    return sqlite.location(connection, checkType(name, 'string', 'dbName'));
  }

  function(name, options, call) {
    const connection = connectionOf(this);
    checkType(name, 'string', 'name');
    const given = call === undefined && typeof options === 'function' ? {} : checkOptions(options);
    const target = given === options ? call : (call ?? options);
    const { bigints, flags, varargs } = functionOptions(given);
    if (typeof target !== 'function') throw typeError('The "function" argument must be a function.');
    const count = varargs ? -1 : checkCount(target.length);
    const wrapped = (...values) => asBytes(target(...values));
    sqlite.define(connection, name, count, flags, bigints, wrapped);
  }

  aggregate(name, options) {
    const connection = connectionOf(this);
    checkType(name, 'string', 'name');
    if (typeof options !== 'object' || options === null)
      throw typeError('The "options" argument must be an object.');
    const { start, step, result, inverse } = options;
    if (start === undefined)
      throw typeError('The "options.start" argument must be a function or a primitive value.');
    checkType(step, 'function', 'options.step');
    const { bigints, flags, varargs } = functionOptions(options);
    if (inverse !== undefined) checkType(inverse, 'function', 'options.inverse');
    // The first parameter is the value so far.
    const length = Math.max(step.length, inverse?.length ?? 0);
    const count = varargs ? -1 : checkCount(Math.max(length - 1, 0));
    const finish = (value) => asBytes(typeof result === 'function' ? result(value) : value);
    sqlite.define(connection, name, count, flags, bigints, undefined, start, step, finish, inverse);
  }

  enableDefensive(active) {
    const connection = connectionOf(this);
    checkType(active, 'boolean', 'active');
    sqlite.configure(connection, CONFIGURATION.defensive, active ? 1 : 0);
  }

  get [Symbol.for('sqlite-type')]() {
    return 'node:sqlite';
  }
}

for (const [name, remedy] of Object.entries(REFUSED))
  Database.prototype[name] = () => {
    throw unavailable(name, remedy);
  };

const MAX_PARAMETERS = 1000;
function checkCount(count) {
  const isNumber = typeof count === 'number' && count >= 0;
  return isNumber ? Math.min(Math.trunc(count), MAX_PARAMETERS + 1) : 0;
}

function functionOptions(options) {
  const read = (name) => option(options, name, 'boolean', false);
  return {
    bigints: read('useBigIntArguments') ? READ_BIGINTS : 0,
    varargs: read('varargs'),
    flags:
      (read('deterministic') ? FUNCTION.deterministic : 0) | (read('directOnly') ? FUNCTION.directOnly : 0),
  };
}

/** A function and not the class itself, because calling it without `new` throws the error of Node.js. */
function DatabaseSync(path, options) {
  if (new.target === undefined)
    throw constructError('Cannot call constructor without `new`', 'ERR_CONSTRUCT_CALL_REQUIRED');
  return Reflect.construct(Database, [path, options], new.target);
}
DatabaseSync.prototype = Database.prototype;
Object.defineProperty(Database.prototype, 'constructor', {
  value: DatabaseSync,
  writable: true,
  configurable: true,
  enumerable: false,
});

function backup() {
  throw unavailable('backup', NO_COPY);
}

/** The constants of Node.js belong to functions that are not available. */
export default { DatabaseSync, StatementSync, Session, constants: {}, backup };
