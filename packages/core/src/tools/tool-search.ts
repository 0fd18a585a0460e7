/**
 * Searches a catalogue of tools, and describes tools with their declarations. The functions return plain data and also
 * run in worker threads.
 */
import { pythonStub, typescriptDeclaration } from './declarations.ts';
import type { ToolDescription } from './toolset.ts';

const MAX_RESULTS = 50;
const MAX_QUERY_CHARS = 500;
const SUMMARY_CHARS = 200;

/** A tool that matches a query. */
interface FoundTool {
  readonly name: string;
  /** The path with which a program accesses the tool, such as `tools.github.create_issue`. */
  readonly call: string;
  /** The beginning of the description. */
  readonly description: string;
}

/** A tool with its schemas and declarations. */
interface DescribedTool extends ToolDescription {
  readonly call: string;
  /** Declaration for TypeScript. */
  readonly d_ts: string;
  /** Stub for Python. */
  readonly pyi: string;
}

const pathOf = ({ path }: ToolDescription) => `tools.${path.join('.')}`;

/** The tools whose name or description contains words of the query, best match first; without words, all tools by name. */
export function searchTools(catalog: readonly ToolDescription[], query: string, limit = 20): FoundTool[] {
  const words = query
    .slice(0, MAX_QUERY_CHARS)
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '');
  const ranked = catalog
    .map((tool) => ({ tool, score: words.length === 0 ? 1 : scoreOf(tool, words) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score);
  const count = Math.max(1, Math.min(MAX_RESULTS, Math.floor(limit) || 1));
  return ranked.slice(0, count).map(({ tool }) => ({
    name: tool.name,
    call: pathOf(tool),
    description: tool.description.slice(0, SUMMARY_CHARS),
  }));
}

/** Words in the name of the tool count most, then those in its namespace, then those in the description. */
function scoreOf({ name, description }: ToolDescription, words: readonly string[]): number {
  const dot = name.lastIndexOf('.');
  const [namespace, own, text] = [name.slice(0, Math.max(0, dot)), name.slice(dot + 1), description].map(
    (part) => part.toLowerCase(),
  ) as [string, string, string];
  return words.reduce(
    (sum, word) =>
      sum +
      (own.includes(word) ? 12 : 0) +
      (namespace.includes(word) ? 8 : 0) +
      (text.includes(word) ? 5 : 0),
    0,
  );
}

/** The tool with this name or path; undefined if there is none. */
export function describeTool(catalog: readonly ToolDescription[], name: string): DescribedTool | undefined {
  const wanted = name.replace(/^tools\./, '');
  const tool =
    catalog.find((candidate) => candidate.name === wanted) ??
    catalog.find(({ path }) => path.join('.') === wanted);
  return tool && { ...tool, call: pathOf(tool), d_ts: typescriptDeclaration(tool), pyi: pythonStub(tool) };
}
