/**
 * Prepares a program for the guest. `main.js` is a module to its author, but runs as a strict script with top-level
 * await: that gives it a completion value, and names that later programs can see. What only modules may contain is
 * taken out, character for character, so that lines and columns stay as they are; imports are done before it.
 * Invariant: the guest uses the rewritten text only when its own compiler refuses the original as a script.
 */
import { endsOperand, type Token, tokenize } from './tokenizer.ts';

export interface Import {
  readonly specifier: string;
  /** Pairs of exported and local name; `*` is the namespace. */
  readonly names: readonly (readonly [string, string])[];
  readonly line: number;
}

export interface Program {
  /** Whether the last statement is an expression, whose value is the program's result. */
  readonly trailing: boolean;
  /** The program as a script, when it has module syntax that could be taken out. */
  readonly script?: string;
  readonly imports: readonly Import[];
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

/** Words a statement can start with and not be an expression. */
const STATEMENT_WORDS = new Set(
  'const let var function class if else for while do switch try catch finally return throw break continue debugger import export with'.split(
    ' ',
  ),
);
/** Statements that a closing brace can end. */
const BRACED_WORDS = new Set('function class if else for while do switch try catch finally with'.split(' '));
const CONTINUING_WORDS = new Set(['else', 'catch', 'finally', 'in', 'instanceof', 'of', 'as', 'from']);
/** Punctuators that can begin a statement; after a new line those that could also go on with the last one do so. */
const OPENING = new Set(['{', '(', '[', '+', '-', '!', '~', '++', '--', '@', '#', '...']);
const UNAMBIGUOUS = new Set(['{', '!', '~', '++', '--', '@', '#']);

export function planProgram(code: string): Program {
  const tokens = readTokens(code);
  // What cannot be read here will not compile either, or has a value nobody should rely on.
  if (tokens === undefined) return { trailing: true, imports: [] };
  const starts = statementStarts(tokens);
  return {
    trailing: endsInExpression(tokens, starts),
    imports: [],
    ...takeOutModuleSyntax(code, tokens, starts),
  };
}

function readTokens(code: string): Token[] | undefined {
  try {
    return tokenize(code);
  } catch (cause) {
    // A literal longer than the host's regular expressions can go through.
    if (cause instanceof RangeError) return undefined;
    throw cause;
  }
}

/** Indices of the tokens that begin a statement of the program itself. */
function statementStarts(tokens: readonly Token[]): number[] {
  const starts: number[] = [];
  tokens.forEach((token, i) => {
    const first = starts.at(-1);
    if (token.depth === 0 && (first === undefined || beginsStatement(tokens, i, first))) starts.push(i);
  });
  return starts;
}

/** Whether token `i` begins a statement, when the one before it begins at `start`. */
function beginsStatement(tokens: readonly Token[], i: number, start: number): boolean {
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
    // A body such as that of an arrow function ends an operand too.
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

/** Blanks `text` but for its line ends, so that nothing moves; the semicolon keeps its neighbours apart. */
function blank(text: string, start = ';'): string {
  return start + text.slice(start.length).replace(/[^\n\r\u2028\u2029]/g, ' ');
}

function takeOutModuleSyntax(code: string, tokens: readonly Token[], starts: readonly number[]) {
  const imports: Import[] = [];
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
      // As long as what it replaces; the boot script defines it.
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
