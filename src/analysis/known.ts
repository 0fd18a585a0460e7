/**
 * Tables of names programs ask for and do not get, with what to use instead. Vendored packages are named only as
 * candidates: what the catalogue does not have is left out when a text is made.
 */

export interface Alternative {
  /** What the standard library or the language offers. */
  readonly instead: string;
  /** Vendored packages that do part of the job, if the catalogue has them. */
  readonly vendored?: readonly string[];
}

const NO_NETWORK = 'there is no network: put the data into /app before the run and read it from there';
const NO_BROWSER = 'there is no browser and no network: save the page into /app before the run';
const NUMBERS = 'math, statistics, fractions, decimal, array and list comprehensions';
const TABLES = 'csv, sqlite3, collections and statistics';
const PLOTS = 'write an SVG or HTML file to /app with plain string formatting, or print a table';
const IMAGES = 'zlib and struct can write PNG files; SVG is plain text';
const LEARNING = 'statistics (linear_regression, correlation) and plain Python for small models';

/** By import name, for Python. */
export const PYTHON_ALTERNATIVES: Readonly<Record<string, Alternative>> = {
  numpy: { instead: NUMBERS, vendored: ['mpmath', 'sympy'] },
  np: { instead: NUMBERS, vendored: ['mpmath', 'sympy'] },
  pandas: { instead: TABLES, vendored: ['openpyxl', 'tabulate', 'petl', 'agate'] },
  polars: { instead: TABLES, vendored: ['openpyxl', 'tabulate'] },
  pyarrow: { instead: TABLES },
  dask: { instead: TABLES },
  duckdb: { instead: 'sqlite3' },
  scipy: { instead: NUMBERS, vendored: ['mpmath', 'sympy'] },
  sklearn: { instead: LEARNING },
  scikit_learn: { instead: LEARNING },
  statsmodels: { instead: LEARNING },
  xgboost: { instead: LEARNING },
  torch: { instead: LEARNING },
  tensorflow: { instead: LEARNING },
  keras: { instead: LEARNING },
  transformers: { instead: 're, string and collections.Counter for simple text work' },
  nltk: { instead: 're, string and collections.Counter for simple text work' },
  spacy: { instead: 're, string and collections.Counter for simple text work' },
  matplotlib: { instead: PLOTS },
  seaborn: { instead: PLOTS },
  plotly: { instead: PLOTS },
  bokeh: { instead: PLOTS },
  altair: { instead: PLOTS },
  PIL: { instead: IMAGES },
  cv2: { instead: IMAGES },
  skimage: { instead: IMAGES },
  imageio: { instead: IMAGES },
  requests: { instead: NO_NETWORK },
  httpx: { instead: NO_NETWORK },
  aiohttp: { instead: NO_NETWORK },
  urllib3: { instead: NO_NETWORK },
  websockets: { instead: NO_NETWORK },
  websocket: { instead: NO_NETWORK },
  paramiko: { instead: NO_NETWORK },
  boto3: { instead: NO_NETWORK },
  openai: { instead: NO_NETWORK },
  anthropic: { instead: NO_NETWORK },
  yfinance: { instead: NO_NETWORK },
  selenium: { instead: NO_BROWSER, vendored: ['beautifulsoup4'] },
  playwright: { instead: NO_BROWSER, vendored: ['beautifulsoup4'] },
  scrapy: { instead: NO_BROWSER, vendored: ['beautifulsoup4'] },
  bs4: { instead: 'html.parser and re', vendored: ['beautifulsoup4', 'html5lib'] },
  lxml: { instead: 'xml.etree.ElementTree and html.parser', vendored: ['defusedxml', 'beautifulsoup4'] },
  flask: { instead: 'nothing can listen on a port here; call the functions of the program directly' },
  django: { instead: 'nothing can listen on a port here; call the functions of the program directly' },
  fastapi: { instead: 'nothing can listen on a port here; call the functions of the program directly' },
  uvicorn: { instead: 'nothing can listen on a port here; call the functions of the program directly' },
  streamlit: { instead: 'nothing can listen on a port here; print the results or write an HTML file' },
  sqlalchemy: { instead: 'sqlite3' },
  psycopg2: { instead: 'sqlite3; there is no network to reach a server' },
  pymysql: { instead: 'sqlite3; there is no network to reach a server' },
  pymongo: { instead: 'sqlite3 or JSON files; there is no network to reach a server' },
  redis: { instead: 'a dict, shelve or sqlite3; there is no network to reach a server' },
  yaml: { instead: 'json or tomllib', vendored: ['pyyaml'] },
  toml: { instead: 'tomllib (part of Python, reading only)' },
  docx: { instead: 'zipfile and xml.etree.ElementTree (a .docx file is a zip of XML)' },
  pptx: { instead: 'zipfile and xml.etree.ElementTree (a .pptx file is a zip of XML)' },
  xlrd: { instead: 'zipfile and xml.etree.ElementTree', vendored: ['openpyxl'] },
  xlsxwriter: { instead: 'csv', vendored: ['openpyxl'] },
  fitz: { instead: 'nothing in the standard library', vendored: ['pypdf', 'PyPDF2', 'pdfminer.six'] },
  pdfplumber: { instead: 'nothing in the standard library', vendored: ['pypdf', 'PyPDF2', 'pdfminer.six'] },
  reportlab: { instead: 'HTML or SVG files', vendored: ['pypdf', 'PyPDF2'] },
  cryptography: { instead: 'hashlib, hmac and secrets' },
  Crypto: { instead: 'hashlib, hmac and secrets' },
  bcrypt: { instead: 'hashlib.scrypt or hashlib.pbkdf2_hmac' },
  pydantic: { instead: 'dataclasses and typing', vendored: ['attrs', 'jsonschema'] },
  tqdm: { instead: 'print a line now and then' },
  rich: { instead: 'str.format and textwrap', vendored: ['tabulate'] },
  click: { instead: 'argparse' },
  typer: { instead: 'argparse' },
  dotenv: { instead: 'os.environ; the policy sets the variables' },
  psutil: { instead: 'nothing: a guest has no view of the machine' },
  pytest: { instead: 'unittest or plain assert statements' },
  numba: { instead: 'plain Python' },
  ujson: { instead: 'json' },
  orjson: { instead: 'json' },
  simplejson: { instead: 'json' },
  pytz: { instead: 'zoneinfo' },
  arrow: { instead: 'datetime and zoneinfo', vendored: ['python-dateutil'] },
  pendulum: { instead: 'datetime and zoneinfo', vendored: ['python-dateutil'] },
  imp: { instead: 'importlib (imp was removed from Python)' },
  distutils: { instead: 'shutil, sysconfig or packaging (distutils was removed from Python)' },
  asyncore: { instead: 'asyncio (asyncore was removed from Python)' },
  cgi: { instead: 'urllib.parse and email.message (cgi was removed from Python)' },
};

