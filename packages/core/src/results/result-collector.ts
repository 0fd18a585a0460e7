/**
 * Collects what a program displays. The number of results, the size of each form and the total size are limited here, on the
 * host. If the richest form of a result is too large, it becomes a file in the workspace.
 */
import { sha256Hex } from '../framing/digest.ts';
import type { DisplayResult } from '../schema.ts';
import type { EncodedResult } from './encoded-result.ts';
import { isDecodable, readImageHeader } from './image-header.ts';
import { type DisplayMessage, parseMessage } from './message.ts';
import { RESULT_LIMITS } from './result-limits.ts';
import { tableData, tableMarkdown } from './table.ts';

interface ResultHost {
  /** Writes a file into the workspace and returns its path there; undefined if that is impossible. */
  store(name: string, bytes: Uint8Array): string | undefined;
  onResult(result: EncodedResult): void;
}

/** A chart as it was drawn, or why it was not. */
export type DrawnChart =
  | {
      readonly svg: string;
      readonly png: Uint8Array | undefined;
      readonly chart: DisplayResult['chart'];
      readonly note?: string | undefined;
    }
  | { readonly note: string };

/** A displayed chart, which is drawn when the program has ended. */
interface PendingChart {
  readonly draft: Draft;
  readonly message: DisplayMessage;
  readonly spec: unknown;
}

/** Why a message was not accepted. */
type Rejection = 'too_large' | 'too_complex' | 'invalid';

type Field = 'text' | 'html' | 'markdown' | 'svg' | 'png' | 'jpeg' | 'json' | 'latex';
type Draft = { -readonly [Name in keyof EncodedResult]: EncodedResult[Name] };

/** The forms that are text, the richest first, with the file extension of each. */
const TEXT_FORMS: readonly (readonly [mime: string, field: Field, extension: string])[] = [
  ['image/svg+xml', 'svg', 'svg'],
  ['text/html', 'html', 'html'],
  ['text/markdown', 'markdown', 'md'],
  ['text/latex', 'latex', 'tex'],
];
/** Specifications of Vega-Lite and Vega. */
const CHART_MIME = /^application\/vnd\.vega(?:lite)?\.v\d{1,2}\+json$/;
/** The data of a chart that the program has drawn itself. The name is E2B's. */
const CHART_DATA_MIME = 'e2b/chart';
const JSON_MIME = /^application\/(?:[\w.+-]*\+)?json$/;

const encoder = new TextEncoder();

export class ResultCollector {
  readonly #host: ResultHost;
  /** Digests of the images in the results, by size. A file with the same content is not another result. */
  readonly #images = new Map<number, string[]>();
  readonly #charts: PendingChart[] = [];
  #count = 0;
  #bytes = 0;
  /** Results beyond the limit. */
  omitted = 0;
  /** Whether the guest has sent the value of the last expression. */
  hasMain = false;

  constructor(host: ResultHost) {
    this.#host = host;
  }

  /** Adds the result in a message of the guest. */
  receive(message: Uint8Array): Rejection | undefined {
    if (message.length > RESULT_LIMITS.messageBytes) return 'too_large';
    if (this.#isFull()) return undefined;
    const parsed = parseMessage(message);
    if (parsed === 'too_complex') return parsed;
    return parsed !== undefined && this.#add(parsed) ? undefined : 'invalid';
  }

  /** Adds the value of the last expression as text. */
  addMainText(text: string): void {
    if (this.#isFull()) return;
    const draft = this.#draft(true);
    this.#addText(draft, text);
    this.#emit(draft);
  }

  /** Adds a file that the program has written, if it is an image that the results do not contain yet. */
  addFile(path: string, bytes: Uint8Array): void {
    const header = readImageHeader(bytes);
    if (header === undefined || this.#isKnown(bytes) || this.#isFull()) return;
    const draft = { ...this.#draft(false), path };
    this.#addImage(draft, bytes);
    this.#emit(draft);
  }

  /** Whether the limit on the number of results is reached; then the result is counted as omitted. */
  #isFull(): boolean {
    if (this.#count < RESULT_LIMITS.count) return false;
    this.omitted++;
    return true;
  }

  #draft(isMain: boolean): Draft {
    return { id: `r${this.#count + 1}`, is_main_result: isMain, mime: '', size_bytes: 0 };
  }

  /** Counts the draft, so that no other draft gets its id. */
  #reserve(draft: Draft): void {
    this.#count++;
    this.hasMain ||= draft.is_main_result;
  }

  #emit(draft: Draft): void {
    this.#reserve(draft);
    this.#host.onResult(draft);
  }

  /** Whether charts were displayed that `drawCharts` has not drawn yet. */
  get hasCharts(): boolean {
    return this.#charts.length > 0;
  }

  /** Draws the charts and adds them to the results. `draw` receives a specification as JSON text. */
  drawCharts(draw: (spec: string) => DrawnChart): void {
    for (const { draft, message, spec } of this.#charts.splice(0)) {
      const drawn = draw(JSON.stringify(spec));
      if (drawn.note !== undefined) draft.note = drawn.note;
      if (!('svg' in drawn)) {
        this.#addForms(draft, message);
        this.#host.onResult(draft);
        continue;
      }
      const { svg, png, chart } = drawn;
      const forms = new Map([...message.forms, ['image/svg+xml', svg]]);
      const binary = message.binary ?? (png && { mime: 'image/png', bytes: png });
      this.#addForms(draft, { ...message, forms, binary });
      if (draft.chart === undefined) this.#addChart(draft, chart);
      this.#host.onResult(draft);
    }
  }

  /** Returns false if the message contains nothing that can be shown. */
  #add(message: DisplayMessage): boolean {
    const draft = this.#draft(message.isMain);
    const { forms } = message;
    const chart = [...forms].find(([mime, form]) => CHART_MIME.test(mime) && isObject(form));
    if (chart !== undefined && !forms.has('image/svg+xml')) {
      this.#reserve(draft);
      this.#charts.push({ draft, message, spec: chart[1] });
      return true;
    }
    this.#addForms(draft, message);
    if (draft.mime === '') return false;
    this.#emit(draft);
    return true;
  }

