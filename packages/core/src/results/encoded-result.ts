/**
 * Results as they are sent and kept: JSON data is text. A program can display hundreds of thousands of JSON values, and only
 * who asks for the values parses them. The text of a worker process may be invalid; the field is then absent.
 */
import { defineJson } from '../framing/limited-json.ts';
import type { DisplayResult } from '../schema.ts';
import { MESSAGE_SHAPE } from './result-limits.ts';

const JSON_FIELDS = ['json', 'data', 'chart'] as const;
type JsonField = (typeof JSON_FIELDS)[number];

export interface EncodedResult
  extends Omit<DisplayResult, JsonField>,
    Partial<Record<JsonField, string | undefined>> {}

const encodings = new WeakMap<DisplayResult, EncodedResult>();

/** The result whose JSON data is parsed when it is first read. */
export function decodeResult(encoded: EncodedResult): DisplayResult {
  const { json: _, data: __, chart: ___, ...rest } = encoded;
  const result: DisplayResult = rest;
  for (const field of JSON_FIELDS) {
    const text: unknown = encoded[field];
    if (typeof text === 'string') defineJson(result, field, text, MESSAGE_SHAPE);
    // Timelines that an earlier version has saved contain the values themselves.
    else if (text !== undefined) Object.assign(result, { [field]: text });
  }
  encodings.set(result, encoded);
  return result;
}

/** The encoded form of a result, without parsing its JSON data. */
export function encodeResult(result: DisplayResult): EncodedResult {
  const known = encodings.get(result);
  if (known !== undefined) return known;
  const { json, data, chart, ...rest } = result;
  const values = { json, data, chart };
  const texts = JSON_FIELDS.flatMap((field) =>
    values[field] === undefined ? [] : [[field, JSON.stringify(values[field])]],
  );
  return { ...rest, ...(Object.fromEntries(texts) as Partial<Record<JsonField, string>>) };
}
