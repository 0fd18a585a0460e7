/** Tables: rows that a guest sends are converted to Markdown for readers and to columns for programs. */
import { RESULT_LIMITS } from './result-limits.ts';

type Cell = string | number | boolean | null;

export interface Table {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
  /** Number of rows of the original; `rows` may contain only the first of them. */
  readonly total: number;
}

/** Parses a table from a guest. Returns undefined if it is invalid; rows and columns beyond the limits are dropped. */
export function parseTable(value: unknown): Table | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { columns, rows, total } = value as { columns?: unknown; rows?: unknown; total?: unknown };
  if (!Array.isArray(columns) || columns.length === 0 || !Array.isArray(rows)) return undefined;
  if (!columns.every((name) => typeof name === 'string')) return undefined;
  const shown = columns.slice(0, RESULT_LIMITS.tableColumns) as string[];
  const cells = rows.slice(0, RESULT_LIMITS.tableRows).map((row: unknown) => toCells(row, shown.length));
  return {
    columns: shown.map((name) => name.slice(0, RESULT_LIMITS.cellChars)),
    rows: cells,
    total: Number.isSafeInteger(total) ? Math.max(total as number, rows.length) : rows.length,
  };
}

/** The cells of a row. Missing cells and values that are not JSON scalars are null. */
function toCells(row: unknown, count: number): Cell[] {
  const values: readonly unknown[] = Array.isArray(row) ? row : [];
  return Array.from({ length: count }, (_, i) => {
    const value = values[i];
    return ['string', 'number', 'boolean'].includes(typeof value) ? (value as Cell) : null;
  });
}

/** The columns of a table by name. If two columns have the same name, a number is appended to the second. */
export function tableData({ columns, rows }: Table): Record<string, Cell[]> {
  const data = new Map<string, Cell[]>();
  for (const [i, name] of columns.entries()) {
    const column = rows.map((row) => row[i]!);
    data.set(data.has(name) ? `${name} (${i + 1})` : name, column);
  }
  return Object.fromEntries(data);
}

/** The first rows as a Markdown table, with a note if there are more. */
export function tableMarkdown({ columns, rows, total }: Table): string {
  const shown = rows.slice(0, RESULT_LIMITS.shownRows);
  const isNumeric = columns.map((_, i) => shown.length > 0 && shown.every((row) => isNumberOrEmpty(row[i]!)));
  const lines = [
    markdownRow(columns),
    markdownRow(isNumeric.map((numeric) => (numeric ? '---:' : '---'))),
    ...shown.map((row) => markdownRow(row.map(cellText))),
  ];
  const note = shown.length < total ? `\n\n${shown.length} of ${total} rows are shown.` : '';
  return lines.join('\n') + note;
}

const isNumberOrEmpty = (cell: Cell) => typeof cell === 'number' || cell === null;

function cellText(cell: Cell): string {
  if (cell === null) return '';
  const text = String(cell);
  return text.length <= RESULT_LIMITS.cellChars ? text : `${text.slice(0, RESULT_LIMITS.cellChars - 1)}…`;
}

/** One line. The texts are escaped, so that they cannot end their cell or row. */
const markdownRow = (cells: readonly string[]) =>
  `| ${cells
    .map((text) =>
      text
        .replaceAll('\\', '\\\\')
        .replaceAll('|', '\\|')
        .replaceAll(/[\r\n]+/g, ' '),
    )
    .join(' | ')} |`;
