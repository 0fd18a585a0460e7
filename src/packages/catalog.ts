/**
 * What is vendored and why: one row per package, with everything about it that is not measured. Versions and digests
 * are in lock.json, measured figures in manifest.json; both are generated from these rows.
 */
import type { RuntimeName } from '../schema.ts';

export interface CatalogRow {
  readonly language: RuntimeName;
  /** Name of the distribution, as installers know it. */
  readonly name: string;
  readonly import_names: readonly string[];
  /** What it is for, in one line. */
  readonly use: string;
  /** SPDX expression. */
  readonly licence: string;
  /** Bounds on the version, where other rows need them. */
  readonly bounds?: string;
  /** What programs import of a package that loads nothing by itself; measured instead of the import names. */
  readonly typical?: readonly string[];
  /** Its wheels carry compiled code that the package can do without: the pure part is taken. */
  readonly compiled?: 'optional';
  /** The specification calls it heavy, whatever it costs here. */
  readonly heavy?: true;
  /** Written here, in packages/<language>/, instead of fetched; its version is that of the row named, or our own. */
  readonly own?: { readonly version_of?: string };
  /** Of JavaScript packages: the default export is the namespace, although the package has another one. */
  readonly whole?: 'namespace';
  /** Of JavaScript packages: a folder of modules that are imported one by one, and those that cannot work here. */
  readonly parts?: { readonly folder: string; readonly without: readonly string[] };
  /** Part of the runtime's boot script. */
  readonly in_boot?: true;
}

/** A package is heavy when its first import takes more than this share of the default fuel budget. */
export const HEAVY_SHARE = 0.02;
/** Standard library modules count as costly from this many instructions for a first import. */
export const COSTLY_FUEL = 10_000_000;

const row = (
  name: string,
  importNames: string,
  licence: string,
  use: string,
  more: Partial<CatalogRow> = {},
): CatalogRow => ({ language: 'python', name, import_names: importNames.split(' '), use, licence, ...more });

const PYTHON: readonly CatalogRow[] = [
  row('openpyxl', 'openpyxl', 'MIT', 'Read and write Excel .xlsx workbooks', { heavy: true }),
  row('et-xmlfile', 'et_xmlfile', 'MIT', 'Write large XML files piece by piece; openpyxl needs it'),
  row('XlsxWriter', 'xlsxwriter', 'BSD-2-Clause', 'Write Excel .xlsx files with formats and charts'),
  row('pypdf', 'pypdf', 'BSD-3-Clause', 'Read, merge, split and write PDF files'),
  row('PyPDF2', 'PyPDF2', 'MIT', 'The older name of pypdf, with its PdfReader, PdfWriter and PdfMerger', {
    heavy: true,
    own: { version_of: 'pypdf' },
  }),
  row('jinja2', 'jinja2', 'BSD-3-Clause', 'Render text and HTML templates', { heavy: true }),
  row('markupsafe', 'markupsafe', 'BSD-3-Clause', 'Escape text for HTML; jinja2 needs it', {
    compiled: 'optional',
  }),
  row('tabulate', 'tabulate', 'MIT', 'Print tables as text, Markdown or HTML'),
  row('markdown', 'markdown', 'BSD-3-Clause', 'Turn Markdown into HTML'),
  row('python-dateutil', 'dateutil', 'Apache-2.0 OR BSD-3-Clause', 'Parse dates; calendar arithmetic', {
    typical: ['dateutil.parser', 'dateutil.relativedelta'],
  }),
  row('six', 'six', 'MIT', 'Python 2 and 3 compatibility; older packages need it'),
  row('attrs', 'attrs attr', 'MIT', 'Classes without boilerplate'),
  row('pyyaml', 'yaml', 'MIT', 'Read and write YAML', { compiled: 'optional' }),
  row('beautifulsoup4', 'bs4', 'MIT', 'Search and change HTML and XML'),
  row('soupsieve', 'soupsieve', 'MIT', 'CSS selectors for beautifulsoup4'),
  row('typing-extensions', 'typing_extensions', 'PSF-2.0', 'Newer typing features; beautifulsoup4 needs it'),
  row('html5lib', 'html5lib', 'MIT', 'Parse HTML as browsers do'),
  row('webencodings', 'webencodings', 'BSD-3-Clause', 'Encodings of the web; html5lib needs it'),
  row('defusedxml', 'defusedxml', 'PSF-2.0', 'Parse XML that may be malicious'),
  row('tomli', 'tomli', 'MIT', 'Read TOML', { compiled: 'optional' }),
  row('charset-normalizer', 'charset_normalizer', 'MIT', 'Guess the encoding of text', {
    compiled: 'optional',
  }),
  row('idna', 'idna', 'BSD-3-Clause', 'Internationalized domain names'),
  row('certifi', 'certifi', 'MPL-2.0', 'Root certificates as a file'),
  row('tzdata', 'tzdata', 'Apache-2.0', 'Time zones for zoneinfo'),
  row('sympy', 'sympy', 'BSD-3-Clause', 'Algebra, calculus and equations with symbols'),
  row('mpmath', 'mpmath', 'BSD-3-Clause', 'Floating-point arithmetic of any precision', { bounds: '<1.4' }),
  row('networkx', 'networkx', 'BSD-3-Clause', 'Graphs and graph algorithms'),
  row('rich', 'rich', 'MIT', 'Tables, colours and layout in terminal text', {
    typical: ['rich.console', 'rich.table'],
  }),
  row('pygments', 'pygments', 'BSD-2-Clause', 'Highlight source code', {
    typical: ['pygments.lexers.python', 'pygments.formatters.html'],
  }),
  row('markdown-it-py', 'markdown_it', 'MIT', 'Parse CommonMark; rich needs it'),
  row('mdurl', 'mdurl', 'MIT', 'URLs in Markdown; markdown-it-py needs it'),
  row('pyparsing', 'pyparsing', 'MIT', 'Write parsers as Python expressions'),
  row('sortedcontainers', 'sortedcontainers', 'Apache-2.0', 'Sorted lists, dicts and sets'),
  row('more-itertools', 'more_itertools', 'MIT', 'More building blocks for iterators'),
  row('humanize', 'humanize', 'MIT', 'Numbers, sizes and times as people say them'),
  row('sandbox_utils', 'sandbox_utils', 'MIT', 'Files, text and data: find, grep, csv_to_json and others', {
    own: {},
  }),
];

