/**
 * The vendored packages: one row per package. Versions and digests are in lock.json, measured fuel in import-costs.json; both
 * are generated from these rows.
 */
import type { RuntimeName } from '../schema.ts';

export interface VendoredPackage {
  readonly language: RuntimeName;
  /** Name of the distribution, as installers use it. */
  readonly name: string;
  readonly import_names: readonly string[];
  /** What the package is for, in one line. */
  readonly use: string;
  /** SPDX expression. */
  readonly licence: string;
  /** Version bounds that other rows require. */
  readonly version_bounds?: string;
  /** Imports to measure instead of `import_names`, for packages whose top level loads nothing. */
  readonly typical_imports?: readonly string[];
  /** Files that guests do not need, such as data of less common locales and tools for development. */
  readonly omitted_files?: RegExp;
  /** Python: modules without their source: generated code, data, and code that only other packages import. */
  readonly bytecode_only?: RegExp;
  /** The package's wheels contain compiled code, and the package works without it. */
  readonly compiled?: 'optional';
  /** Packages with native code that the package requires, and that are not vendored. */
  readonly needs?: readonly string[];
  /** Heavy in every installation, regardless of the measured fuel. */
  readonly heavy?: true;
  /**
   * The package is part of this project, in packages/first-party/<language>/. Its version is that of the package
   * `version_of`, by default the project's.
   */
  readonly first_party?: { readonly version_of?: string };
  /** JavaScript: the default export is the module namespace, although the package exports another default. */
  readonly default_export?: 'namespace';
  /** JavaScript: a folder of modules that programs import separately; `excluded` modules do not work in a guest. */
  readonly submodules?: { readonly folder: string; readonly excluded: readonly string[] };
  /** JavaScript: the package imports modules of Node.js, which it gets from the guest. */
  readonly uses_node_modules?: true;
  /** JavaScript: modules of the package that programs import separately, such as `sync` for NAME/sync. */
  readonly subpaths?: readonly string[];
  /**
   * JavaScript: the default export is the value of `instance`, an expression that uses the names in `imports` and creates the
   * parts of the package on first use. The other exports are taken from it on first use.
   */
  readonly lazy_instance?: { readonly imports: readonly string[]; readonly instance: string };
  /** JavaScript: modules that the package imports, and the files of first-party/javascript that it gets instead. */
  readonly replaced_modules?: Readonly<Record<string, string>>;
  /** JavaScript: texts of the bundle and what replaces them. */
  readonly replaced_texts?: Readonly<Record<string, string>>;
  /** JavaScript: statements that prepare the package, whose namespace is `all`, for use in a guest. */
  readonly setup?: string;
}

/** A package that a build had to omit. */
export interface MissingPackage {
  readonly name: string;
  readonly version: string;
  readonly reason: string;
}

/** Describes missing packages with one sentence for each reason. */
export function describeMissing(missing: readonly MissingPackage[]): string[] {
  const reasons = new Map<string, string[]>();
  for (const { name, version, reason } of missing)
    reasons.set(reason, [...(reasons.get(reason) ?? []), `${name} ${version}`]);
  return [...reasons].map(([reason, names]) => {
    const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : '';
    const subject = `${names.slice(0, MAX_NAMES).join(', ')}${more}`;
    return `${subject} ${names.length === 1 ? 'is' : 'are'} missing: ${reason}`;
  });
}

/** Maximum number of names in a sentence. */
const MAX_NAMES = 5;

/** A package is heavy if its first import takes more than this share of the default fuel budget. */
export const HEAVY_SHARE = 0.02;
/** A module of the standard library is costly if its first import takes at least this much fuel. */
export const COSTLY_FUEL = 10_000_000;

/** Locales whose data is included. */
const LANGUAGES = 'en|de|fr|es|it|pt|ja|zh';
const FAKER_LOCALES =
  'en|en_US|en_GB|en_CA|en_AU|en_IN|de|de_DE|de_AT|de_CH|fr_FR|fr_CA|fr_CH|es|es_ES|es_MX|it_IT|pt_BR|pt_PT|ja_JP|zh_CN|zh_TW';

const row = (
  name: string,
  importNames: string,
  licence: string,
  use: string,
  more: Partial<VendoredPackage> = {},
): VendoredPackage => ({
  language: 'python',
  name,
  import_names: importNames.split(' '),
  use,
  licence,
  ...more,
});

