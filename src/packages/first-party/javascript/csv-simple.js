/** CSV to objects and back, over papaparse: the two functions that most programs need. */
import Papa from 'papaparse';

/**
 * Rows as objects by the names in the first row, or as arrays with `header: false`. All values are text. Text that is
 * no CSV, such as a quote that never ends, throws.
 */
export function parse(text, { header = true, separator = ',', skipEmptyLines = true } = {}) {
  const { data, errors } = Papa.parse(`${text}`, { header, delimiter: separator, skipEmptyLines });
  const broken = errors.find(({ type }) => type === 'Quotes');
  if (broken !== undefined) throw new SyntaxError(`csv-simple: ${broken.message} (row ${broken.row + 1})`);
  return data;
}

/** Objects, or arrays, as lines of CSV; the columns are all keys in the order in which they first appear. */
export function stringify(rows, { header = true, separator = ',' } = {}) {
  if (!Array.isArray(rows)) throw new TypeError('csv-simple: an array of rows is expected');
  const isPlain = rows.some(Array.isArray);
  const columns = isPlain ? undefined : [...new Set(rows.flatMap((row) => Object.keys(row)))];
  return Papa.unparse(rows, { header, delimiter: separator, newline: '\n', ...(columns && { columns }) });
}

export default { parse, stringify };
