/** Rules for data that is not what the program expected. They say what was there, as far as the runtime saw it. */
import type { GuestError } from '../../schema.ts';
import { builtin, capture, engineError, fromModule, messageOf } from '../exception.ts';
import type { RunFacts } from '../input.ts';
import { cut, placeOf, statementOf } from '../quote.ts';
import { DOCS, docOf, type Rule, rule } from '../rule.ts';
import { closest } from '../similar-names.ts';

const unquoted = (text: string) => text.replace(/^(['"])(.*)\1$/, '$2');

const UNPACK = /^(not enough|too many) values to unpack/;

const isJsonError = (error: GuestError | undefined) =>
  error !== undefined && (error.thrower === 'parse' || /^\s*at <input>:/.test(error.stack ?? ''));

function shapeError(facts: RunFacts): GuestError | undefined {
  const lookup = builtin(facts, 'KeyError', 'IndexError', 'StopIteration');
  if (lookup !== undefined) return lookup;
  const values = builtin(facts, 'ValueError');
  if (values !== undefined && UNPACK.test(values.message)) return values;
  const json = fromModule(facts, 'json.decoder');
  if (json !== undefined) return json;
  const parsed = engineError(facts, 'SyntaxError');
  return isJsonError(parsed) ? parsed : undefined;
}

/** What is known about the place where something was missing. */
function shapeLines(error: GuestError, facts: RunFacts): (string | undefined)[] {
  if (error.key !== undefined && /\benviron\b/.test(statementOf(facts))) {
    return [
      `The environment variable ${cut(error.key)} is not set`,
      'The guest sees only the variables of the policy field env; os.environ.get(name, default) does not fail',
    ];
  }
  const lines: (string | undefined)[] = [];
  if (error.key !== undefined) lines.push(`The key ${cut(error.key)} does not exist`);
  if (error.available !== undefined) {
    const keys = error.available.map((key) => cut(key, 60));
    const more = (error.length ?? 0) > keys.length ? ` and ${error.length! - keys.length} more` : '';
    lines.push(keys.length > 0 ? `Keys that are there: ${keys.join(', ')}${more}` : 'The dict is empty');
    const near = closest(unquoted(error.key ?? ''), error.available.map(unquoted), 1)[0];
    if (near !== undefined && error.key !== undefined) lines.push(`Did you mean '${cut(near, 60)}'?`);
  } else if (error.length !== undefined && error.container !== undefined) {
    const last =
      error.length > 0 ? `valid indices are 0 to ${error.length - 1}` : 'there is nothing to index';
    lines.push(`The ${error.container} has ${error.length} item${error.length === 1 ? '' : 's'}: ${last}`);
  }
  return lines;
}

function jsonLines(error: GuestError): (string | undefined)[] {
  const empty = error.length === 0 || /^Unexpected end of JSON input/.test(error.message);
  return [
    `The text is not valid JSON: ${cut(error.message)}`,
    empty ? 'The text is empty or ends too early: check what was read before parsing it' : undefined,
    error.near !== undefined && error.length !== 0 ? `Around the error: ${cut(error.near, 70)}` : undefined,
    "JSON needs double quotes, no trailing comma and no comments; Python's repr of a dict is not JSON",
  ];
}

export const dataRules: readonly Rule[] = [
  rule({
    type: 'DataShape',
    seen: 'KeyError, IndexError, a failed unpacking, or text that is not JSON; with the keys, the length or the text that was there.',
    docs: [DOCS.pythonFiles, DOCS.javascriptFiles],
    example: {
      source: "user = {'name': 'Ada', 'mail': 'a@b.c'}\nprint(user['email'])",
      error: {
        type: 'KeyError',
        module: 'builtins',
        kind: 'KeyError',
        message: "'email'",
        key: "'email'",
        container: 'dict',
        length: 2,
        available: ["'name'", "'mail'"],
        line: 2,
      },
    },
    match: shapeError,
    advise: (error, facts) => {
      const isJson = error.module === 'json.decoder' || facts.runtime === 'javascript';
      const place = placeOf(facts);
      return {
        guidance: [
          ...(isJson ? jsonLines(error) : shapeLines(error, facts)),
          UNPACK.test(error.message)
            ? `The number of names does not fit the number of values: ${cut(error.message)}`
            : undefined,
          error.type === 'IndexError' && error.length === undefined
            ? 'The index is beyond the end of the sequence'
            : undefined,
          error.type === 'StopIteration'
            ? 'The iterator has no more items: give next() a default'
            : undefined,
          place && `It failed on ${place}`,
          isJson
            ? undefined
            : 'Print the value before that line to see what it holds, and handle the missing case',
        ],
        docs: [docOf(facts, 'Files')],
      };
    },
  }),
  rule({
    type: 'EncodingError',
    seen: 'UnicodeDecodeError, UnicodeEncodeError or an unknown encoding name.',
    docs: [DOCS.pythonFiles, DOCS.javascriptFiles],
    example: {
      source: "b'caf\\xe9'.decode()",
      error: {
        type: 'UnicodeDecodeError',
        module: 'builtins',
        kind: 'UnicodeDecodeError',
        message: "'utf-8' codec can't decode byte 0xe9 in position 3: unexpected end of data",
        name: 'utf-8',
        position: 3,
        line: 1,
      },
    },
    match: (facts) => {
      const unicode = builtin(facts, 'UnicodeDecodeError', 'UnicodeEncodeError', 'UnicodeError');
      if (unicode !== undefined) return unicode;
      const lookup = builtin(facts, 'LookupError');
      if (lookup?.message.startsWith('unknown encoding')) return lookup;
      const script = engineError(facts, 'URIError', 'InvalidCharacterError');
      return script ?? undefined;
    },
    advise: (error, facts) => {
      const decoding = error.type === 'UnicodeDecodeError';
      const place = placeOf(facts);
      return {
        guidance: [
          `Text and bytes do not fit: ${cut(error.message)}`,
          decoding
            ? "The bytes are not in that encoding: try encoding='latin-1' or 'cp1252', or errors='replace'"
            : undefined,
          error.type === 'UnicodeEncodeError'
            ? "The encoding cannot write that character: use encoding='utf-8'"
            : undefined,
          place && `It failed on ${place}`,
        ],
        examples: decoding ? ["open(path, encoding='utf-8', errors='replace')"] : undefined,
        docs: [docOf(facts, 'Files')],
      };
    },
  }),
  rule({
    type: 'InputExhausted',
    seen: 'EOFError: the program read more from standard input than the call gave it.',
    docs: [DOCS.pythonLimits],
    example: {
      source: "name = input('Name: ')",
      error: {
        type: 'EOFError',
        module: 'builtins',
        kind: 'EOFError',
        message: 'EOF when reading a line',
        line: 1,
      },
    },
    match: (facts) => builtin(facts, 'EOFError'),
    advise: (_, facts) => {
      const place = placeOf(facts);
      return {
        guidance: [
          'There was no more input to read: nobody can type during a run',
          place && `The program wanted input on ${place}`,
          'Put the values into the code, read them from a file in /app, or give the call option stdin',
        ],
      };
    },
  }),
  rule({
    type: 'InvalidFormat',
    seen: 'A library refused the contents of a file or text: zip, gzip, tar, XML, CSV, TOML, base64, pickle, struct, configuration.',
    docs: [DOCS.pythonFiles],
    example: {
      source: "import zipfile\nzipfile.ZipFile('notes.txt')",
      error: {
        type: 'BadZipFile',
        module: 'zipfile',
        kind: 'Exception',
        message: 'File is not a zip file',
        line: 2,
      },
    },
    match: (facts) =>
      fromModule(
        facts,
        'zipfile',
        'gzip',
        'tarfile',
        'zlib',
        '_lzma',
        'xml.etree.ElementTree',
        'xml.parsers.expat',
        'pyexpat',
        'csv',
        '_csv',
        'tomllib',
        'binascii',
        'pickle',
        '_pickle',
        'struct',
        'configparser',
        'plistlib',
        'email.errors',
      ),
    advise: (error, facts) => {
      const place = placeOf(facts);
      return {
        guidance: [
          `The data is not in the expected format: ${messageOf(error)}`,
          'Look at the first bytes or lines of it before parsing: print(open(path, "rb").read(80))',
          place && `It failed on ${place}`,
        ],
      };
    },
  }),
  rule({
    type: 'DatabaseError',
    seen: 'An exception of the sqlite3 module.',
    docs: [DOCS.pythonFiles],
    example: {
      source: "import sqlite3\nsqlite3.connect(':memory:').execute('SELECT * FROM users')",
      error: {
        type: 'OperationalError',
        module: 'sqlite3',
        kind: 'Exception',
        message: 'no such table: users',
        line: 2,
      },
    },
    match: (facts) => fromModule(facts, 'sqlite3'),
    advise: (error, facts) => {
      const place = placeOf(facts);
      const table = capture(error, /^no such table: (\S+)/);
      return {
        guidance: [
          `SQLite refused it: ${messageOf(error)}`,
          table && `Create the table first, in the same database: CREATE TABLE ${cut(table, 60)} (...)`,
          error.message === 'unable to open database file'
            ? "The folder of the database must exist and lie in /app: sqlite3.connect('/app/data.db')"
            : undefined,
          place && `It failed on ${place}`,
        ],
      };
    },
  }),
];
