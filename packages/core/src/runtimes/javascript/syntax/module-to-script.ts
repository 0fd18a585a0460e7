/**
 * Rewrites a module to a script. Modules run as strict scripts with top-level await: a script has a completion value, and
 * later programs see its variables. Module syntax is replaced with blanks, so that lines and
 * columns do not change; the boot script performs the imports first.
 * Invariant: the guest runs the rewritten text only if its compiler rejects the original as a script.
 */
import { endsOperand, type Proceed, type Token, tokenize } from './tokenizer.ts';

interface ImportDeclaration {
  readonly specifier: string;
  /** Pairs of exported and local names; `*` is the namespace. */
  readonly names: readonly (readonly [string, string])[];
  readonly line: number;
}

export interface ProgramPlan {
  /** The last statement is an expression, whose value is the program's result. */
  readonly trailing: boolean;
  /** The program, if it differs from the original although it contains no module syntax. */
  readonly code?: string;
  /** The program as a script, if it contains module syntax that could be removed. */
  readonly script?: string;
  readonly imports: readonly ImportDeclaration[];
  /** The program contains the word `await`, or could not be analysed: only the compiler can tell whether it is a module. */
  readonly awaits: boolean;
}

const IDENTIFIER = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u;
/** Longest name of a variable that is listed. */
const MAX_NAME = 200;

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

/** `proceed` is called before each part of the program. If it returns false, the program is not analysed. */
export function planProgram(code: string, proceed?: Proceed): ProgramPlan {
  const tokens = readTokens(code, proceed);
  // The program does not compile, is too long to analyse, or has reached a limit.
  if (tokens === undefined) return { trailing: true, imports: [], awaits: true };
  const starts = statementStarts(tokens);
  return {
    trailing: endsInExpression(tokens, starts),
    imports: [],
    ...rewrite(code, tokens, starts),
    awaits: tokens.some(({ kind, text }) => kind === 'word' && text === 'await'),
  };
}

/** Whether the declaration that starts at token `i` takes its value from `require`. */
function requires(tokens: readonly Token[], i: number): boolean {
  if (tokens[i]!.text !== 'const' && tokens[i]!.text !== 'let') return false;
  let at = i + 1;
  if (tokens[at]?.text === '{') at = afterBracket(tokens, at);
  else if (isName(tokens[at])) at++;
  else return false;
  return tokens[at]?.text === '=' && tokens[at + 1]?.text === 'require' && tokens[at + 2]?.text === '(';
}

/**
 * Removes module syntax, and declares variables for required modules with `var`, so that every program of a session can
 * contain `const fs = require('fs')`.
 */
function rewrite(
  code: string,
  tokens: readonly Token[],
  starts: readonly number[],
): { code?: string; script?: string; imports?: readonly ImportDeclaration[] } {
  const declarations = starts.filter((i) => requires(tokens, i)).map((i) => tokens[i]!);
  const asVar = (text: string) => {
    let script = '';
    let done = 0;
    for (const { start, end } of declarations) {
      script += `${text.slice(done, start)}var`.padEnd(script.length + start - done + (end - start));
      done = end;
    }
    return script + text.slice(done);
  };
  const removed = removeModuleSyntax(code, tokens, starts);
  // All replacements have the length of the original, so positions stay the same.
  if (removed.script !== undefined) return { ...removed, script: asVar(removed.script) };
  return declarations.length === 0 ? {} : { code: asVar(code) };
}

function readTokens(code: string, proceed?: Proceed): Token[] | undefined {
  try {
    return tokenize(code, { proceed });
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
  return tokens[i]?.text === 'async' && tokens[i + 1]?.text === 'function';
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

function removeModuleSyntax(
  code: string,
  tokens: readonly Token[],
  starts: readonly number[],
): { script?: string; imports?: readonly ImportDeclaration[] } {
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
      const found = readImport(tokens, i);
      if (found === undefined) return {};
      imports.push({ specifier: found.specifier, names: found.names, line: lineAt(token.start) });
      replace(token.start, found.end, blank(code.slice(token.start, found.end)));
    } else if (isStart.has(i) && token.text === 'export') {
      const found = readExport(tokens, i);
      if (found.specifier !== undefined) imports.push({ specifier: found.specifier, names: [], line: 1 });
      replace(token.start, found.end, blank(code.slice(token.start, found.end), found.by));
    }
  }
  return done === 0 ? {} : { script: script + code.slice(done), imports };
}

const isName = (token: Token | undefined): token is Token =>
  token?.kind === 'word' && IDENTIFIER.test(token.text);

/** The text of a string literal without escapes. */
function plainString(token: Token | undefined): string | undefined {
  return token?.kind !== 'string' || token.text.includes('\\') ? undefined : token.text.slice(1, -1);
}

/** The index after the bracket that closes the one at `i`. */
function afterBracket(tokens: readonly Token[], i: number): number {
  const { depth } = tokens[i]!;
  let at = i + 1;
  while (at < tokens.length && tokens[at]!.depth > depth) at++;
  return at + 1;
}

