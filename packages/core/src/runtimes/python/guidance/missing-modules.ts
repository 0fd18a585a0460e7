/** Modules that programs import and the sandbox does not have, with alternatives. */
import type { Alternative, MissingFeature } from '../../../analysis/rules/rule-factories.ts';

const NO_NETWORK: Alternative = {
  note: 'There is no network: fetch the data outside the sandbox, pass it with the files option, and read it from /app',
  withNetwork: { instead: 'urllib.request or requests' },
};
const NO_SOCKETS: Alternative = {
  ...NO_NETWORK,
  withNetwork: { note: 'Programs have no sockets: send HTTP requests with urllib.request or requests' },
};
const NO_BROWSER =
  'There is no browser and no network: save the page outside the sandbox and pass it with the files option';
const NO_DATABASE_SERVER = 'There is no network, so no database server can be reached';
const NO_SERVER = 'Programs cannot listen on a port: call the functions of the program directly';
const TEXT = 're, string and collections.Counter';
const NUMBERS = 'math, statistics, fractions, decimal, array and list comprehensions';
const TABLES = 'csv, sqlite3, collections and statistics';
const PLOTS =
  "the built-in chart, which needs no import: chart.bar(rows, x='city', y='sales'), also line, scatter, histogram, pie and heatmap";
const IMAGES = 'zlib and struct to write PNG files; SVG is plain text';
const LEARNING = 'statistics (linear_regression, correlation) or plain Python for small models';

const OPTIMISATION: Alternative = {
  instead: 'itertools, heapq and functools.cache for small problems',
  packages: ['scipy', 'networkx'],
};
const PASSWORDS: Alternative = {
  instead:
    "hashlib.pbkdf2_hmac('sha256', password, salt, 10_000), with secrets.token_bytes(16) as the salt, and hmac.compare_digest to compare; each iteration uses about 33,000 fuel",
};

/** By top-level import name. */
export const ALTERNATIVES: Readonly<Record<string, Alternative>> = {
  numpy: { instead: NUMBERS, packages: ['mpmath', 'sympy'] },
  np: { instead: NUMBERS, packages: ['mpmath', 'sympy'] },
  pandas: { instead: TABLES, packages: ['openpyxl'] },
  polars: { instead: TABLES, packages: ['pandas'] },
  pyarrow: { instead: TABLES, packages: ['pandas'] },
  dask: { instead: TABLES, packages: ['pandas'] },
  duckdb: { instead: 'sqlite3' },
  dbm: { instead: 'sqlite3, or json or pickle for a dict, also instead of shelve' },
  scipy: { instead: NUMBERS, packages: ['numpy', 'mpmath', 'sympy'] },
  sklearn: { instead: LEARNING, packages: ['scikit-learn', 'scipy', 'numpy'] },
  scikit_learn: { instead: LEARNING, packages: ['scikit-learn', 'scipy', 'numpy'] },
  statsmodels: { instead: LEARNING, packages: ['scikit-learn', 'scipy', 'numpy'] },
  xgboost: { instead: LEARNING, packages: ['scikit-learn', 'scipy', 'numpy'] },
  torch: { instead: LEARNING, packages: ['scikit-learn', 'scipy', 'numpy'] },
  tensorflow: { instead: LEARNING, packages: ['scikit-learn', 'scipy', 'numpy'] },
  keras: { instead: LEARNING, packages: ['scikit-learn', 'scipy', 'numpy'] },
  transformers: { instead: TEXT },
  nltk: { instead: TEXT },
  spacy: { instead: TEXT },
  matplotlib: { instead: PLOTS, packages: ['altair'] },
  bokeh: { instead: PLOTS, packages: ['matplotlib', 'altair'] },
  PIL: { instead: IMAGES },
  cv2: { instead: IMAGES, packages: ['pillow'] },
  skimage: { instead: IMAGES, packages: ['pillow'] },
  imageio: { instead: IMAGES, packages: ['pillow'] },
  httpx: NO_NETWORK,
  aiohttp: {
    ...NO_NETWORK,
    withNetwork: { instead: 'requests; in async code, await asyncio.to_thread(requests.get, url)' },
  },
  websockets: NO_SOCKETS,
  websocket: NO_SOCKETS,
  paramiko: NO_SOCKETS,
  boto3: NO_NETWORK,
  openai: NO_NETWORK,
  anthropic: NO_NETWORK,
  yfinance: NO_NETWORK,
  selenium: { note: NO_BROWSER, packages: ['beautifulsoup4'] },
  playwright: { note: NO_BROWSER, packages: ['beautifulsoup4'] },
  scrapy: { note: NO_BROWSER, packages: ['beautifulsoup4'] },
  lxml: { instead: 'xml.etree.ElementTree and html.parser', packages: ['defusedxml', 'beautifulsoup4'] },
  flask: { note: NO_SERVER },
  django: { note: NO_SERVER },
  fastapi: { note: NO_SERVER },
  uvicorn: { note: NO_SERVER },
  streamlit: { note: 'Programs cannot listen on a port: print the results or write an HTML file' },
  sqlalchemy: { instead: 'sqlite3' },
  psycopg2: { note: NO_DATABASE_SERVER, instead: 'sqlite3' },
  pymysql: { note: NO_DATABASE_SERVER, instead: 'sqlite3' },
  pymongo: { note: NO_DATABASE_SERVER, instead: 'sqlite3 or JSON files' },
  redis: { note: NO_DATABASE_SERVER, instead: 'a dict or sqlite3' },
  toml: { instead: 'tomllib (in the standard library, read-only)' },
  pptx: { instead: 'zipfile and xml.etree.ElementTree (a .pptx file is a zip of XML)' },
  xmltodict: { instead: 'xml.etree.ElementTree' },
  unidecode: { packages: ['text-unidecode'] },
  fitz: { packages: ['pypdf'] },
  pdfplumber: { packages: ['pypdf'] },
  ortools: OPTIMISATION,
  pulp: OPTIMISATION,
  cvxpy: OPTIMISATION,
  pyomo: OPTIMISATION,
  simpy: { instead: 'heapq as the queue of (time, event) pairs, or generators as processes' },
  cryptography: { instead: 'hashlib, hmac and secrets' },
  Crypto: { instead: 'hashlib, hmac and secrets' },
  bcrypt: PASSWORDS,
  passlib: PASSWORDS,
  argon2: PASSWORDS,
  scrypt: PASSWORDS,
  pydantic: { instead: 'dataclasses and typing', packages: ['attrs', 'jsonschema'] },
  typer: { instead: 'argparse', packages: ['click'] },
  dotenv: { instead: 'os.environ; the policy sets the variables' },
  psutil: { note: 'Programs have no access to information about the host' },
  numba: { instead: 'plain Python', packages: ['numpy'] },
  ujson: { instead: 'json' },
  orjson: { instead: 'json' },
  simplejson: { instead: 'json' },
  pendulum: { instead: 'datetime and zoneinfo', packages: ['arrow'] },
  imp: { instead: 'importlib (imp was removed from Python)' },
  distutils: { instead: 'shutil or sysconfig (distutils was removed from Python)' },
  asyncore: { instead: 'asyncio (asyncore was removed from Python)' },
  cgi: { instead: 'urllib.parse and email.message (cgi was removed from Python)' },
};

