/** The guidance of a failed call as a card, with a button for each change that it suggests. */
import type { ShownOutcome } from './output.tsx';

interface Fix {
  readonly line: number;
  readonly word: string;
  readonly replacement: string;
}

interface Props {
  readonly outcome: ShownOutcome;
  /** Without these, the page cannot change the program. */
  onFix?(fix: Fix): void;
  onInsert?(code: string): void;
}

/** What the card shows: the change to make, then one statement of the error, then what to know about it. */
export function Guidance({ outcome, onFix, onInsert }: Props) {
  const { error_guidance: guidance, stopped_at } = outcome.metadata;
  if (guidance === undefined) return null;
  const { error_type, error_message, actionable_guidance, code_examples = [], related_docs } = guidance;
  const fix = suggestedFix(outcome);
  const line = (outcome.metadata.error as { line?: unknown } | undefined)?.line ?? stopped_at?.line;
  const variables = Object.entries(stopped_at?.variables ?? {}).slice(0, 6);
  return (
    <section class="card guidance" aria-labelledby="guidance-title">
      {fix && (
        <p class="fix">
          <code class="old">{fix.word}</code>
          <span aria-hidden="true"> → </span>
          <code class="new">{fix.replacement}</code>
          {onFix && (
            <button type="button" class="primary small" onClick={() => onFix(fix)}>
              Apply to line {fix.line}
            </button>
          )}
        </p>
      )}
      <header>
        <span class="badge danger">{error_type}</span>
        <h3 id="guidance-title">{error_message}</h3>
        {typeof line === 'number' && <span class="note">line {line}</span>}
      </header>
      <ul>
        {actionable_guidance
          .filter((text) => !isRepeated(text, error_message, line))
          .map((text) => (
            <li key={text}>{text}</li>
          ))}
      </ul>
      {code_examples.map((code) => (
        <div class="example" key={code}>
          <pre>{code}</pre>
          {onInsert && (
            <button type="button" class="small" onClick={() => onInsert(code)}>
              Insert
            </button>
          )}
        </div>
      ))}
      {variables.length > 0 && (
        <p class="note">
          Variables when the program stopped:{' '}
          {variables.map(([name, value]) => (
            <code key={name} class="variable">
              {name} = {String(value)}
            </code>
          ))}
        </p>
      )}
      {related_docs.length > 0 && <p class="note">See {related_docs.join(', ')}</p>}
    </section>
  );
}

const wordsOf = (text: string) => text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];

/** Whether a line says only what the title and the marked line of the editor say. */
function isRepeated(text: string, title: string, line: unknown): boolean {
  const known = new Set([...wordsOf(title), 'the', 'a', 'an']);
  if (wordsOf(text).every((word) => known.has(word))) return true;
  return typeof line === 'number' && text.startsWith(`It failed on line ${line}:`);
}

/** The replacement of a misspelt name or key that the error reports. */
function suggestedFix({ metadata }: ShownOutcome): Fix | undefined {
  const error = metadata.error as Record<string, unknown> | undefined;
  const line = error?.['line'];
  if (error === undefined || typeof line !== 'number') return undefined;
  const text = (name: string) => (typeof error[name] === 'string' ? unquoted(error[name]) : undefined);
  const word = text('name') ?? text('attribute') ?? text('key');
  const available = Array.isArray(error['available'])
    ? error['available'].map((one) => unquoted(String(one)))
    : [];
  if (word === undefined) return undefined;
  const replacement = text('suggestion') ?? available.find((one) => distance(one, word) <= 2);
  return replacement === undefined || replacement === word ? undefined : { line, word, replacement };
}

const unquoted = (text: string) => text.replace(/^(['"])(.*)\1$/s, '$2');

/** The number of edits between two short words. */
function distance(a: string, b: string): number {
  if (Math.max(a.length, b.length) > 64) return Number.POSITIVE_INFINITY;
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (const [i, x] of [...a].entries()) {
    const next = [i + 1];
    for (const [j, y] of [...b].entries())
      next.push(Math.min(row[j + 1]! + 1, next[j]! + 1, row[j]! + (x === y ? 0 : 1)));
    row = next;
  }
  return row[b.length]!;
}