/** The position in the source after the import attributes and the semicolon that may follow token `i`. */
function declarationEnd(tokens: readonly Token[], i: number): number {
  let next = i + 1;
  if (tokens[next]?.text === 'with' && tokens[next + 1]?.text === '{') next = afterBracket(tokens, next + 1);
  const semicolon = tokens[next];
  const hasSemicolon = semicolon?.text === ';' && !semicolon.newlineBefore;
  return (hasSemicolon ? semicolon : tokens[next - 1]!).end;
}

/** Reads `from 'x'` at token `i`. */
function readFrom(tokens: readonly Token[], i: number): { specifier: string; end: number } | undefined {
  const specifier = tokens[i]?.text === 'from' ? plainString(tokens[i + 1]) : undefined;
  return specifier === undefined ? undefined : { specifier, end: declarationEnd(tokens, i + 1) };
}

interface ParsedImport {
  readonly specifier: string;
  readonly names: readonly (readonly [string, string])[];
  readonly end: number;
}

/** Reads the import declaration whose keyword is token `i`. */
function readImport(tokens: readonly Token[], i: number): ParsedImport | undefined {
  const names: [string, string][] = [];
  let at = i + 1;
  const side = plainString(tokens[at]);
  if (side !== undefined) return { specifier: side, names, end: declarationEnd(tokens, at) };
  const isNamedFrom = tokens[at]?.text === 'from' && tokens[at + 1]?.text !== 'from';
  const first = tokens[at];
  if (isName(first) && !isNamedFrom) {
    names.push(['default', first.text]);
    at++;
    if (tokens[at]?.text === ',') at++;
    // `import type { A } from 'x'` is TypeScript.
    else if (tokens[at]?.text !== 'from') return undefined;
  }
  const namespace = tokens[at + 2];
  if (tokens[at]?.text === '*' && tokens[at + 1]?.text === 'as' && isName(namespace)) {
    names.push(['*', namespace.text]);
    at += 3;
  } else if (tokens[at]?.text === '{') {
    const end = afterBracket(tokens, at);
    const list = readNames(tokens.slice(at + 1, end - 1));
    if (list === undefined) return undefined;
    for (const one of list) names.push(one);
    at = end;
  }
  const from = readFrom(tokens, at);
  return from && { ...from, names };
}

/** Reads `a, b as c`. */
function readNames(tokens: readonly Token[]): [string, string][] | undefined {
  const names: [string, string][] = [];
  for (let at = 0; at < tokens.length; at++) {
    const name = tokens[at]!;
    if (!isName(name)) return undefined;
    const alias = tokens[at + 1]?.text === 'as' ? tokens[at + 2] : name;
    if (!isName(alias)) return undefined;
    names.push([name.text, alias.text]);
    at += alias === name ? 1 : 3;
    if (at < tokens.length && tokens[at]!.text !== ',') return undefined;
  }
  return names;
}

/** Reads the export whose keyword is token `i`: the end of what is to be replaced, and the start of the replacement. */
function readExport(tokens: readonly Token[], i: number): { end: number; by?: string; specifier?: string } {
  const next = tokens[i + 1];
  if (next?.text === '{' || next?.text === '*') {
    let at = next.text === '{' ? afterBracket(tokens, i + 1) : i + 2;
    if (next.text === '*' && tokens[at]?.text === 'as' && isName(tokens[at + 1])) at += 2;
    return readFrom(tokens, at) ?? { end: declarationEnd(tokens, at - 1) };
  }
  if (next?.text !== 'default') return { end: tokens[i]!.end };
  return {
    end: next.end,
    ...(declaredName(tokens, i + 2) === undefined && { by: ';var default_=' }),
  };
}

/** The name that the function or class declaration at token `i` declares. */
function declaredName(tokens: readonly Token[], i: number): string | undefined {
  let at = isAsyncFunction(tokens, i) ? i + 1 : i;
  const isFunction = tokens[at]?.text === 'function';
  if (!isFunction && tokens[at]?.text !== 'class') return undefined;
  at++;
  if (isFunction && tokens[at]?.text === '*') at++;
  const name = tokens[at];
  return isName(name) && name.text !== 'extends' ? name.text : undefined;
}

/**
 * The names that the top-level `let`, `const`, `class` and `function` declarations of a program declare, the first name
 * of each; at most `max`. Empty for a program that cannot be tokenised.
 */
export function declaredNames(code: string, max: number): string[] {
  const tokens = readTokens(code) ?? [];
  const names: string[] = [];
  for (const start of statementStarts(tokens)) {
    if (names.length >= max) break;
    let at = start;
    if (tokens[at]!.text === 'export') at += tokens[at + 1]?.text === 'default' ? 2 : 1;
    const variable = tokens[at + 1];
    const isVariable = (tokens[at]?.text === 'let' || tokens[at]?.text === 'const') && isName(variable);
    const name = isVariable ? variable.text : declaredName(tokens, at);
    if (name !== undefined && name.length <= MAX_NAME) names.push(name);
  }
  return names;
}
