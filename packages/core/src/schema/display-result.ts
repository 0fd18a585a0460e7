/** What a program displays: values, tables, charts and images, in the forms in which they are available. */
import * as z from 'zod';
import { optionalField } from './fields.ts';

const form = (what: string) => z.string().optional().describe(what);

export const displayResult = z.object({
  id: z.string().describe('Name of the result, unique within its call.'),
  is_main_result: z.boolean().describe('Whether the result is the value of the last expression.'),
  mime: z.string().describe('MIME type of the richest format.'),
  text: form('Plain text.'),
  html: form('HTML from the program. Show it only in a sandboxed frame.'),
  markdown: form('Markdown. Lists of records are shown as tables.'),
  svg: form('SVG from the program. Show it only as an image.'),
  png: form('PNG image in base64.'),
  jpeg: form('JPEG image in base64.'),
  json: z.json().optional().describe('JSON data.'),
  latex: form('LaTeX.'),
  data: z.record(z.string(), z.array(z.json())).optional().describe('The columns of a table, by name.'),
  chart: z.json().optional().describe('The data of a chart: type, title, labels and points.'),
  width: z.number().int().optional().describe('Width of the image in pixels.'),
  height: z.number().int().optional().describe('Height of the image in pixels.'),
  size_bytes: z.number().int().describe('Size in bytes of the content in the format `mime`.'),
  path: optionalField(
    z.string(),
    'Workspace file with the content in the format `mime`. Present if the content is large or the program wrote the file.',
  ),
  note: form('Why a chart is not drawn.'),
  omitted: optionalField(
    z.array(z.string()),
    'MIME types of formats that were left out because they are too large, invalid or of an unknown type.',
  ),
});
/**
 * A value, table, chart or image that a program displays, in one or more formats. The field names are those of the E2B code
 * interpreter.
 */
export interface DisplayResult extends z.infer<typeof displayResult> {}