/** Modules of the standard library that need what a sandbox does not have, by import name. */
export const PYTHON_UNSUPPORTED_MODULES: Readonly<Record<string, string>> = {
  _multiprocessing: 'processes',
  multiprocessing: 'processes',
  _posixsubprocess: 'processes',
  tkinter: 'a screen',
  _tkinter: 'a screen',
  turtle: 'a screen',
  curses: 'a terminal',
  _curses: 'a terminal',
  readline: 'a terminal',
  msvcrt: 'Windows',
  winreg: 'Windows',
  _winapi: 'Windows',
  resource: 'the limits of a host process',
  js: 'a browser or a JavaScript host',
  pyodide: 'a browser or a JavaScript host',
  pyodide_js: 'a browser or a JavaScript host',
  micropip: 'package installation',
  pip: 'package installation',
  ensurepip: 'package installation',
  venv: 'package installation',
  setuptools: 'package installation',
  idlelib: 'a screen',
  syslog: 'a system log',
  grp: 'user accounts',
  spwd: 'user accounts',
  nis: 'user accounts',
  ossaudiodev: 'an audio device',
  google: 'a Google Colab machine',
  IPython: 'an IPython shell',
};

export interface Unsupported {
  readonly needs: string;
  readonly instead: string;
}

export const FILES_IN_JAVASCRIPT = 'for files use std.loadFile, std.open and os.readdir';
const READ_FILES = 'put the data into /app before the run and read it with std.loadFile';

