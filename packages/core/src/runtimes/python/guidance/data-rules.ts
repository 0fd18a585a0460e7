/** Rules for files and data that are not what the program expects. The guidance says what was found instead. */

import type { AnalysisInput } from '../../../analysis/input.ts';
import {
  errorText,
  failedAt,
  failedStatement,
  messageMatch,
  oneLine,
} from '../../../analysis/quote-guest-text.ts';
import { DOCS, exceptionRule, type Rule, rule } from '../../../analysis/rule.ts';
import { fileModeAdvice } from '../../../analysis/rules/file-rules.ts';
import { invalidJsonLines } from '../../../analysis/rules/rule-factories.ts';
import { formatItems } from '../../../quantities.ts';
import { similarNames } from '../../../schema/similar-names.ts';
import type { GuestError } from '../../../schema.ts';
import { databaseAdvice } from './advice.ts';
import { builtinException, moduleException } from './match-exception.ts';

/** Modules whose exceptions mean malformed input. */
const FORMAT_MODULES =
  'zipfile gzip tarfile zlib _lzma xml.etree.ElementTree xml.parsers.expat pyexpat csv _csv tomllib binascii pickle _pickle struct configparser plistlib email.errors'.split(
    ' ',
  );
const UNPACK = /^(not enough|too many) values to unpack/;

