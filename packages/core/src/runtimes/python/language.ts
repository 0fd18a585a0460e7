/** Python as the code above `runtimes/` sees it. */
import { WASI_ERRNO } from '../../kernel/errno.ts';
import { PYTHON_VERSION } from '../../packages/python-abi.ts';
import { type Language, MAX_VARIABLES } from '../language.ts';
import { pythonExtensions } from './file-extensions.ts';
import { pythonGuidance, pythonRules } from './guidance/index.ts';
import { completionProgram, descriptionProgram } from './introspection.ts';
import { importedModules, localImports } from './syntax/local-imports.ts';

export const pythonLanguage: Language = {
  ...pythonExtensions,
  name: 'python',
  title: 'Python',
  engine: 'CPython',
  version: PYTHON_VERSION,
  level: `Python ${PYTHON_VERSION} with its standard library`,
  entryFiles: ['__main__.py', 'main.py', 'app.py'],
  apiNotes: ({ addsPackages, network }) => [
    `Packages are already on sys.path: import them directly; ${addsPackages ? 'other known packages are added when a program imports them' : 'programs cannot install others'}.`,
    'Files: the working directory is /app; open("data.csv") and open("/app/data.csv") are the same file.',
    'The value of a trailing expression is returned as result.',
    `${network ? 'HTTP requests only to permitted URLs, no sockets' : 'No network'}. subprocess runs python3, node and commands such as grep and awk. Threads and multiprocessing take turns in one interpreter; asyncio works.`,
  ],
  helpers: [
    'automatic sys.path (/app and the packages)',
    'display(value)',
    'chart.bar(data) and other charts',
  ],
  pitfalls: ["FileNotFoundError: host paths do not exist here. Use '/app/data.txt' or a relative path."],
  unavailable: {
    packages: ['numpy', 'pandas', 'matplotlib', 'Pillow'],
    instead: 'use csv, sqlite3, statistics; chart.bar() for charts',
  },
  packagesByPurpose: {
    arrays: ['numpy', 'scipy'],
    'data frames': ['pandas'],
    charts: ['matplotlib'],
    images: ['pillow'],
    'machine learning': ['scikit-learn'],
    Excel: ['openpyxl'],
    PDF: ['pypdf'],
    mathematics: ['sympy'],
    graphs: ['networkx'],
    HTML: ['beautifulsoup4'],
    templates: ['jinja2'],
    YAML: ['pyyaml'],
    tests: ['pytest'],
  },
  speedProgram: `
def work():
    counts = {}
    for i in range(2_000):
        key = i % 97
        counts[key] = counts.get(key, 0) + i * i
    words = sorted(str(n) for n in counts.values())
    return [word[::-1] for word in ' '.join(words).split()]
while True:
    work()`,
  checkProgram: 'print(6 * 7)',
  documentation: 'docs/PYTHON_CAPABILITIES.md',
  errno: WASI_ERRNO,
  guidance: pythonGuidance,
  rules: pythonRules,
  summary: (packages) => `${PYTHON_VERSION}, standard library, ${packages}`,
  importStatement: (module) => `import ${module}`,
  localImports,
  importedModules,
  variablesProgram: () => `__import__('_sandbox').variables(${MAX_VARIABLES})`,
  notebook: { kernel: 'python3', mimeType: 'text/x-python' },
  completionProgram,
  descriptionProgram,
  // A JSON string is also a Python literal.
  unsetVariable: (name) => `__import__('os').environ.pop('${name}', None)`,
  parseProgram: (code) => `
import ast, codeop
compile_command = codeop.CommandCompiler()
compile_command.compiler.flags |= ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
try:
    is_incomplete = compile_command(${JSON.stringify(code)}) is None
except (SyntaxError, ValueError, OverflowError):
    is_incomplete = False
is_incomplete`,
  isIncomplete: ({ metadata }) => metadata.result === true,
};
