/**
 * Rewrites a module to a script. Programs are written as modules, but run as strict scripts with top-level await: a script
 * has a completion value, and later programs see its variables. Module syntax is replaced with blanks, so that lines and
 * columns do not change; the boot script performs the imports first.
 * Invariant: the guest runs the rewritten text only if its compiler rejects the original as a script.
 */
import { endsOperand, type Token, tokenize } from './tokenizer.ts';

export interface ImportDeclaration {
  readonly specifier: string;
  /** Pairs of exported and local names; `*` is the namespace. */
  readonly names: readonly (readonly [string, string])[];
  readonly line: number;
}

export interface ProgramPlan {
  /** The last statement is an expression, whose value is the program's result. */
  readonly trailing: boolean;
  /** The program as a script, if it contains module syntax that could be removed. */
  readonly script?: string;
  readonly imports: readonly ImportDeclaration[];
}

const NAME = '[\\p{ID_Start}$_][\\p{ID_Continue}$]*';
const STRING = `'[^'\\\\\\n]*'|"[^"\\\\\\n]*"`;
const GAP = '(?:\\s|/\\*[^*]*\\*/|//[^\\n]*\\n)*';
const FROM = `from${GAP}(${STRING})`;
const ATTRIBUTES = `(?:\\s+with\\s*\\{[^}]*\\})?[ \\t]*;?`;
const IMPORT_SIDE = new RegExp(`import${GAP}(${STRING})${ATTRIBUTES}`, 'uy');
const IMPORT = new RegExp(
  `import\\b${GAP}(?:(${NAME})${GAP}(?:,${GAP})?)?(?:\\*${GAP}as\\s${GAP}(${NAME})${GAP}|(\\{[^{}'"]*\\})${GAP})?${FROM}${ATTRIBUTES}`,
  'uy',
);
const EXPORT_LIST = new RegExp(
  `export${GAP}(?:\\{[^{}]*\\}|\\*(?:${GAP}as\\s${GAP}${NAME})?)${GAP}(?:${FROM})?${ATTRIBUTES}`,
  'uy',
);
const EXPORT_DEFAULT = /export\s+default\b/y;
const NAMED = new RegExp(
  `\\s+(?:(?:async\\s+)?function\\b\\s*\\*?|class\\b)${GAP}(?!extends\\b)${NAME}`,
  'uy',
);
const COMMENT = /\/\*[\s\S]*?\*\/|\/\/[^\n]*/g;

/** Keywords that start a statement other than an expression. */
const STATEMENT_WORDS = new Set(
  'const let var function class if else for while do switch try catch finally return throw break continue debugger import export with'.split(
    ' ',
  ),
);
/** Keywords of statements that can end with a closing brace. */
const BRACED_WORDS = new Set('function class if else for while do switch try catch finally with'.split(' '));
const CONTINUING_WORDS = new Set(['else', 'catch', 'finally', 'in', 'instanceof', 'of', 'as', 'from']);
/** Punctuators that can start a statement. */
const OPENING = new Set(['{', '(', '[', '+', '-', '!', '~', '++', '--', '@', '#', '...']);
/** Those that start a statement after a newline. The others continue the statement before them. */
const UNAMBIGUOUS = new Set(['{', '!', '~', '++', '--', '@', '#']);

export function planProgram(code: string): ProgramPlan {
  const tokens = readTokens(code);
  // The program does not compile, or is too long to analyse.
  if (tokens === undefined) return { trailing: true, imports: [] };
  const starts = statementStarts(tokens);
  return {
    trailing: endsInExpression(tokens, starts),
    imports: [],
    ...removeModuleSyntax(code, tokens, starts),
  };
}

function readTokens(code: string): Token[] | undefined {
  try {
    return tokenize(code);
  } catch (cause) {
    // A literal is too long for the regular expressions of the host.
    if (cause instanceof RangeError) return undefined;
    throw cause;
  }
}

/** Indices of the tokens that start a top-level statement. */
function statementStarts(tokens: readonly Token[]): number[] {
  const starts: number[] = [];
  tokens.forEach((token, i) => {
    const first = starts.at(-1);
    if (token.depth === 0 && (first === undefined || startsStatement(tokens, i, first))) starts.push(i);
  });
  return starts;
}

