/** Converts between CSV and objects. A small interface to papaparse. */
import Papa from 'papaparse';

/**
 * Parses rows to objects with the names of the first row as keys, or to arrays if `header` is false. All values are
 * strings. Invalid CSV, such as an unterminated quote, throws a SyntaxError.
 */
export function parse(text, { header = true, separator = ',', skipEmptyLines = true } = {}) {
  const { data, errors } = Papa.parse(`${text}`, { header, delimiter: separator, skipEmptyLines });
  const broken = errors.find(({ type }) => type === 'Quotes');
  if (broken !== undefined) throw new SyntaxError(`csv-simple: ${broken.message} (row ${broken.row + 1})`);
  return data;
}

/** Formats objects or arrays as CSV. The columns are all keys in the order of their first appearance. */
export function stringify(rows, { header = true, separator = ',' } = {}) {
  if (!Array.isArray(rows)) throw new TypeError('csv-simple: rows must be an array');
  const isPlain = rows.some(Array.isArray);
  const columns = isPlain ? undefined : [...new Set(rows.flatMap((row) => Object.keys(row)))];
  return Papa.unparse(rows, { header, delimiter: separator, newline: '\n', ...(columns && { columns }) });
}

export default { parse, stringify };
