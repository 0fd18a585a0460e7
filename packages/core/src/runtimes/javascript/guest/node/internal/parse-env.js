/** The parser of .env files: util.parseEnv and process.loadEnvFile. */
import { validateString } from './errors.js';

/** A name and a value: a text in quotes, which may have several lines, or the rest of the line up to a comment. */
const VARIABLE =
  /^[ \t]*(?:export[ \t]+)?([^\s=#][^\n=]*?)[ ]*=[ ]*(?:"([^"]*)"|'([^']*)'|`([^`]*)`|([^\n#]*)).*$/gm;

/** The variables as an object, in the order of their names. A later value of a variable replaces an earlier one. */
export function parseEnv(content) {
  validateString(content, 'content');
  const entries = new Map();
  for (const [, name, double, ...others] of content.replaceAll('\r', '').matchAll(VARIABLE)) {
    const [single, backtick, plain] = others;
    entries.set(name, double?.replaceAll('\\n', '\n') ?? single ?? backtick ?? plain.replace(/^ +| +$/g, ''));
  }
  return Object.fromEntries([...entries].sort(([a], [b]) => (a < b ? -1 : 1)));
}
