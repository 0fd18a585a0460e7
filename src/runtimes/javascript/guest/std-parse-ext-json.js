/** std.parseExtJSON of QuickJS. */

const TOKEN =
  /\s+|\/\/[^\n]*|\/\*[\s\S]*?\*\/|("(?:[^"\\]|\\[\s\S])*"|'(?:[^'\\]|\\[\s\S])*')|([-+]?(?:0[xX][\da-fA-F]+|0[oO][0-7]+|0[bB][01]+|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|Infinity|NaN))|([\p{ID_Start}$_][\p{ID_Continue}$]*)|([{}[\],:])/uy;

/** Parses JSON with comments, unquoted names, single quotes, trailing commas and additional number formats. */
export function parseExtJSON(text) {
  const source = `${text}`;
  const tokens = [];
  for (let at = 0; at < source.length; at = TOKEN.lastIndex) {
    TOKEN.lastIndex = at;
    const match = TOKEN.exec(source);
    if (match === null) throw new SyntaxError(`unexpected character at position ${at}`);
    const [, string, number, word, mark] = match;
    if (string) tokens.push({ value: unquoted(string), isName: true });
    else if (number) tokens.push({ value: numeric(number), isName: false });
    else if (word) tokens.push({ word, value: { true: true, false: false, null: null }[word], isName: true });
    else if (mark) tokens.push({ mark });
  }
  const [value, end] = parseValue(tokens, 0);
  if (end !== tokens.length) throw new SyntaxError('unexpected data at the end');
  return value;
}

function numeric(text) {
  const sign = text[0] === '-' ? -1 : 1;
  return sign * Number(text.replace(/^[-+]/, ''));
}

function unquoted(text) {
  const inner = text
    .slice(1, -1)
    .replace(/\\\r?\n/g, '')
    .replace(/\\x([\da-fA-F]{2})/g, '\\u00$1');
  const body = inner.replace(/\\([\s\S])|"/g, (all, escaped) =>
    all === '"' ? '\\"' : escaped === "'" ? "'" : all,
  );
  return JSON.parse(`"${body}"`);
}

function parseValue(tokens, at) {
  const token = tokens[at];
  if (token === undefined) throw new SyntaxError('unexpected end of data');
  if (token.mark === '[') return parseItems(tokens, at + 1, ']', [], (list, value) => list.push(value));
  if (token.mark === '{') return parseItems(tokens, at + 1, '}', {}, undefined);
  if (token.mark !== undefined || token.value === undefined) {
    throw new SyntaxError(`unexpected token '${token.mark ?? token.word}'`);
  }
  return [token.value, at + 1];
}

function parseItems(tokens, start, close, into, append) {
  let at = start;
  while (tokens[at]?.mark !== close) {
    let name;
    if (append === undefined) {
      if (!tokens[at]?.isName || tokens[at + 1]?.mark !== ':')
        throw new SyntaxError('property name expected');
      name = tokens[at].word ?? tokens[at].value;
      at += 2;
    }
    const [value, end] = parseValue(tokens, at);
    if (append === undefined)
      Object.defineProperty(into, name, { value, writable: true, enumerable: true, configurable: true });
    else append(into, value);
    at = end;
    if (tokens[at]?.mark === ',') at++;
    else if (tokens[at]?.mark !== close) throw new SyntaxError(`expecting '${close}'`);
  }
  return [into, at + 1];
}
