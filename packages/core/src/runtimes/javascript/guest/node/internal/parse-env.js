/** The parser of .env files: util.parseEnv and process.loadEnvFile. */
import { validateString } from './errors.js';

/** Removes spaces, but no other white space, from both ends. */
function trim(text) {
  let [start, end] = [0, text.length];
  while (start < end && text[start] === ' ') start++;
  while (end > start && text[end - 1] === ' ') end--;
  return text.slice(start, end);
}

/** The variables of the text, by name. A later value of a variable replaces an earlier one. */
function variablesOf(content) {
  const text = trim(content.replaceAll('\r', ''));
  const entries = new Map();
  let at = 0;
  const lineEnd = (position) => {
    const newline = text.indexOf('\n', position);
    return newline < 0 ? text.length : newline;
  };
  while (at < text.length) {
    if (text[at] === '\n') {
      at++;
      continue;
    }
    // As in Node.js 20, a comment in the last line is not skipped.
    if (text[at] === '#' && lineEnd(at) < text.length) {
      at = lineEnd(at);
      continue;
    }
    const equal = text.indexOf('=', at);
    if (equal < 0) break;
    let key = trim(text.slice(at, equal));
    if (key === '') break;
    if (key.startsWith('export ')) key = key.slice(7);
    at = equal + 1;
    while (text[at] === ' ') at++;
    if (at >= text.length || text[at] === '\n') {
      entries.set(key, '');
      continue;
    }
    const quote = text[at];
    const isQuoted = quote === '"' || quote === "'" || quote === '`';
    const closing = isQuoted ? text.indexOf(quote, at + 1) : -1;
    const end = lineEnd(closing < 0 ? at : closing + 1);
    if (closing >= 0) {
      const value = text.slice(at + 1, closing);
      entries.set(key, quote === '"' ? value.replaceAll('\\n', '\n') : value);
    } else if (isQuoted) {
      // Node.js ignores an open quotation in the last line, and reads the text as the next name.
      if (end === text.length) continue;
      entries.set(key, text.slice(at, end));
    } else {
      const line = text.slice(at, end);
      const comment = line.indexOf('#');
      entries.set(key, trim(comment < 0 ? line : line.slice(0, comment)));
    }
    at = end;
  }
  return entries;
}

/** The variables as an object, in the order of their names. */
export function parseEnv(content) {
  validateString(content, 'content');
  const entries = [...variablesOf(content)].sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries);
}