/** Modules of the standard library whose names are long enough to be misspelt. */
export const STANDARD_MODULES: readonly string[] =
  'argparse array asyncio base64 bisect calendar cmath collections concurrent configparser contextlib copyreg ctypes dataclasses datetime decimal difflib email fractions functools getpass hashlib heapq importlib inspect itertools keyword linecache locale logging mimetypes numbers operator pathlib pickle platform pprint queue random secrets select shelve shlex shutil signal socket sqlite3 statistics string struct subprocess tarfile tempfile textwrap threading timeit token tokenize tomllib traceback types typing unicodedata unittest urllib warnings weakref zipfile zoneinfo'.split(
    ' ',
  );

/** Packages with compiled code for which no build for WebAssembly exists, by top-level import name. */
export const NO_BUILD: ReadonlySet<string> = new Set(
  'torch tensorflow jax jaxlib keras transformers tokenizers onnxruntime catboost spacy numba ortools psycopg2 psutil fitz pymupdf grpc zmq'.split(
    ' ',
  ),
);

export const PROCESSES: MissingFeature = {
  what: 'processes',
  instead: 'do the work in this process: a loop, a list comprehension or map(function, items)',
};
const DISPLAY: MissingFeature = {
  what: 'a display',
  instead: 'print the result, or write an HTML or SVG file to /app',
};
const TERMINAL: MissingFeature = {
  what: 'a terminal',
  instead: 'print plain text, pass the input in the stdin option, and read it with input()',
};
const WINDOWS: MissingFeature = { what: 'Windows APIs', instead: 'os, pathlib and shutil' };
const JAVASCRIPT_HOST: MissingFeature = {
  what: 'a browser or a JavaScript host',
  instead: 'use Python alone',
};
const INSTALLATION: MissingFeature = {
  what: 'package installation',
  instead: 'import the installed packages directly; they need no installation',
};
const ACCOUNTS: MissingFeature = { what: 'user accounts' };

/** Modules of the standard library and of other environments that need a missing feature, by top-level import name. */
export const UNSUPPORTED_MODULES: Readonly<Record<string, MissingFeature>> = {
  _multiprocessing: PROCESSES,
  _posixshmem: PROCESSES,
  tkinter: DISPLAY,
  _tkinter: DISPLAY,
  turtle: DISPLAY,
  idlelib: DISPLAY,
  curses: TERMINAL,
  _curses: TERMINAL,
  readline: TERMINAL,
  msvcrt: WINDOWS,
  winreg: WINDOWS,
  _winapi: WINDOWS,
  resource: { what: 'limits of a host process', instead: 'the call options fuel_budget and timeout_seconds' },
  js: JAVASCRIPT_HOST,
  pyodide: JAVASCRIPT_HOST,
  pyodide_js: JAVASCRIPT_HOST,
  ensurepip: INSTALLATION,
  venv: INSTALLATION,
  setuptools: INSTALLATION,
  syslog: { what: 'a system log', instead: 'logging or print()' },
  spwd: ACCOUNTS,
  nis: ACCOUNTS,
  ossaudiodev: { what: 'an audio device', instead: 'wave writes audio files' },
  google: { what: 'Google Colab', instead: 'pass files with the files option and read them from /app' },
};
