/** Rules that every language has, each with its own evidence: the language recognises the failure, the advice is shared. */
import { intendedName } from '../../schema/similar-names.ts';
import type { GuestError } from '../../schema.ts';
import type { AnalysisInput, AvailablePackage } from '../input.ts';
import { failedAt, markdownFenceAdvice, oneLine } from '../quote-guest-text.ts';
import type { AdviceLine } from '../reader.ts';
import { DOCS, type Rule, rule } from '../rule.ts';

interface SharedRow<Match> {
  readonly evidence: string;
  match(input: AnalysisInput): Match | undefined;
}

/** Something that the sandbox does not have. */
export interface MissingFeature {
  readonly what: string;
  /** What to do instead, one line each. */
  readonly instead?: string | readonly string[] | undefined;
  /** What makes it available: the network if requests are permitted, packages if they are added. */
  readonly enabledBy?: 'network' | 'packages';
}

export const unsupportedFeatureRule = (row: SharedRow<MissingFeature>): Rule =>
  rule({
    ...row,
    type: 'UnsupportedFeature',
    docs: [DOCS.unsupported],
    advise: ({ what, instead, enabledBy }, input) => ({
      guidance: [
        `Not available in the sandbox: ${what}`,
        ...(typeof instead === 'string' ? [instead] : (instead ?? [])).map((line) => `Instead: ${line}`),
        failedAt(input),
        enabledBy === undefined ? 'No setting enables it: rewrite the program without it' : undefined,
        enabledBy === 'network'
          ? ({ permitNetwork }) => permitNetwork(`${wantedOrigin(input)}/*`)
          : undefined,
      ],
    }),
  });

/** The origin of the first URL in the statement that failed. */
function wantedOrigin(input: AnalysisInput): string {
  const [origin] = /https?:\/\/[\w.-]{1,100}(?::\d{1,5})?/.exec(failedAt(input) ?? '') ?? [];
  return origin ?? 'https://api.example.com';
}

/** What to use instead of a package. */
export interface Alternative {
  /** What the language and its standard library offer. */
  readonly instead?: string;
  /** The feature that the package needs and the sandbox does not have, and what to do. */
  readonly note?: string;
  /** Replaces the row if the program may send requests. */
  readonly withNetwork?: Alternative;
  /** Names of packages that do part of the job. Those that programs cannot import are left out. */
  readonly packages?: readonly string[];
}

/** The row for a name in a table of alternatives; undefined if there is none. */
export function findAlternative(
  table: ReadonlyMap<string, Alternative>,
  name: string,
  { requests }: AnalysisInput,
): Alternative | undefined {
  const row = table.get(name);
  return requests === undefined ? row : (row?.withNetwork ?? row);
}

/** A row of a table of alternatives as one line; undefined if there is no row. */
export function describeAlternative(
  row: Alternative | undefined,
  { language, packages }: AnalysisInput,
): string | undefined {
  if (row === undefined) return undefined;
  const installed = (row.packages ?? [])
    .map((wanted) => packages.find((one) => one.name === wanted))
    .filter((one) => one !== undefined)
    .map((one) => `${one.name} (${language.importStatement(one.import_names[0]!)}; ${one.use})`);
  const options = [
    row.instead,
    installed.length > 0 ? `installed packages: ${installed.join(', ')}` : undefined,
  ];
  const instead = options.filter((option) => option !== undefined).join('; ');
  return [row.note, instead && `Use instead: ${instead}`].filter(Boolean).join('. ');
}

/** Other missing packages that are listed. */
const MAX_OTHERS = 6;

/** The packages that the program imports and that are not available, apart from the one with this name. */
function otherMissing(name: string, { error }: AnalysisInput): string[] {
  const isPackage = (one: string) => one !== name && !/^[./]/.test(one);
  return [...new Set(error?.missing ?? [])]
    .filter(isPackage)
    .slice(0, MAX_OTHERS)
    .map((one) => oneLine(one, 80));
}