const unquoted = (text: string) => text.replace(/^(['"])(.*)\1$/, '$2');

function dataShapeError(input: AnalysisInput): GuestError | undefined {
  const lookup = builtinException(input, 'KeyError', 'IndexError', 'StopIteration');
  if (lookup !== undefined) return lookup;
  const values = builtinException(input, 'ValueError');
  if (values !== undefined && UNPACK.test(values.message)) return values;
  return moduleException(input, 'json.decoder');
}

const isQuoted = (text: string) => /^['"]/.test(text);

/** Advice if the dict has the key as text instead of a number, or the other way round. */
function otherTypeLine(key: string, available: readonly string[]): string | undefined {
  const other = available.find((one) => unquoted(one) === unquoted(key) && isQuoted(one) !== isQuoted(key));
  if (other === undefined) return undefined;
  return isQuoted(other)
    ? `The keys are text: use str(key), as in d[${oneLine(other, 60)}]; keys of JSON objects are always text`
    : `The keys are not text: convert the key first, as in d[int(key)]`;
}

/** Advice if the name of the only column of a table contains several names. */
function delimiterLine(available: readonly string[]): string | undefined {
  const [, delimiter] = available.length === 1 ? (/\w(;|\\t|\|)\w/.exec(available[0]!) ?? []) : [];
  return (
    delimiter && `The columns are separated by '${delimiter}': pass delimiter='${delimiter}' to the reader`
  );
}

/** The column of a table of this program that a misspelt name means. */
function similarColumn(error: GuestError, { source }: AnalysisInput): string | undefined {
  const name = messageMatch(error, /(?:^no such column: |has no column named )(?:\w{1,80}\.)?(\w{1,80})$/);
  const tables = [...source.slice(0, 50_000).matchAll(/\bcreate\s+table\s[^(;]{1,200}\(([^;]{1,2000})/gi)];
  const columns = tables.flatMap(([, body]) =>
    [...body!.matchAll(/(?:^|,)\s*"?(\w{1,80})"?\s/g)].map(([, one]) => one!),
  );
  const similar = name === undefined ? undefined : similarNames(name, columns, 1)[0];
  return similar && `Did you mean the column ${similar}?`;
}

/** Advice for a loop over the items of a dict without items(). */
function itemsLine(input: AnalysisInput): string | undefined {
  const [, name] = /^for\s+\(?\w+\s*,\s*\w+\)?\s+in\s+(\w{1,80})\s*:/.exec(failedStatement(input)) ?? [];
  const isDict = name !== undefined && /^\{.*[:\d]/.test(input.stoppedAt?.variables[name] ?? '');
  return isDict ? `${name} is a dict: loop over ${name}.items()` : undefined;
}

function validIndices(length: number): string {
  if (length === 0) return 'no index is valid';
  return length === 1 ? 'the only valid index is 0' : `valid indices are 0 to ${length - 1}`;
}

/** What the labels of pandas are called, by container. */
const LABELS: Readonly<Record<string, { readonly one: string; readonly several: string }>> = {
  DataFrame: { one: 'column', several: 'columns' },
  Index: { one: 'label', several: 'labels' },
};

/** The labels in messages such as "['b'] not in index", which pandas gives as the key. */
function missingLabels(key: string): string[] | undefined {
  const [, list] =
    /^"(?:None of \[Index\()?\[(.{1,200}?)\](?:, dtype.{1,60})? (?:not in index|not found in axis|are in the)/.exec(
      key,
    ) ??
    /^[`"']Column(?:s|\(s\))? not found: (.{1,200}?)["']$/.exec(key) ??
    [];
  return list?.split(', ').map((one) => (/^['"]/.test(one) ? oneLine(one, 60) : `'${oneLine(one, 60)}'`));
}

/** What is known about the container in which a key or index was not found. */
function containerLines(error: GuestError, input: AnalysisInput): (string | undefined)[] {
  const { key, available, length, container } = error;
  if (key !== undefined && /\benviron\b/.test(failedStatement(input))) {
    return [
      `The environment variable ${oneLine(key)} is not set`,
      'Only the variables in the policy field env are set; os.environ.get(name, default) does not raise',
    ];
  }
  const lines: (string | undefined)[] = [];
  const labels = Object.hasOwn(LABELS, container ?? '') ? LABELS[container!] : undefined;
  const names = labels && missingLabels(key ?? '');
  if (names !== undefined) lines.push(`The ${labels!.one} ${names.join(', ')} does not exist`);
  else if (key !== undefined) lines.push(`The ${labels?.one ?? 'key'} ${oneLine(key)} does not exist`);
  if (available !== undefined) {
    const keys = available.map((one) => oneLine(one, 60));
    const more = (length ?? 0) > keys.length ? ` and ${length! - keys.length} more` : '';
    lines.push(
      keys.length > 0
        ? `Existing ${labels?.several ?? 'keys'}: ${keys.join(', ')}${more}`
        : `The ${container === 'Index' ? 'index' : (container ?? 'dict')} is empty`,
    );
    const similar = similarNames(unquoted(names?.[0] ?? key ?? ''), available.map(unquoted), 1)[0];
    if (available.some((one) => unquoted(one).startsWith('\\ufeff')))
      lines.push("The first key begins with a byte order mark: open the file with encoding='utf-8-sig'");
    else if (key !== undefined) lines.push(otherTypeLine(key, available) ?? delimiterLine(available));
    if (lines.at(-1) === undefined && similar !== undefined)
      lines.push(`Did you mean '${oneLine(similar, 60)}'?`);
  } else if (length !== undefined && container !== undefined) {
    lines.push(`The ${container} has ${formatItems(length, 'item')}: ${validIndices(length)}`);
  }
  return lines;
}

/** Advice for a loop over the indices of a list from which it removes items. */
function shrinkingListLine(input: AnalysisInput): string | undefined {
  const [, name] = /\b([A-Za-z_]\w{0,60})\[/.exec(failedStatement(input)) ?? [];
  const source = input.source;
  if (name === undefined || !source.includes(`range(len(${name}))`)) return undefined;
  const removes = [`del ${name}[`, `${name}.pop(`, `${name}.remove(`].some((text) => source.includes(text));
  return removes
    ? `The loop removes items from ${name}, but its range still has the original length of the list: create a new list, as in [x for x in ${name} if ...]`
    : undefined;
}

function dataShapeLines(error: GuestError, input: AnalysisInput): (string | undefined)[] {
  if (error.module === 'json.decoder') {
    return [
      ...invalidJsonLines(error, error.length === 0),
      error.message.startsWith('Extra data')
        ? 'The text has more than one JSON value. If each line has one value, parse line by line: [json.loads(line) for line in text.splitlines()]'
        : undefined,
      error.position !== undefined && error.position === error.length && error.length > 0
        ? 'The text ends too early: it is truncated'
        : undefined,
      'JSON requires double quotes and allows no trailing commas or comments; use json.dumps, not str(), to write it',
      failedAt(input),
    ];
  }
  return [
    ...containerLines(error, input),
    UNPACK.test(error.message)
      ? `The number of variables does not match the number of values: ${oneLine(error.message)}`
      : undefined,
    UNPACK.test(error.message) ? itemsLine(input) : undefined,
    error.type === 'IndexError' && error.length === undefined
      ? 'The index is past the end of the sequence'
      : undefined,
    error.type === 'IndexError' ? shrinkingListLine(input) : undefined,
    error.type === 'StopIteration' ? 'The iterator is exhausted: pass a default to next()' : undefined,
    failedAt(input),
    'Print the value before this line to see its contents, and handle the missing case',
  ];
}

export const dataRules: readonly Rule[] = [
  rule({
    type: 'FileMode',
    evidence: 'A file was used in a mode it was not opened in, or after it was closed.',
    docs: [DOCS.files],
    match: (input) => {
      const value = builtinException(input, 'ValueError');
      return value?.message.startsWith('I/O operation on closed file') ? value : moduleException(input, 'io');
    },
    advise: fileModeAdvice,
  }),
  rule({
    type: 'DataShape',
    evidence:
      'KeyError, IndexError, StopIteration, a failed unpacking, or text that is not JSON. The guidance shows the existing keys, the length or the text.',
    docs: [DOCS.files],
    match: dataShapeError,
    advise: (error, input) => ({ guidance: dataShapeLines(error, input) }),
  }),
  rule({
    type: 'EncodingError',
    evidence: 'UnicodeDecodeError, UnicodeEncodeError or an unknown encoding name.',
    docs: [DOCS.files],
    match: (input) => {
      const unicode = builtinException(input, 'UnicodeDecodeError', 'UnicodeEncodeError', 'UnicodeError');
      if (unicode !== undefined) return unicode;
      const lookup = builtinException(input, 'LookupError');
      return lookup?.message.startsWith('unknown encoding') ? lookup : undefined;
    },
    advise: (error, input) => {
      const isDecoding = error.type === 'UnicodeDecodeError';
      return {
        guidance: [
          `The text cannot be decoded or encoded: ${oneLine(error.message)}`,
          isDecoding
            ? "The bytes are not in this encoding: try encoding='latin-1' or 'cp1252', or errors='replace'; open binary files (images, archives) with mode 'rb'"
            : undefined,
          error.type === 'UnicodeEncodeError'
            ? "The encoding cannot represent this character: use encoding='utf-8'"
            : undefined,
          failedAt(input),
        ],
        examples: isDecoding ? ["open(path, encoding='utf-8', errors='replace')"] : undefined,
      };
    },
  }),
  rule({
    type: 'InputExhausted',
    evidence: 'EOFError: the program read past the end of standard input.',
    docs: [DOCS.unsupported],
    match: (input) => builtinException(input, 'EOFError'),
    advise: (_, input) => ({
      guidance: [
        'Standard input has ended: programs run without interactive input',
        failedAt(input, 'The program reads input on'),
        'Put the values into the code, read them from a file in /app, or pass the stdin option',
      ],
    }),
  }),
  exceptionRule({
    type: 'InvalidFormat',
    evidence:
      'A library could not parse its input: zip, gzip, tar, XML, CSV, TOML, base64, pickle, struct or configuration.',
    docs: [DOCS.files],
    match: (input) => {
      const error = moduleException(input, ...FORMAT_MODULES);
      return error?.type === 'PicklingError' ? undefined : error;
    },
    lines: (error) => [
      `The data does not have the expected format: ${errorText(error)}`,
      /opened in text mode/.test(error.message)
        ? 'Open the file in text mode: open(path, newline="", encoding="utf-8"), or decode the bytes first'
        : 'Inspect the first bytes before parsing: print(open(path, "rb").read(80))',
    ],
  }),
  exceptionRule({
    type: 'DatabaseError',
    evidence: 'An exception from the sqlite3 module.',
    docs: [DOCS.files],
    match: (input) => moduleException(input, 'sqlite3'),
    lines: (error, input) => {
      const table = messageMatch(error, /^no such table: (\S+)/);
      return [
        `SQLite reported an error: ${errorText(error)}`,
        /^no such column|has no column named/.test(error.message)
          ? (similarColumn(error, input) ??
            'PRAGMA table_info(table) lists the columns; text values need single quotes or ? placeholders')
          : undefined,
        databaseAdvice(error.message),
        table && `Create the table first, in the same database: CREATE TABLE ${oneLine(table, 60)} (...)`,
      ];
    },
  }),
];