const js = (name: string, licence: string, use: string, more: Partial<CatalogRow> = {}): CatalogRow => ({
  language: 'javascript',
  name,
  import_names: [name],
  use,
  licence,
  ...more,
});

const JAVASCRIPT: readonly CatalogRow[] = [
  js('papaparse', 'MIT', 'Read and write CSV of any dialect'),
  js('dayjs', 'MIT', 'Dates: parse, format, compare, add; its plugins as dayjs/plugin/NAME', {
    // One asks Intl for time zones, which this engine does not have; the other is for developers of pages.
    parts: { folder: 'plugin', without: ['dayjs/plugin/timezone', 'dayjs/plugin/devHelper'] },
  }),
  js('date-fns', 'MIT', 'Functions on Date objects: format, parse, differences, intervals'),
  js('lodash', 'MIT', 'Collections, objects, strings and functions', {
    import_names: ['lodash', 'lodash-es'],
    typical: ['lodash'],
  }),
  js('simple-statistics', 'ISC', 'Descriptive statistics, regression, distributions, clusters'),
  js('decimal.js', 'MIT', 'Decimal arithmetic of any precision'),
  js('yaml', 'ISC', 'Read and write YAML; keeps comments'),
  js('js-yaml', 'MIT', 'Read and write YAML: load and dump'),
  js('marked', 'MIT', 'Turn Markdown into HTML'),
  js('mustache', 'MIT', 'Templates without logic'),
  js('handlebars', 'MIT', 'Templates with helpers, partials and blocks'),
  js('zod', 'MIT', 'Describe data, check it, and get it back with its type', { whole: 'namespace' }),
  js('ajv', 'MIT', 'Check data against JSON Schema'),
  js('fast-xml-parser', 'MIT', 'Read, check and write XML'),
  js('csv-simple', 'MIT', 'CSV to objects and back: parse, stringify', { own: {} }),
  js('json-utils', 'MIT', 'Nested data by path: get, set, has, clone, validate', { own: {} }),
  js('string-utils', 'MIT', 'Text: slugify, truncate, camelCase, words, pad and others', { own: {} }),
  js('sandbox-utils', 'MIT', 'The global file functions as a module: readJson, writeText and others', {
    own: {},
    in_boot: true,
  }),
];

export const CATALOG: readonly CatalogRow[] = [...PYTHON, ...JAVASCRIPT];

/** The row of a Python package as pip names it; pip does not tell letter case, "-" and "_" apart. */
export function catalogRow(name: string): CatalogRow | undefined {
  const plain = (text: string) => text.toLowerCase().replaceAll(/[-_.]+/g, '-');
  return CATALOG.find((one) => one.language === 'python' && plain(one.name) === plain(name));
}