/** Names that Node or a browser defines and QuickJS does not. */
export const JAVASCRIPT_UNSUPPORTED_NAMES: Readonly<Record<string, Unsupported>> = {
  require: { needs: 'Node.js', instead: FILES_IN_JAVASCRIPT },
  module: { needs: 'Node.js', instead: 'a program is one file: define functions and call them' },
  exports: { needs: 'Node.js', instead: 'a program is one file: define functions and call them' },
  process: { needs: 'Node.js', instead: 'std.exit(code), std.getenv(name) and scriptArgs' },
  Buffer: { needs: 'Node.js', instead: 'Uint8Array, TextEncoder and TextDecoder' },
  __dirname: { needs: 'Node.js', instead: "the path '/app'" },
  __filename: { needs: 'Node.js', instead: "the path '/app/main.js'" },
  global: { needs: 'Node.js', instead: 'globalThis' },
  Deno: { needs: 'Deno', instead: FILES_IN_JAVASCRIPT },
  Bun: { needs: 'Bun', instead: FILES_IN_JAVASCRIPT },
  fetch: { needs: 'a network', instead: READ_FILES },
  XMLHttpRequest: { needs: 'a network', instead: READ_FILES },
  WebSocket: { needs: 'a network', instead: READ_FILES },
  EventSource: { needs: 'a network', instead: READ_FILES },
  Request: { needs: 'a network', instead: READ_FILES },
  Response: { needs: 'a network', instead: READ_FILES },
  Headers: { needs: 'a network', instead: 'a Map or a plain object' },
  axios: { needs: 'a network', instead: READ_FILES },
  window: { needs: 'a browser', instead: 'globalThis' },
  document: { needs: 'a browser', instead: 'build HTML as text and write it to a file' },
  navigator: { needs: 'a browser', instead: 'nothing: there is no browser to ask' },
  location: { needs: 'a browser', instead: 'nothing: there is no page' },
  self: { needs: 'a browser', instead: 'globalThis' },
  alert: { needs: 'a browser', instead: 'console.log' },
  prompt: { needs: 'a browser', instead: 'standard input: std.in.getline()' },
  confirm: { needs: 'a browser', instead: 'standard input: std.in.getline()' },
  localStorage: { needs: 'a browser', instead: 'a file in /app: std.open and std.loadFile' },
  sessionStorage: { needs: 'a browser', instead: 'a file in /app: std.open and std.loadFile' },
  indexedDB: { needs: 'a browser', instead: 'a file in /app: std.open and std.loadFile' },
  requestAnimationFrame: { needs: 'a browser', instead: 'setTimeout' },
  Image: { needs: 'a browser', instead: 'nothing: there is no image decoder' },
  FileReader: { needs: 'a browser', instead: 'std.loadFile' },
  HTMLElement: { needs: 'a browser', instead: 'build HTML as text' },
  Worker: { needs: 'threads', instead: 'do the work in one thread' },
  SharedArrayBuffer: { needs: 'threads', instead: 'ArrayBuffer' },
  Intl: { needs: 'locale data', instead: 'format numbers and dates with plain code' },
  WebAssembly: { needs: 'a WebAssembly engine inside the guest', instead: 'plain JavaScript' },
};

/** Modules of Node by name, with or without `node:`. */
export const NODE_MODULES = new Set(
  'assert async_hooks buffer child_process cluster console constants crypto dgram dns domain events fs fs/promises http http2 https inspector module net os path perf_hooks process punycode querystring readline repl stream string_decoder sys timers tls tty url util v8 vm wasi worker_threads zlib'.split(
    ' ',
  ),
);

/** Error numbers as each guest knows them: Python's are those of WASI, the JavaScript modules use those of Linux. */
export const ERRNO = {
  python: {
    EACCES: 2,
    EAFNOSUPPORT: 5,
    EDQUOT: 19,
    EEXIST: 20,
    EFBIG: 22,
    EISDIR: 31,
    EMFILE: 33,
    ENAMETOOLONG: 37,
    ENOENT: 44,
    ENOSPC: 51,
    ENOSYS: 52,
    ENOTDIR: 54,
    ENOTEMPTY: 55,
    ENOTSUP: 58,
    EPERM: 63,
    EROFS: 69,
    EXDEV: 75,
    EOPNOTSUPP: 138,
  },
  javascript: {
    EPERM: 1,
    ENOENT: 2,
    EACCES: 13,
    EEXIST: 17,
    EXDEV: 18,
    ENOTDIR: 20,
    EISDIR: 21,
    EMFILE: 24,
    EFBIG: 27,
    ENOSPC: 28,
    EROFS: 30,
    ENAMETOOLONG: 36,
    ENOSYS: 38,
    ENOTEMPTY: 39,
    ENOTSUP: 95,
    EOPNOTSUPP: 95,
    EAFNOSUPPORT: 97,
    EDQUOT: 122,
  },
} as const;
export type ErrnoName = keyof (typeof ERRNO)['python'];
