/** Advice for source that is not JavaScript, by its typical syntax. The source is searched only up to a bound. */
import type { AnalysisInput } from '../../../analysis/input.ts';
import { failedStatement } from '../../../analysis/quote-guest-text.ts';
import type { GuestError } from '../../../schema.ts';

const SOURCE_MAX = 20_000;
const TYPE = '(?:string|number|boolean|any|void|unknown|never|object|bigint|[A-Z]\\w{0,60})';
/** Declarations and annotations that only TypeScript has. */
const TYPESCRIPT = [
  /^[ \t]*(?:export )?(?:declare |abstract )?(?:interface|enum|namespace)[ \t]+\w+/m,
  /^[ \t]*(?:export )?type[ \t]+\w+(?:<[^>\n]{0,60}>)?[ \t]*=/m,
  /^[ \t]*import type\b/m,
  /^[ \t]*(?:private|public|protected|readonly)[ \t]+\w+/m,
  new RegExp(
    `[\\w)\\]?]\\??[ \\t]{0,4}:[ \\t]{0,4}(?:readonly )?${TYPE}(?:<[^>\\n]{0,60}>)?(?:\\[\\])*[ \\t]{0,4}(?:[=;,){|]|=>|$)`,
    'm',
  ),
  new RegExp(`[\\w)\\]][ \\t]+as[ \\t]+(?:const\\b|\\{|${TYPE}\\b)`),
];
const JSX = /(?:[=(?:]|=>|\breturn)\s{0,4}\(?\s{0,9}<(?:[A-Za-z][\w.]{0,40})?(?:\s+[\w-]+=|\s*\/?>)/;

const isTypeScript = (source: string) => TYPESCRIPT.some((pattern) => pattern.test(source));

/** Lines about a statement that could not be parsed. */
export function syntaxHints(_: GuestError, input: AnalysisInput): readonly (string | undefined)[] {
  const source = input.source.slice(0, SOURCE_MAX);
  const statement = failedStatement(input);
  // JSON-like objects have colons too: the failed statement itself must look like TypeScript.
  const isTyped = isTypeScript(statement) || /^[ \t]*(?:export )?(?:interface|enum|type)[ \t]/m.test(source);
  return [
    isTyped && isTypeScript(source)
      ? 'The code looks like TypeScript: remove the types (annotations, interfaces, enums, "as", type imports) and run it as JavaScript'
      : undefined,
    JSX.test(statement)
      ? 'The code contains JSX: build the markup as text with template literals, without JSX'
      : undefined,
    /\bawait\b/.test(statement)
      ? 'await is valid at the top level and in async functions only: declare the function with async'
      : undefined,
  ];
}