/** `match` returns the name of the package; `alternative` is a line about it. */
export const packageNotAvailableRule = (
  row: SharedRow<string> & {
    readonly alternative: (name: string, input: AnalysisInput) => string | undefined;
    /** Names that a program may have misspelt. */
    readonly known: (input: AnalysisInput) => readonly string[];
    /** Whether a package of this name exists, so that it is not misspelt. */
    readonly exists: (name: string, input: AnalysisInput) => boolean;
    /** Lines of code that do what the program wanted to do with the package. */
    readonly substitutes?: (name: string, input: AnalysisInput) => readonly string[];
    /** Which of the packages can be made available, and how. */
    readonly installation?: (names: readonly string[], input: AnalysisInput) => readonly AdviceLine[];
    /** Whether the import of a known package adds it. */
    readonly installed?: (input: AnalysisInput) => boolean;
    /** File names of a module of this name. */
    readonly moduleFiles: (name: string) => readonly string[];
    /** The statement that imports a file in /app. */
    readonly importFile: (path: string) => string;
    /** How to import a file of the program, if the package may be one. */
    readonly hint?: string;
  },
): Rule =>
  rule({
    type: 'PackageNotAvailable',
    evidence: row.evidence,
    docs: [DOCS.packages],
    match: row.match,
    advise: (name, input) => {
      const intended = (one: string) =>
        row.exists(one, input) ? undefined : intendedName(one, row.known(input));
      const about = (one: string) => {
        const known = intended(one);
        return known === undefined ? row.alternative(one, input) : `Did you mean '${known}'?`;
      };
      const alternative = about(name);
      const others = otherMissing(name, input);
      const files = row.moduleFiles(name).map((file) => `/${file}`);
      const substitutes = row.substitutes?.(name, input) ?? [];
      const ownFile = input.files().find((path) => files.some((file) => `/${path}`.endsWith(file)));
      return {
        guidance: [
          `Package '${oneLine(name, 80)}' is not available, and ${row.installed?.(input) ? 'it was not added' : 'programs cannot install packages'}`,
          alternative,
          ...substitutes.map((line) => `In this program: ${line}`),
          ...others.map((other) => {
            const line = about(other);
            return `Also missing: '${other}'${line === undefined ? '' : `. ${line}`}`;
          }),
          ...(row.installation?.(
            [name, ...others].map((one) => intended(one) ?? one),
            input,
          ) ?? []),
          ownFile &&
            `To import your file '${oneLine(ownFile, 80)}', use: ${row.importFile(oneLine(ownFile, 80))}`,
          alternative === undefined && ownFile === undefined ? row.hint : undefined,
          failedAt(input),
        ],
        ...(substitutes.length > 0 && { examples: substitutes }),
      };
    },
  });

/** `hints` are lines about the statement that could not be parsed. */
export const syntaxErrorRule = (
  row: SharedRow<GuestError> & {
    readonly hints: (error: GuestError, input: AnalysisInput) => readonly (string | undefined)[];
  },
): Rule =>
  rule({
    evidence: row.evidence,
    match: row.match,
    type: 'SyntaxError',
    docs: [],
    advise: (error, input) => {
      const other = input.otherLanguages.find(({ guidance }) => guidance.typicalSource.test(input.source));
      return {
        guidance: [
          `The code could not be parsed: ${oneLine(error.message)}`,
          failedAt(input),
          markdownFenceAdvice(input),
          ...(other === undefined ? row.hints(error, input) : []),
          other && `The code looks like ${other.title}: run it with language='${other.name}'`,
        ],
      };
    },
  });

/** Advice for text that is not JSON. `isEmpty`: the parser reached the end of the text. */
export const invalidJsonLines = (error: GuestError, isEmpty: boolean): (string | undefined)[] => [
  `The text is not valid JSON: ${oneLine(error.message)}`,
  isEmpty ? 'The text is empty or truncated: check what was read before parsing it' : undefined,
  error.near !== undefined && error.length !== 0
    ? `Text near the error: ${oneLine(error.near, 70)}`
    : undefined,
];

/** Advice for an exception that contains others. `what` says what they have in common. */
export const groupedErrorLines = ({ available = [], length }: GuestError, what: string): string[] => {
  const more = (length ?? 0) - available.length;
  return [
    `${what}: ${available.map((one) => oneLine(one, 160)).join('; ')}${more > 0 ? `; and ${more} more` : ''}`,
    'Fix the first of these errors; the others can be consequences of it',
  ];
};

const normalise = (name: string) => name.toLowerCase().replace(/[-_.]/g, '');

/** A package whose distribution or import name differs from `name` only in letter case or punctuation. */
export function packageByOtherName(name: string, packages: readonly AvailablePackage[]) {
  const wanted = normalise(name);
  return packages.find((one) => [one.name, ...one.import_names].some((other) => normalise(other) === wanted));
}

/** Advice for an undefined name that an earlier call defined. */
export function earlierDefinitionAdvice(name: string, input: AnalysisInput): AdviceLine {
  if (!isDefinedEarlier(input, name)) return undefined;
  if (input.earlier.persistent)
    return `An earlier call defined '${name}', but '${name}' was deleted or that call was rolled back`;
  return ({ hasSessions }) =>
    `An earlier call defined '${name}', but variables do not persist between calls: ${hasSessions ? 'use a session with auto_persist_globals=True, or ' : ''}define it again`;
}

// Whether a program of an earlier call defined a name.

const IDENTIFIER = /^[\p{L}\p{Nl}_$][\p{L}\p{N}_$]{0,100}$/u;
const LINE_MAX = 200;
const OCCURRENCES_MAX = 100;

/** Lines that contain a word. Skips long lines and stops after a bounded number of occurrences. */
function* linesWith(text: string, word: string): Generator<string> {
  let at = text.indexOf(word);
  for (let i = 0; i < OCCURRENCES_MAX && at >= 0; i++) {
    const start = text.lastIndexOf('\n', at) + 1;
    const next = text.indexOf('\n', at);
    const end = next < 0 ? text.length : next;
    if (end - start <= LINE_MAX) yield text.slice(start, end);
    at = text.indexOf(word, end);
  }
}

/** Whether an earlier program defined the name at its top level. */
function isDefinedEarlier({ language, earlier }: AnalysisInput, name: string): boolean {
  if (!IDENTIFIER.test(name)) return false;
  const definition = language.guidance.definitionOf(name.replaceAll('$', '\\$'));
  return earlier.sources.some((source) => {
    for (const line of linesWith(source, name)) if (definition.test(line)) return true;
    return false;
  });
}
