/** The module `stream/consumers`: reads a whole stream. */
import { Buffer } from '../buffer.js';
import { Blob } from '../internal/blob.js';

export async function buffer(stream) {
  const chunks = [];
  for await (const chunk of stream) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}
export const text = async (stream) => (await buffer(stream)).toString();
export const json = async (stream) => JSON.parse(await text(stream));
export async function arrayBuffer(stream) {
  const bytes = await buffer(stream);
  return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
}
export const blob = async (stream) => new Blob([await buffer(stream)]);
export default { arrayBuffer, blob, buffer, json, text };