/** Whether token `i` starts a statement, given that the previous statement starts at `start`. */
function startsStatement(tokens: readonly Token[], i: number, start: number): boolean {
  const token = tokens[i]!;
  const first = tokens[start]!;
  const previous = tokens[i - 1]!;
  if (previous.depth > 0) return false;
  if (token.text === ';' && token.kind === 'punctuator') return false;
  if (token.kind === 'word' && CONTINUING_WORDS.has(token.text)) return false;
  if (token.kind === 'punctuator' && !OPENING.has(token.text)) return false;
  if (previous.text === ';') return true;
  const ended = previous.text === '}' && previous.endsBlock;
  if (ended && (first.text === '{' || BRACED_WORDS.has(first.text) || isAsyncFunction(tokens, start)))
    return true;
  if (!token.newlineBefore || !endsOperand(tokens.slice(Math.max(0, i - 2), i))) {
    // The body of an arrow function also ends an operand.
    if (!(token.newlineBefore && ended)) return false;
  }
  return token.kind === 'punctuator'
    ? UNAMBIGUOUS.has(token.text)
    : token.kind !== 'template' && token.kind !== 'regex';
}

function isAsyncFunction(tokens: readonly Token[], i: number): boolean {
  return tokens[i]!.text === 'async' && tokens[i + 1]?.text === 'function';
}

function endsInExpression(tokens: readonly Token[], starts: readonly number[]): boolean {
  const last = starts.at(-1);
  if (last === undefined) return false;
  const token = tokens[last]!;
  if (token.kind === 'punctuator') return token.text !== '{' && token.text !== '@';
  return !(token.kind === 'word' && (STATEMENT_WORDS.has(token.text) || isAsyncFunction(tokens, last)));
}

/** Replaces all characters except line ends with blanks. The semicolon separates the neighbouring statements. */
function blank(text: string, start = ';'): string {
  return start + text.slice(start.length).replace(/[^\n\r\u2028\u2029]/g, ' ');
}

function removeModuleSyntax(code: string, tokens: readonly Token[], starts: readonly number[]) {
  const imports: ImportDeclaration[] = [];
  let script = '';
  let done = 0;
  let line = 1;
  let counted = 0;
  const lineAt = (at: number) => {
    for (; counted < at; counted++) if (code[counted] === '\n') line++;
    return line;
  };
  const replace = (start: number, end: number, by: string) => {
    script += code.slice(done, start) + by;
    done = end;
  };
  const isStart = new Set(starts);
  for (const [i, token] of tokens.entries()) {
    if (token.kind !== 'word' || token.start < done || tokens[i - 1]?.text === '.') continue;
    if (token.text === 'import' && tokens[i + 1]?.text === '.') {
      if (code.slice(token.start, tokens[i + 2]?.end) !== 'import.meta') return {};
      // Same length as the original; the boot script defines the variable.
      replace(token.start, tokens[i + 2]!.end, 'import_meta');
    } else if (isStart.has(i) && token.text === 'import' && tokens[i + 1]?.text !== '(') {
      const found = readImport(code, token.start);
      if (found === undefined) return {};
      imports.push({ specifier: found.specifier, names: found.names, line: lineAt(token.start) });
      replace(token.start, token.start + found.text.length, blank(found.text));
    } else if (isStart.has(i) && token.text === 'export') {
      const found = readExport(code, token.start);
      if (found.specifier !== undefined) imports.push({ specifier: found.specifier, names: [], line: 1 });
      replace(token.start, token.start + found.text.length, found.by);
    }
  }
  return done === 0 ? {} : { script: script + code.slice(done), imports };
}

function matchAt(pattern: RegExp, code: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(code);
}

const unquote = (text: string) => text.slice(1, -1);

function readImport(code: string, at: number) {
  const side = matchAt(IMPORT_SIDE, code, at);
  if (side !== null) return { text: side[0], specifier: unquote(side[1]!), names: [] };
  const found = matchAt(IMPORT, code, at);
  if (found === null) return undefined;
  const [text, byDefault, namespace, list, specifier] = found;
  const names: [string, string][] = [];
  if (byDefault !== undefined) names.push(['default', byDefault]);
  if (namespace !== undefined) names.push(['*', namespace]);
  for (const item of list?.slice(1, -1).replace(COMMENT, '').split(',') ?? []) {
    const [name, as, local] = item.trim().split(/\s+/);
    if (name) names.push([name, as === 'as' && local ? local : name]);
  }
  return { text, specifier: unquote(specifier!), names };
}

function readExport(code: string, at: number): { text: string; by: string; specifier?: string } {
  const list = matchAt(EXPORT_LIST, code, at);
  if (list !== null) {
    const [text, from] = list;
    return { text, by: blank(text), ...(from !== undefined && { specifier: unquote(from) }) };
  }
  const byDefault = matchAt(EXPORT_DEFAULT, code, at);
  if (byDefault === null) return { text: 'export', by: blank('export') };
  const [text] = byDefault;
  const isNamed = matchAt(NAMED, code, at + text.length) !== null;
  return { text, by: blank(text, isNamed ? ';' : ';var default_=') };
}
