/**
 * Messages between a frontend and a kernel, in both framings of Jupyter Server: one JSON text, or the parts of
 * `v1.kernel.websocket.jupyter.org` behind a list of their offsets. What a client sends is checked completely before it is used.
 */
import { randomUUID } from 'node:crypto';
import { type NextSlice, parse } from '@llm-wasm-sandbox/core/internal';
import * as z from 'zod';
import { parseJsonBytes } from '../server/request-body.ts';
import { encodedJson } from '../server/rest-call.ts';

export const V1_PROTOCOL = 'v1.kernel.websocket.jupyter.org';
const PROTOCOL_VERSION = '5.4';
const LIMITS = { depth: 64, members: 2000, literalChars: 512 };
/** Parts of a message: channel, header, parent header, metadata and content; further parts are buffers. */
const PARTS = 5;
const MAX_BUFFERS = 16;
const WORD_BYTES = 8;

const name = z.string().max(256);
const header = z.object({
  msg_id: name,
  msg_type: name,
  session: name,
  username: name.default(''),
  date: name.default(''),
  version: name.default(PROTOCOL_VERSION),
});
const message = z.object({
  channel: z.enum(['shell', 'control', 'stdin', 'iopub']),
  header,
  // Only the replies to input requests have one, and they need no more than the name of the request.
  parent_header: z.object({ msg_id: name.optional() }),
  content: z.record(z.string(), z.unknown()),
});

export type MessageHeader = z.output<typeof header>;
/** A message of a client. */
export type ClientMessage = z.output<typeof message>;

/** A message of the kernel. */
export interface KernelMessage {
  readonly channel: 'shell' | 'control' | 'stdin' | 'iopub';
  readonly header: MessageHeader;
  readonly parent_header: MessageHeader | object;
  readonly metadata: object;
  readonly content: object;
}

export const newHeader = (msg_type: string, session: string): MessageHeader => ({
  msg_id: randomUUID(),
  msg_type,
  session,
  username: 'kernel',
  date: new Date().toISOString(),
  version: PROTOCOL_VERSION,
});

/** A message as a client has sent it. */
export interface ReceivedMessage {
  readonly data: Buffer;
  readonly isBinary: boolean;
  readonly protocol: string;
}

/**
 * Reads a message in the framing of its connection, in slices. Throws `invalid_argument`, or an error with a status for
 * invalid JSON.
 */
export async function readMessage(
  { data, isBinary, protocol }: ReceivedMessage,
  nextSlice: NextSlice,
): Promise<ClientMessage> {
  if (protocol !== V1_PROTOCOL) {
    if (isBinary) throw new SyntaxError('Messages with buffers are not supported');
    return parse(message, await parseJsonBytes(data, LIMITS, nextSlice), 'message');
  }
  const [channel, ...parts] = splitParts(data);
  const values: unknown[] = [];
  for (const part of parts.slice(0, PARTS - 1)) values.push(await parseJsonBytes(part, LIMITS, nextSlice));
  const [head, parent, , content] = values;
  const fields = { channel: channel!.toString('latin1'), header: head, parent_header: parent ?? {}, content };
  return parse(message, fields, 'message');
}

/** The parts of a binary message. */
function splitParts(data: Buffer): Buffer[] {
  const count = data.length >= WORD_BYTES ? Number(data.readBigUInt64LE(0)) : 0;
  if (!(count > PARTS && count <= PARTS + 1 + MAX_BUFFERS) || data.length < WORD_BYTES * (count + 1))
    throw new SyntaxError('The message does not have the parts of the protocol');
  const offsets = Array.from({ length: count }, (_, i) => Number(data.readBigUInt64LE(WORD_BYTES * (i + 1))));
  const isOrdered = offsets.every((offset, i) => offset >= (offsets[i - 1] ?? WORD_BYTES * (count + 1)));
  if (!isOrdered || offsets.at(-1)! > data.length)
    throw new SyntaxError('The offsets of the message are not in order');
  return offsets.slice(0, -1).map((offset, i) => data.subarray(offset, offsets[i + 1]));
}

/** Writes a message in the framing of a connection, in slices. */
export async function writeMessage(
  sent: KernelMessage,
  protocol: string,
  nextSlice: NextSlice,
): Promise<Buffer> {
  if (protocol !== V1_PROTOCOL) return encodedJson({ ...sent, buffers: [] }, nextSlice);
  const { channel, header: head, parent_header, metadata, content } = sent;
  // biome-ignore lint/plugin: the name of a channel
  const parts: Uint8Array[] = [Buffer.from(channel)];
  for (const part of [head, parent_header, metadata, content]) parts.push(await encodedJson(part, nextSlice));
  const words = Buffer.alloc(WORD_BYTES * (parts.length + 2));
  words.writeBigUInt64LE(BigInt(parts.length + 1));
  let offset = words.length;
  for (const [i, part] of parts.entries()) {
    words.writeBigUInt64LE(BigInt(offset), WORD_BYTES * (i + 1));
    offset += part.length;
  }
  words.writeBigUInt64LE(BigInt(offset), WORD_BYTES * (parts.length + 1));
  return Buffer.concat([words, ...parts]);
}
