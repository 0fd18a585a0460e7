/**
 * Splits JavaScript into tokens, precisely enough to find statements, in one pass and linear time. Whether a slash is a
 * division or starts a regular expression is decided by the tokens before it. A wrong guess is harmless: see
 * module-to-script.ts.
 */

export interface Token {
  readonly kind: 'word' | 'number' | 'string' | 'template' | 'regex' | 'punctuator';
  readonly text: string;
  readonly start: number;
  readonly end: number;
  /** Number of enclosing brackets. A closing bracket has the depth of its opening bracket. */
  readonly depth: number;
  readonly newlineBefore: boolean;
  /** For a closing brace: it ends a block or body, not an object literal. */
  readonly endsBlock: boolean;
}

interface Bracket {
  readonly text: string;
  /** For a parenthesis: it follows `if`, `for`, `while` or `with`. For a brace: it contains statements or members. */
  readonly isHead: boolean;
}

const SPACE = /[\s\uFEFF]+|\/\/[^\n\r\u2028\u2029]*/y;
const WORD =
  /(?:#?[\p{ID_Start}$_]|\\u[\da-fA-F{])(?:[\p{ID_Continue}$\u200c\u200d]|\\u\{[\da-fA-F]{1,8}\}|\\u[\da-fA-F]{4})*/uy;
const NUMBER = /\.?\d(?:[eE][+-]|[\w.])*/y;
const STRING = /'(?:[^'\\\n\r]|\\[\s\S])*'|"(?:[^"\\\n\r]|\\[\s\S])*"/y;
const REGEX = /\/(?![*/])(?:[^\\/[\n\r]|\\[^\n\r]|\[(?:[^\]\\\n\r]|\\[^\n\r])*\])+\/\w*/y;
const TEMPLATE = /(?:[^`\\$]|\\[\s\S]|\$(?!\{))*(`|\$\{)/y;
const PUNCTUATOR = /=>|\.\.\.|\+\+|--|\?\.(?!\d)|[-+*/%&|^!=<>?~@.,;:(){}[\]#]/y;
const NEWLINE = /[\n\r\u2028\u2029]/;
/** A word of ASCII letters, digits, `$` and `_`. Faster than WORD. */
const ASCII_WORD = /[A-Za-z_$][\w$]*(?![\w$\\]|[^\0-\x7f])/y;

/** What can start with a character. `single` is a punctuator that is not the start of another one. */
const START = { space: 1, word: 2, number: 4, string: 8, single: 16 } as const;
const ANY_START = 31 & ~START.single;
/** By ASCII code, so that patterns that cannot match are not tried. */
const STARTS = Uint8Array.from({ length: 128 }, (_, code) => {
  const char = String.fromCharCode(code);
  return (
    (/[\s/]/.test(char) ? START.space : 0) |
    (/[A-Za-z_$#\\]/.test(char) ? START.word : 0) |
    (/[\d.]/.test(char) ? START.number : 0) |
    (/['"]/.test(char) ? START.string : 0) |
    (/[*%&|^!<>~@,;:(){}[\]]/.test(char) ? START.single : 0)
  );
});

/** Longest program to tokenise unless the caller chooses another limit, in characters. */
const MAX_LENGTH = 300_000;
/** Slashes that may fail to start a regular expression. Each failure searches to the end of the line. */
const MAX_WRONG_SLASHES = 100;

/** Keywords followed by an operand, so that a slash starts a regular expression and a brace an object. */
const OPERATOR_WORDS = new Set(
  'return typeof instanceof in of new delete void throw case yield await'.split(' '),
);
const HEAD_WORDS = new Set(['if', 'for', 'while', 'with']);
const BLOCK_WORDS = new Set(['else', 'do', 'try', 'finally']);
const CLOSING = new Set([')', ']', '}']);

/** Characters between two calls of `Proceed`. They take a few milliseconds. */
const STEP_CHARS = 4096;

/** Called with the number of characters that come next. Returns false to stop. */
export type Proceed = (characters: number) => boolean;

interface TokenizeOptions {
  readonly maxLength?: number;
  readonly proceed?: Proceed | undefined;
}

/** The tokens of `code`, or undefined if it is incomplete, not JavaScript, too long, or if `proceed` returns false. */
export function tokenize(
  code: string,
  { maxLength = MAX_LENGTH, proceed = () => true }: TokenizeOptions = {},
): Token[] | undefined {
  if (code.length > maxLength) return undefined;
  let wrongSlashes = 0;
  let paid = 0;
  const tokens: Token[] = [];
  const open: Bracket[] = [];
  let at = code.startsWith('#!') ? Math.max(0, code.search(NEWLINE)) : 0;
  let newlineBefore = false;

  const match = (pattern: RegExp) => {
    pattern.lastIndex = at;
    return pattern.test(code) ? code.slice(at, pattern.lastIndex) : undefined;
  };
  const push = (kind: Token['kind'], text: string, endsBlock = false) => {
    tokens.push({
      kind,
      text,
      start: at,
      end: at + text.length,
      depth: open.length,
      newlineBefore,
      endsBlock,
    });
    at += text.length;
    newlineBefore = false;
  };
  /** Reads a template literal up to its end or to the next expression in it. */
  const template = (): boolean => {
    const text = match(TEMPLATE);
    if (text === undefined) return false;
    if (text.endsWith('`')) push('template', text);
    else {
      open.push({ text: '${', isHead: false });
      at += text.length;
    }
    return true;
  };

  while (at < code.length) {
    if (at >= paid) {
      const next = Math.min(code.length, at + STEP_CHARS);
      if (!proceed(next - paid)) return undefined;
      paid = next;
    }
    const starts = STARTS[code.charCodeAt(at)] ?? ANY_START;
    const space = (starts & START.space) === 0 ? undefined : match(SPACE);
    if (space !== undefined) {
      newlineBefore ||= NEWLINE.test(space);
      at += space.length;
      continue;
    }
    if (code.startsWith('/*', at)) {
      const end = code.indexOf('*/', at + 2);
      if (end < 0) return undefined;
      newlineBefore ||= NEWLINE.test(code.slice(at, end));
      at = end + 2;
      continue;
    }
    const previous = tokens.at(-1);
    const char = code[at]!;
    if (char === '`') {
      at++;
      if (!template()) return undefined;
      continue;
    }
    if (char === '}' && open.at(-1)?.text === '${') {
      open.pop();
      at++;
      if (!template()) return undefined;
      continue;
    }
    const word = (starts & START.word) === 0 ? undefined : (match(ASCII_WORD) ?? match(WORD));
    if (word !== undefined) {
      push('word', word);
      continue;
    }
    const operand = (starts & START.number) === 0 ? undefined : match(NUMBER);
    if (operand !== undefined) {
      push('number', operand);
      continue;
    }
    const string = (starts & START.string) === 0 ? undefined : match(STRING);
    if (string !== undefined) {
      push('string', string);
      continue;
    }
    if (char === '/' && !endsOperand(tokens)) {
      const regex = match(REGEX);
      if (regex !== undefined) {
        push('regex', regex);
        continue;
      }
      if (++wrongSlashes > MAX_WRONG_SLASHES) return undefined;
    }
    const punctuator = (starts & START.single) === 0 ? match(PUNCTUATOR) : char;
    if (punctuator === undefined) return undefined;
    if (CLOSING.has(punctuator)) {
      const opened = open.pop();
      if (opened === undefined) return undefined;
      push('punctuator', punctuator, opened.isHead);
      continue;
    }
    push('punctuator', punctuator);
    if (punctuator === '(') open.push({ text: '(', isHead: isHeadWord(tokens, previous) });
    else if (punctuator === '[') open.push({ text: '[', isHead: false });
    else if (punctuator === '{') open.push({ text: '{', isHead: opensBlock(previous, open.at(-1), tokens) });
  }
  return open.length === 0 ? tokens : undefined;
}

function isHeadWord(tokens: readonly Token[], previous: Token | undefined): boolean {
  if (previous?.kind !== 'word') return false;
  // `for await (`
  const word = previous.text === 'await' ? tokens.at(-3) : previous;
  return word !== undefined && HEAD_WORDS.has(word.text);
}

function opensBlock(
  previous: Token | undefined,
  outer: Bracket | undefined,
  tokens: readonly Token[],
): boolean {
  if (previous === undefined) return true;
  if (previous.kind === 'word') {
    if (BLOCK_WORDS.has(previous.text)) return true;
    return !OPERATOR_WORDS.has(previous.text) || tokens.at(-3)?.text === '.';
  }
  if (previous.kind !== 'punctuator') return previous.kind === 'string';
  if (previous.text === ':') return outer === undefined || (outer.text === '{' && outer.isHead);
  if (previous.text === '}') return previous.endsBlock;
  return previous.text === ')' || previous.text === ';' || previous.text === '{' || previous.text === '=>';
}

/** Whether the last token can end an operand, so that an operator may follow. */
export function endsOperand(tokens: readonly Token[]): boolean {
  const last = tokens.at(-1);
  if (last === undefined) return false;
  if (last.kind === 'word') {
    const isProperty = tokens.at(-2)?.text === '.' || tokens.at(-2)?.text === '?.';
    return isProperty || !(OPERATOR_WORDS.has(last.text) || BLOCK_WORDS.has(last.text));
  }
  if (last.kind !== 'punctuator') return true;
  if (last.text === ')' || last.text === '}') return !last.endsBlock;
  return last.text === ']' || last.text === '++' || last.text === '--';
}
