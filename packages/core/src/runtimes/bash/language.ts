/** bash as the code above `runtimes/` sees it. */
import { WASI_ERRNO } from '../../kernel/errno.ts';
import type { Language } from '../language.ts';
import { bashExtensions } from './file-extensions.ts';
import { bashGuidance, bashRules } from './guidance/index.ts';
import { quote } from './quote.ts';
import { VARIABLES_PROGRAM } from './variables-program.ts';

const VERSION = '5.2';

/** What bash writes if a program ends too early. */
const ENDS_EARLY =
  /unexpected end of file|unexpected EOF while looking for matching|here-document at line \d{1,9} delimited by end-of-file/;

export const bashLanguage: Language = {
  ...bashExtensions,
  name: 'bash',
  title: 'bash',
  engine: 'GNU bash',
  version: VERSION,
  level: `GNU bash ${VERSION} with about 180 commands (GNU coreutils, sed, grep, awk and find, toybox, jq, sqlite3, zip), python3 and node as processes`,
  entryFiles: ['main.sh', 'run.sh'],
  apiNotes: ({ addsPackages, network }) => [
    'Variables, functions, the working directory and options stay in a session, unless a limit ends the call.',
    'Pipelines, $(…), <(…), background jobs and here-documents work. A process runs to its end before the one that waits for it continues, and a pipe holds at most 16 MiB.',
    'coreutils, sed, grep, awk, find and xargs are those of GNU. tar, diff and others have the usual options of the GNU tools, not all of them.',
    `${network ? 'HTTP requests only to permitted URLs, with curl' : 'No network'}. ${addsPackages ? 'pip install adds known packages of Python' : 'No package managers'}. No job control at a terminal.`,
  ],
  helpers: ['python3', 'node', 'jq', 'sqlite3', 'awk'],
  pitfalls: [],
  unavailable: undefined,
  packagesByPurpose: {},
  speedProgram: `
work() {
  local i words=()
  for ((i = 0; i < 500; i++)); do words[i % 97]=$((i * i)); done
  echo "\${words[*]}" > /dev/null
}
while :; do work; done`,
  checkProgram: 'echo $((6 * 7))',
  documentation: 'docs/SHELL.md',
  errno: WASI_ERRNO,
  guidance: bashGuidance,
  rules: bashRules,
  summary: () => `${VERSION}, GNU coreutils, jq`,
  importStatement: (module) => `source ${quote(module)}`,
  localImports: () => [],
  importedModules: () => [],
  variablesProgram: () => VARIABLES_PROGRAM,
  notebook: { kernel: 'bash', mimeType: 'text/x-sh' },
  unsetVariable: (name) => `unset ${name}`,
  parseProgram: (code) => `bash -n -c ${quote(code)}`,
  isIncomplete: ({ stderr }) => ENDS_EARLY.test(stderr),
};
