/** What a program displays, as MIME bundles of Jupyter. The value of the last expression is the result of the cell. */

import type { DisplayResult, Session } from '@llm-wasm-sandbox/core/internal';
import { displayedForms } from '../server/program-outcome.ts';

const MIME_TYPES = {
  text: 'text/plain',
  html: 'text/html',
  markdown: 'text/markdown',
  latex: 'text/latex',
  svg: 'image/svg+xml',
  png: 'image/png',
  jpeg: 'image/jpeg',
  json: 'application/json',
} as const;
const FORMATS = Object.keys(MIME_TYPES) as (keyof typeof MIME_TYPES)[];

type Publish = (type: 'display_data' | 'execute_result', content: object) => void;

export class DisplayedResults {
  readonly #shown = new Set<string>();

  constructor(
    readonly session: Session,
    readonly publish: Publish,
  ) {}

  /** Shows a result while the program runs, unless it is the last, or its image is in a file, which can change. */
  show(result: DisplayResult): void {
    if (!result.is_main_result && result.path === undefined) this.#show(result, result);
  }

  /** Shows the results that were not shown while the program was running. */
  async showRest(results: readonly DisplayResult[]): Promise<void> {
    for (const result of results)
      if (!this.#shown.has(result.id)) this.#show(result, await displayedForms(result, this.session));
  }

  #show({ id, is_main_result, width, height, note }: DisplayResult, forms: Partial<DisplayResult>): void {
    this.#shown.add(id);
    const known = FORMATS.filter((format) => forms[format] !== undefined);
    const data = Object.fromEntries(known.map((format) => [MIME_TYPES[format], forms[format]]));
    if (note !== undefined) data['text/plain'] ??= note;
    const size = width === undefined ? undefined : { width, height };
    const metadata = size === undefined || forms.png === undefined ? {} : { [MIME_TYPES.png]: size };
    this.publish(is_main_result ? 'execute_result' : 'display_data', { data, metadata, transient: {} });
  }
}