  #addForms(draft: Draft, { forms, binary, table }: DisplayMessage): void {
    const used = new Set(['text/plain']);
    if (binary !== undefined && !this.#addImage(draft, binary.bytes)) omit(draft, binary.mime);
    const texts = new Map(forms);
    if (table !== undefined && !texts.has('text/markdown')) texts.set('text/markdown', tableMarkdown(table));
    for (const [mime, field, extension] of TEXT_FORMS) {
      const text = texts.get(mime);
      if (typeof text !== 'string') continue;
      used.add(mime);
      this.#place(draft, mime, field, text, encoder.encode(text), extension);
    }
    if (table !== undefined) this.#addData(draft, tableData(table));
    if (this.#addChart(draft, forms.get(CHART_DATA_MIME))) used.add(CHART_DATA_MIME);
    for (const [mime, value] of forms) {
      if (!JSON_MIME.test(mime) || draft.json !== undefined) continue;
      used.add(mime);
      const text = JSON.stringify(value) ?? 'null';
      this.#place(draft, mime, 'json', text, encoder.encode(text), 'json');
    }
    const plain = forms.get('text/plain');
    if (typeof plain === 'string') this.#addText(draft, plain);
    for (const mime of forms.keys()) if (!used.has(mime)) omit(draft, mime);
  }

  #addImage(draft: Draft, bytes: Uint8Array): boolean {
    const header = readImageHeader(bytes);
    if (header === undefined) return false;
    const { mime, width, height } = header;
    const name = mime.slice('image/'.length) as 'png' | 'jpeg' | 'gif' | 'webp';
    Object.assign(draft, { width, height });
    this.#images.set(bytes.length, [...(this.#images.get(bytes.length) ?? []), sha256Hex(bytes)]);
    const field = name === 'png' || name === 'jpeg' ? name : undefined;
    if (!isDecodable(header)) omit(draft, mime);
    const isInline = field !== undefined && isDecodable(header);
    const base64 = () => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
    this.#place(draft, mime, isInline ? field : undefined, base64, bytes, name === 'jpeg' ? 'jpg' : name);
    return true;
  }

  #isKnown(bytes: Uint8Array): boolean {
    return this.#images.get(bytes.length)?.includes(sha256Hex(bytes)) ?? false;
  }

  /** Plain text never becomes a file: it is truncated. */
  #addText(draft: Draft, text: string): void {
    const { textChars } = RESULT_LIMITS;
    const shown = text.length <= textChars ? text : `${text.slice(0, textChars)}…`;
    const bytes = Buffer.byteLength(shown);
    if (draft.mime === '') Object.assign(draft, { mime: 'text/plain', size_bytes: bytes });
    if (this.#takeBytes(bytes)) draft.text = shown;
    else omit(draft, 'text/plain');
  }

  #addData(draft: Draft, data: NonNullable<DisplayResult['data']>): void {
    const text = JSON.stringify(data);
    if (this.#takeBytes(text.length)) draft.data = text;
    else omit(draft, 'application/json');
  }

  #addChart(draft: Draft, chart: unknown): boolean {
    if (!isObject(chart)) return false;
    const text = JSON.stringify(chart);
    if (!this.#takeBytes(text.length)) return false;
    draft.chart = text;
    return true;
  }

  /** Puts a form into the result, or into a file if it is too large and the richest form. */
  #place(
    draft: Draft,
    mime: string,
    field: Field | undefined,
    value: unknown,
    bytes: Uint8Array,
    extension: string,
  ): void {
    const isRichest = draft.mime === '';
    if (isRichest) Object.assign(draft, { mime, size_bytes: bytes.length });
    if (field !== undefined && this.#takeBytes(bytes.length)) {
      Object.assign(draft, { [field]: typeof value === 'function' ? value() : value });
      return;
    }
    if (isRichest && draft.path !== undefined) return;
    const path = isRichest
      ? this.#host.store(`${sha256Hex(bytes).slice(0, 16)}.${extension}`, bytes)
      : undefined;
    if (path === undefined) omit(draft, mime);
    else draft.path = path;
  }

  #takeBytes(bytes: number): boolean {
    if (bytes > RESULT_LIMITS.formBytes || this.#bytes + bytes > RESULT_LIMITS.totalBytes) return false;
    this.#bytes += bytes;
    return true;
  }
}

const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value);

function omit(draft: Draft, mime: string): void {
  const omitted = draft.omitted ?? [];
  if (!omitted.includes(mime)) draft.omitted = [...omitted, mime];
}
