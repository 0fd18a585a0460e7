/**
 * Evaluates environment markers of Python requirements (PEP 508) for the interpreter of the guests. Wheels are untrusted: a
 * marker that cannot be parsed counts as true, because an unnecessary dependency is better than a missing one.
 */
import { PYTHON_FULL_VERSION, PYTHON_VERSION } from './python-abi.ts';
import { satisfies } from './version-specifiers.ts';

const ENVIRONMENT: Readonly<Record<string, string>> = {
  python_version: PYTHON_VERSION,
  python_full_version: PYTHON_FULL_VERSION,
  implementation_version: PYTHON_FULL_VERSION,
  implementation_name: 'cpython',
  platform_python_implementation: 'CPython',
  sys_platform: 'emscripten',
  platform_system: 'Emscripten',
  platform_machine: 'wasm32',
  platform_release: '',
  platform_version: '',
  os_name: 'posix',
  extra: '',
};

const TOKEN = /\s*(?:([()])|(and|or|not|in)\b|([<>=!~]{1,3})|"([^"]*)"|'([^']*)'|([a-z_.]+))/y;
const MAX_MARKER = 2000;
const MAX_DEPTH = 50;

interface MarkerToken {
  readonly kind: 'punctuation' | 'value';
  readonly text: string;
}

function tokens(marker: string): MarkerToken[] {
  const found: MarkerToken[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < marker.trimEnd().length) {
    const match = TOKEN.exec(marker);
    if (match === null) throw new SyntaxError(marker);
    const [, parenthesis, word, operator, double, single, name] = match;
    const punctuation = parenthesis ?? word ?? operator;
    if (punctuation !== undefined) found.push({ kind: 'punctuation', text: punctuation });
    else if (name === undefined) found.push({ kind: 'value', text: double ?? single ?? '' });
    else if (Object.hasOwn(ENVIRONMENT, name)) found.push({ kind: 'value', text: ENVIRONMENT[name]! });
    else throw new SyntaxError(name);
  }
  return found;
}

/** Versions are compared as versions, other values as texts. */
function compare(left: string, operator: string, right: string): boolean {
  if (/^\d/.test(left) && /^\d/.test(right)) return satisfies(left, operator + right);
  const results: Readonly<Record<string, boolean>> = {
    '==': left === right,
    '===': left === right,
    '!=': left !== right,
    '<': left < right,
    '<=': left <= right,
    '>': left > right,
    '>=': left >= right,
  };
  const result = results[operator];
  if (result === undefined) throw new SyntaxError('unknown comparison');
  return result;
}

class MarkerParser {
  #at = 0;
  #depth = 0;
  readonly #tokens: readonly MarkerToken[];
  constructor(marker: string) {
    this.#tokens = tokens(marker);
  }

  evaluate(): boolean {
    const value = this.#or();
    if (this.#at < this.#tokens.length) throw new SyntaxError('unexpected token');
    return value;
  }

  #accept(text: string): boolean {
    const token = this.#tokens[this.#at];
    if (token?.kind !== 'punctuation' || token.text !== text) return false;
    this.#at++;
    return true;
  }

  #or(): boolean {
    let value = this.#and();
    while (this.#accept('or')) value = this.#and() || value;
    return value;
  }

  #and(): boolean {
    let value = this.#term();
    while (this.#accept('and')) value = this.#term() && value;
    return value;
  }

  #term(): boolean {
    if (!this.#accept('(')) return this.#comparison();
    if (++this.#depth > MAX_DEPTH) throw new SyntaxError('nested too deeply');
    const value = this.#or();
    this.#depth--;
    if (!this.#accept(')')) throw new SyntaxError('expected )');
    return value;
  }

  #comparison(): boolean {
    const left = this.#value();
    const isNegated = this.#accept('not');
    if (this.#accept('in')) return this.#value().includes(left) !== isNegated;
    const operator = this.#tokens[this.#at++];
    const right = this.#value();
    if (operator?.kind !== 'punctuation' || isNegated) throw new SyntaxError('expected a comparison');
    return compare(left, operator.text, right);
  }

  #value(): string {
    const token = this.#tokens[this.#at++];
    if (token?.kind !== 'value') throw new SyntaxError('expected a value');
    return token.text;
  }
}

/** Whether a requirement with this marker applies to guests, without extras. */
export function appliesToGuests(marker: string): boolean {
  if (marker.length > MAX_MARKER) return true;
  try {
    return new MarkerParser(marker).evaluate();
  } catch (cause) {
    if (cause instanceof SyntaxError) return true;
    throw cause;
  }
}