export const PYTHON_PACKAGES: readonly VendoredPackage[] = [
  row('openpyxl', 'openpyxl', 'MIT', 'Read and write Excel .xlsx workbooks', { heavy: true }),
  row('et-xmlfile', 'et_xmlfile', 'MIT', 'Write large XML files incrementally; required by openpyxl'),
  row('XlsxWriter', 'xlsxwriter', 'BSD-2-Clause', 'Write Excel .xlsx files with formats and charts'),
  row('pypdf', 'pypdf', 'BSD-3-Clause', 'Read, merge, split and write PDF files'),
  row('PyPDF2', 'PyPDF2', 'MIT', 'The former name of pypdf, with PdfReader, PdfWriter and PdfMerger', {
    heavy: true,
    first_party: { version_of: 'pypdf' },
  }),
  row('jinja2', 'jinja2', 'BSD-3-Clause', 'Render text and HTML templates', { heavy: true }),
  row('markupsafe', 'markupsafe', 'BSD-3-Clause', 'Escape text for HTML; required by jinja2', {
    compiled: 'optional',
  }),
  row('tabulate', 'tabulate', 'MIT', 'Print tables as text, Markdown or HTML'),
  row('markdown', 'markdown', 'BSD-3-Clause', 'Convert Markdown to HTML'),
  row('python-dateutil', 'dateutil', 'Apache-2.0 OR BSD-3-Clause', 'Parse dates; calendar arithmetic', {
    typical_imports: ['dateutil.parser', 'dateutil.relativedelta'],
  }),
  row('six', 'six', 'MIT', 'Python 2 and 3 compatibility; required by older packages'),
  row('attrs', 'attrs attr', 'MIT', 'Classes without boilerplate'),
  row('pyyaml', 'yaml', 'MIT', 'Read and write YAML', { compiled: 'optional' }),
  row('beautifulsoup4', 'bs4', 'MIT', 'Search and edit HTML and XML'),
  row('soupsieve', 'soupsieve', 'MIT', 'CSS selectors for beautifulsoup4'),
  row(
    'typing-extensions',
    'typing_extensions',
    'PSF-2.0',
    'Newer typing features; required by beautifulsoup4',
  ),
  row('html5lib', 'html5lib', 'MIT', 'Parse HTML the way browsers do'),
  row('webencodings', 'webencodings', 'BSD-3-Clause', 'Web character encodings; required by html5lib'),
  row('defusedxml', 'defusedxml', 'PSF-2.0', 'Parse XML that may be malicious'),
  row('tomli', 'tomli', 'MIT', 'Read TOML', { compiled: 'optional' }),
  row('charset-normalizer', 'charset_normalizer', 'MIT', 'Detect the encoding of text', {
    compiled: 'optional',
  }),
  row('idna', 'idna', 'BSD-3-Clause', 'Internationalized domain names'),
  row('certifi', 'certifi', 'MPL-2.0', 'Root certificates as a file'),
  row('tzdata', 'tzdata', 'Apache-2.0', 'Time zone data for zoneinfo'),
  row('sympy', 'sympy', 'BSD-3-Clause', 'Symbolic algebra, calculus and equation solving', {
    // Parsers that need ANTLR.
    omitted_files: /\/benchmarks\/|^sympy\/parsing\/(autolev|latex\/_antlr)\//,
  }),
  row('mpmath', 'mpmath', 'BSD-3-Clause', 'Arbitrary-precision floating-point arithmetic', {
    version_bounds: '<1.4',
  }),
  row('networkx', 'networkx', 'BSD-3-Clause', 'Graphs and graph algorithms'),
  row('rich', 'rich', 'MIT', 'Tables, colours and layout in terminal text', {
    typical_imports: ['rich.console', 'rich.table'],
  }),
  row('pygments', 'pygments', 'BSD-2-Clause', 'Highlight source code', {
    typical_imports: ['pygments.lexers.python', 'pygments.formatters.html'],
    bytecode_only: /^pygments\/lexers\//,
  }),
  row('markdown-it-py', 'markdown_it', 'MIT', 'Parse CommonMark; required by rich'),
  row('mdurl', 'mdurl', 'MIT', 'Parse URLs in Markdown; required by markdown-it-py'),
  row('pyparsing', 'pyparsing', 'MIT', 'Write parsers as Python expressions'),
  row('sortedcontainers', 'sortedcontainers', 'Apache-2.0', 'Sorted lists, dicts and sets'),
  row('more-itertools', 'more_itertools', 'MIT', 'Additional iterator functions'),
  row('humanize', 'humanize', 'MIT', 'Format numbers, sizes and times for people'),
  row('pytest', 'pytest', 'MIT', 'Run tests: pytest.main([file]) runs test files in the workspace'),
  row('iniconfig', 'iniconfig', 'MIT', 'Read .ini files; required by pytest'),
  row('pluggy', 'pluggy', 'MIT', 'Plugins and hooks; required by pytest'),
  row('packaging', 'packaging', 'Apache-2.0 OR BSD-2-Clause', 'Compare versions and parse requirements', {
    typical_imports: ['packaging.version'],
  }),
  row('faker', 'faker', 'MIT', 'Generate names, addresses, texts and other test data in several locales', {
    bytecode_only: /^faker\/providers\//,
    // With its entry point, every run of pytest would load it as a plugin.
    omitted_files: new RegExp(
      `^faker/(sphinx|contrib)/|^faker-.*/entry_points\\.txt$|^faker/providers/\\w+/(?!(?:${FAKER_LOCALES})/)[a-z]{2,3}(_[A-Z][A-Za-z]+)?/`,
    ),
  }),
  row('arrow', 'arrow', 'Apache-2.0', 'Dates with time zones: parse, shift, format, humanize'),
  row('toolz', 'toolz', 'BSD-3-Clause', 'Functional tools for iterators, functions and dicts'),
  row('lark', 'lark', 'MIT', 'Write parsers as grammars', {
    omitted_files: /^lark\/__pyinstaller\//,
  }),
  row('cachetools', 'cachetools', 'MIT', 'Caches with LRU, LFU and time-to-live'),
  row('python-slugify', 'slugify', 'MIT', 'Convert text to slugs for URLs and file names'),
  row(
    'text-unidecode',
    'text_unidecode',
    'Artistic-1.0 OR GPL-2.0-or-later',
    'Transliterate text to ASCII; required by python-slugify',
  ),
  row('xlrd', 'xlrd', 'BSD-3-Clause', 'Read old Excel .xls workbooks'),
  row('babel', 'babel', 'BSD-3-Clause', 'Format numbers, dates and currencies for a locale', {
    typical_imports: ['babel.numbers', 'babel.dates'],
    omitted_files: new RegExp(`^babel/locale-data/(?!(?:root|${LANGUAGES})[._]).*\\.dat$`),
  }),
  row('holidays', 'holidays', 'MIT', 'Public holidays of countries and their regions', {
    bytecode_only: /^holidays\//,
    omitted_files: new RegExp(`^holidays/locale/(?!(?:${LANGUAGES})[_/])`),
  }),
  row('isodate', 'isodate', 'BSD-3-Clause', 'Parse and format ISO 8601 dates, times and durations'),
  row('deepdiff', 'deepdiff', 'MIT', 'Compare nested data and describe the differences'),
  row('orderly-set', 'orderly_set', 'MIT', 'Ordered sets; required by deepdiff'),
  row('cachebox', 'cachebox', 'MIT', 'The LRUCache of cachebox in pure Python; required by deepdiff', {
    first_party: {},
  }),
  row('click', 'click', 'BSD-3-Clause', 'Parse command lines'),
  row('jsonschema', 'jsonschema', 'MIT', 'Validate data against JSON Schema', {
    omitted_files: /^jsonschema\/benchmarks\//,
  }),
  row(
    'jsonschema-specifications',
    'jsonschema_specifications',
    'MIT',
    'The meta-schemas of JSON Schema; required by jsonschema',
  ),
  row('referencing', 'referencing', 'MIT', 'Resolve references between documents; required by jsonschema'),
  row('rpds-py', 'rpds', 'MIT', 'Persistent maps, sets and lists in pure Python; required by jsonschema', {
    first_party: {},
  }),
  row(
    'altair',
    'altair',
    'BSD-3-Clause',
    'Charts in the grammar of Vega-Lite: alt.Chart(data).mark_bar().encode(…)',
    {
      heavy: true,
      bytecode_only: /^altair\/vegalite\/v\d+\/schema\//,
    },
  ),
  row(
    'narwhals',
    'narwhals',
    'MIT',
    'One interface for data frames of several packages; required by altair',
    {
      bytecode_only: /^narwhals\//,
    },
  ),
  row('requests', 'requests', 'Apache-2.0', 'HTTP client. Requests need a permission (docs/NETWORK.md)', {
    heavy: true,
  }),
  row('urllib3', 'urllib3', 'MIT', 'HTTP connections; required by requests', {
    // Connects through JavaScript, which guests cannot call. packages/first-party/python/urllib3 replaces it.
    omitted_files: /^urllib3\/contrib\/emscripten\//,
  }),
  row('pytz', 'pytz', 'MIT', 'Time zones for datetime'),
  row('tqdm', 'tqdm', 'MPL-2.0 AND MIT', 'Progress bars for loops'),
  row('plotly', 'plotly _plotly_utils', 'MIT', 'Interactive charts as data; shown as pictures here', {
    heavy: true,
    typical_imports: ['plotly.graph_objects'],
    bytecode_only: /^plotly\/graph_objs\//,
    // The widgets of notebooks, and the library for browsers: HTML files refer to its public address instead.
    omitted_files:
      /^plotly\/(labextension\/|graph_objs\/_figurewidget|matplotlylib\/|package_data\/datasets\/|package_data\/\w+(\.min)?\.js$)/,
  }),
  row(
    'joblib',
    'joblib',
    'BSD-3-Clause',
    'Parallel loops, which run one after another here, and caches on disk',
    {
      omitted_files: /^joblib\/test\//,
    },
  ),
  row('cloudpickle', 'cloudpickle', 'BSD-3-Clause', 'Pickle functions and classes; required by joblib'),
  row('threadpoolctl', 'threadpoolctl', 'BSD-3-Clause', 'Limit the threads of native libraries'),
  row(
    'python-docx',
    'docx',
    'MIT',
    'Read and write Word .docx documents; needs lxml, which is added separately',
    { needs: ['lxml'], omitted_files: /^docx\/templates\/default-docx-template\// },
  ),
  row('fpdf2', 'fpdf', 'LGPL-3.0-or-later', 'Write PDF files'),
  row('fonttools', 'fontTools', 'MIT', 'Read and write fonts, as far as fpdf2 requires it', {
    compiled: 'optional',
    typical_imports: ['fontTools.ttLib'],
    bytecode_only: /^fontTools\//,
    omitted_files:
      /^fontTools\/((ufoLib|voltLib|mtiLib|merge|qu2cu|diff|t1Lib|varLib\/(instancer|interpolatable|avar))\/|varLib\/(interpolatable|plot)|feaLib\/(builder|parser)|pens\/(cairo|cocoa|freetype|qt|quartz|reportLab|wx|svg|teePen|roundingPen|qu2cu|cu2qu|hash|explicit))/,
  }),
  row('natsort', 'natsort', 'MIT', 'Sort text with numbers in natural order'),
  row('emoji', 'emoji', 'BSD-3-Clause', 'Convert between emoji and their names', {
    omitted_files: new RegExp(`^emoji/unicode_codes/emoji_(?!(?:${LANGUAGES})\\.).*\\.json$`),
  }),
  row('pint', 'pint', 'BSD-3-Clause', 'Physical quantities with units', {
    heavy: true,
    omitted_files: /^pint\/testsuite\//,
  }),
  row('flexcache', 'flexcache', 'BSD-3-Clause', 'Caches of parsed files; required by pint', {
    heavy: true,
    omitted_files: /^flexcache\/testsuite\//,
  }),
  row('flexparser', 'flexparser', 'BSD-3-Clause', 'Parse definition files; required by pint', {
    omitted_files: /^flexparser\/testsuite\//,
  }),
  row('platformdirs', 'platformdirs', 'MIT', 'Folders for the files of a program; required by pint'),
  row('graphviz', 'graphviz', 'MIT', 'Write graphs in the DOT language; rendering needs a program'),
  row('prettytable', 'prettytable', 'BSD-3-Clause', 'Print tables as text'),
  row('wcwidth', 'wcwidth', 'MIT', 'Width of text in terminals; required by prettytable', {
    compiled: 'optional',
    // Widths of characters in particular terminals.
    omitted_files: /^wcwidth\/table_grapheme_overrides\/_known_/,
  }),
  row(
    'seaborn',
    'seaborn',
    'BSD-3-Clause',
    'Statistical plots; needs numpy, pandas and matplotlib, which are added separately',
    { needs: ['numpy', 'pandas', 'matplotlib'] },
  ),
  row(
    'patsy',
    'patsy',
    'BSD-2-Clause',
    'Design matrices from formulas; needs numpy, which is added separately',
    { needs: ['numpy'], omitted_files: /^patsy\/test_/ },
  ),
  row(
    'reportlab',
    'reportlab',
    'BSD-3-Clause',
    'Write PDF files with text, tables and charts; needs Pillow, which is added separately',
    {
      needs: ['pillow'],
      // Fonts for pictures; those of PDF files are part of every reader.
      omitted_files: /^reportlab\/(fonts\/(?!Vera)|graphics\/(samples\/|test))/,
    },
  ),
  row(
    'pdfminer.six',
    'pdfminer',
    'MIT',
    'Extract text and layout from PDF files; needs cryptography, which is added separately',
    {
      needs: ['cryptography'],
      // The predefined encodings of Chinese, Japanese and Korean, which take 5.8 MB.
      omitted_files: /^pdfminer\/cmap\/.*\.gz$/,
    },
  ),
  row('chardet', 'chardet', '0BSD', 'Detect the encoding of text', {
    compiled: 'optional',
    omitted_files: /^chardet\/models\/training_metadata\.yaml$/,
  }),
  row('rsa', 'rsa', 'Apache-2.0', 'RSA keys, encryption and signatures'),
  row('pyasn1', 'pyasn1', 'BSD-2-Clause', 'Encode and decode ASN.1; required by rsa'),
  row('cycler', 'cycler', 'BSD-3-Clause', 'Combine property cycles; required by matplotlib'),
];

const js = (
  name: string,
  licence: string,
  use: string,
  more: Partial<VendoredPackage> = {},
): VendoredPackage => ({
  language: 'javascript',
  name,
  import_names: [name],
  use,
  licence,
  ...more,
});

export const JAVASCRIPT_PACKAGES: readonly VendoredPackage[] = [
  js('papaparse', 'MIT', 'Read and write CSV of any dialect'),
  js('dayjs', 'MIT', 'Dates: parse, format, compare, add; plugins are dayjs/plugin/NAME', {
    // devHelper needs a browser.
    submodules: { folder: 'plugin', excluded: ['dayjs/plugin/devHelper'] },
  }),
  js('date-fns', 'MIT', 'Functions on Date objects: format, parse, differences, intervals'),
  js('luxon', 'MIT', 'Dates with time zones, durations and intervals', { default_export: 'namespace' }),
  js('lodash', 'MIT', 'Collections, objects, strings and functions', {
    import_names: ['lodash', 'lodash-es'],
    typical_imports: ['lodash'],
    // Reading these globals would load their modules.
    replaced_texts: {
      'freeGlobal.process': 'undefined',
      'context.Buffer': `{
        isBuffer: (value) => value instanceof Uint8Array && globalThis.Buffer.isBuffer(value),
        allocUnsafe: (size) => globalThis.Buffer.allocUnsafe(size),
      }`,
    },
  }),
  js('simple-statistics', 'ISC', 'Descriptive statistics, regression, distributions, clusters'),
  js('decimal.js', 'MIT', 'Arbitrary-precision decimal arithmetic'),
  js('yaml', 'ISC', 'Read and write YAML; preserves comments'),
  js('js-yaml', 'MIT', 'Read and write YAML: load and dump'),
  js('marked', 'MIT', 'Convert Markdown to HTML'),
  js('mustache', 'MIT', 'Logic-less templates'),
  js('handlebars', 'MIT', 'Templates with helpers, partials and blocks'),
  js('zod', 'MIT', 'Declare schemas and validate data against them', { default_export: 'namespace' }),
  js('ajv', 'MIT', 'Validate data against JSON Schema'),
  js('fast-xml-parser', 'MIT', 'Read, validate and write XML'),
  js('mathjs', 'Apache-2.0', 'Expressions, units, matrices, fractions, complex and big numbers', {
    // Creating all functions takes 9 billion instructions.
    lazy_instance: { imports: ['all', 'create'], instance: 'create(all)' },
  }),
  js('ml-matrix', 'MIT', 'Matrices: decompositions, inverse, linear systems', {
    default_export: 'namespace',
  }),
  js('d3-array', 'ISC', 'Statistics, bins, groups and other functions on arrays'),
  js('d3-scale', 'ISC', 'Scales and ticks for charts'),
  js('d3-shape', 'ISC', 'Paths of lines, areas, arcs and stacks as SVG text'),
  js('arquero', 'BSD-3-Clause', 'Tables of data: filter, group, join, pivot, CSV'),
  js('xlsx', 'Apache-2.0', 'Read and write Excel workbooks (SheetJS)', {
    default_export: 'namespace',
    // The build for browsers has no access to files.
    setup: `const fs = () => process.getBuiltinModule('fs');
all.set_fs({
  readFileSync: (...args) => fs().readFileSync(...args),
  writeFileSync: (...args) => fs().writeFileSync(...args),
});`,
  }),
  js('pdf-lib', 'MIT', 'Create and change PDF files', { default_export: 'namespace' }),
  js('pdfkit', 'MIT', 'Write PDF documents with text, tables, drawings and images', {
    uses_node_modules: true,
    replaced_modules: {
      module: 'pdfkit/module.js',
      fontkit: 'pdfkit/fontkit.js',
      'brotli/decompress.js': 'pdfkit/brotli.js',
      '@noble/ciphers/aes': 'pdfkit/aes.js',
      'tiny-inflate': 'pdfkit/tiny-inflate.js',
    },
    // The profile of PDF/A is part of the package. The exports are properties of the class, as in the CommonJS form.
    replaced_texts: {
      'new URL("./data/sRGB_IEC61966_2_1.icc", import.meta.url).href': '"pdfkit/sRGB_IEC61966_2_1.icc"',
    },
    setup: `import profile from './js/data/sRGB_IEC61966_2_1.icc';
const { LineWrapper, PDFDocument, registerFile } = all;
Object.assign(whole, { LineWrapper, PDFDocument, registerFile });
registerFile('pdfkit/sRGB_IEC61966_2_1.icc', profile);`,
  }),
  js('jszip', '(MIT OR GPL-3.0-or-later)', 'Read and write ZIP archives'),
  js('fflate', 'MIT', 'Compress and decompress: gzip, zlib, deflate, ZIP'),
  js('uuid', 'MIT', 'Create and parse UUIDs'),
  js('nanoid', 'MIT', 'Create short random identifiers'),
  js('chalk', 'MIT', 'Colours for terminals; returns plain text here, because output is not a terminal'),
  js('cheerio', 'MIT', 'Search and edit HTML and XML with CSS selectors'),
  js('acorn', 'MIT', 'Parse JavaScript into a syntax tree'),
  js('semver', 'ISC', 'Compare versions and ranges'),
  js('validator', 'MIT', 'Check and clean strings: e-mail addresses, URLs, numbers and others'),
  js('immutable', 'MIT', 'Persistent lists, maps, sets and records', { default_export: 'namespace' }),
  js('rxjs', 'Apache-2.0', 'Observables and operators on them', { default_export: 'namespace' }),
  js('moment', 'MIT', 'Dates: parse, format, compare, add; in English'),
  js('docx', 'MIT', 'Write Word documents', { default_export: 'namespace' }),
  js('mammoth', 'BSD-2-Clause', 'Convert Word documents to HTML or text'),
  js('pptxgenjs', 'MIT', 'Write PowerPoint presentations'),
  js('csv-parse', 'MIT', 'Read CSV of any dialect; csv-parse/sync returns the records', {
    subpaths: ['sync'],
    uses_node_modules: true,
  }),
  js('csv-stringify', 'MIT', 'Write CSV; csv-stringify/sync returns the text', {
    subpaths: ['sync'],
    uses_node_modules: true,
  }),
  js('xml2js', 'MIT', 'Convert between XML and objects', { uses_node_modules: true }),
  js('markdown-it', 'MIT', 'Convert Markdown to HTML'),
  js('turndown', 'MIT', 'Convert HTML to Markdown', { uses_node_modules: true }),
  js('commander', 'MIT', 'Parse command lines', { uses_node_modules: true }),
  js('minimist', 'MIT', 'Parse command lines'),
  js('dotenv', 'BSD-2-Clause', 'Parse .env files', { uses_node_modules: true }),
  js('p-limit', 'MIT', 'Limit the number of functions that run at the same time'),
  js('bignumber.js', 'MIT', 'Arbitrary-precision decimal arithmetic'),
];

export const VENDORED_PACKAGES: readonly VendoredPackage[] = [...PYTHON_PACKAGES, ...JAVASCRIPT_PACKAGES];

/** The row of a Python package. As for pip, letter case and the difference between "-", "_" and "." do not matter. */
export function pythonPackage(name: string): VendoredPackage | undefined {
  const plain = (text: string) => text.toLowerCase().replaceAll(/[-_.]+/g, '-');
  return PYTHON_PACKAGES.find((one) => plain(one.name) === plain(name));
}
