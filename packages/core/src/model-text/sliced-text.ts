/**
 * Conversion between text and bytes of files and messages of any size, in slices. The first slice runs at once, so small
 * contents take no extra turn of the event loop.
 */
import { isUtf8 } from 'node:buffer';
import { type NextSlice, SLICE_BYTES } from '../concurrency/slices.ts';
import { SandboxError } from '../errors.ts';

/** Characters of text that a slice encodes. */
const SLICE_CHARS = SLICE_BYTES / 2;
/** Divisible by 3, so that the parts of base64 text can be joined. */
const BASE64_SLICE_BYTES = 3 * 64 * 1024;

/** A part of a text that begins and ends between two characters. */
interface TextPart {
  readonly bytes: Uint8Array;
  /** UTF-16 code units. */
  readonly chars: number;
}

/** The text in a file, which is decoded only where it is needed. */
export class SlicedText {
  private constructor(
    readonly parts: readonly TextPart[],
    readonly chars: number,
    readonly nextSlice: NextSlice,
  ) {}

  /** Returns undefined for binary data: invalid UTF-8, zero bytes, or very many control characters, which JSON escapes. */
  static async of(bytes: Uint8Array, nextSlice: NextSlice): Promise<SlicedText | undefined> {
    const parts: TextPart[] = [];
    let total = 0;
    let controls = 0;
    for (let start = hasByteOrderMark(bytes) ? 3 : 0; start < bytes.length; ) {
      if (parts.length > 0) await nextSlice();
      const end = characterStart(bytes, Math.min(bytes.length, start + SLICE_BYTES));
      // A copy, because the functions of Node refuse shared memory.
      const part = bytes.slice(start, end);
      const counts = isUtf8(part) ? countCharacters(part) : undefined;
      if (counts === undefined) return undefined;
      parts.push({ bytes: bytes.subarray(start, end), chars: counts.chars });
      total += counts.chars;
      controls += counts.controls;
      start = end;
    }
    const isBinary = parts.length > 1 && controls * MAX_CONTROL_SHARE > bytes.length;
    return isBinary ? undefined : new SlicedText(parts, total, nextSlice);
  }

  /** The characters from `from` up to `to`, which may be beyond the end. */
  async slice(from = 0, to = this.chars): Promise<string> {
    const found: string[] = [];
    let at = 0;
    for (const { bytes, chars } of this.parts) {
      const isWanted = at < to && at + chars > from;
      if (isWanted) {
        if (found.length > 0) await this.nextSlice();
        const text = Buffer.from(bytes).toString('utf8');
        found.push(text.slice(Math.max(0, from - at), Math.max(0, to - at)));
      }
      at += chars;
    }
    return found.join('');
  }
}

/** Large data with more control characters than one in this many is binary. */
const MAX_CONTROL_SHARE = 4;

function hasByteOrderMark(bytes: Uint8Array): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
}

/** The start of the character at `end`, which is at most three bytes earlier. */
function characterStart(bytes: Uint8Array, end: number): number {
  let start = end;
  while (start > end - 4 && start < bytes.length && (bytes[start]! & 0xc0) === 0x80) start--;
  return start;
}

/** Counts UTF-16 code units and control characters. Returns undefined if there is a zero byte. */
function countCharacters(bytes: Uint8Array): { chars: number; controls: number } | undefined {
  let chars = 0;
  let controls = 0;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]!;
    if ((byte & 0xc0) !== 0x80) chars++;
    // Four bytes are a pair of surrogates.
    if (byte >= 0xf0) chars++;
    if (byte >= 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d) continue;
    if (byte === 0) return undefined;
    controls++;
  }
  return { chars, controls };
}

/** Decodes the chunks of a message. Invalid UTF-8 is replaced. */
export async function decodeChunks(chunks: readonly Uint8Array[], nextSlice: NextSlice): Promise<string> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const parts: string[] = [];
  let bytes = 0;
  for (const chunk of chunks) {
    for (let start = 0; start < chunk.length; start += SLICE_BYTES) {
      const part = chunk.subarray(start, start + SLICE_BYTES);
      bytes += part.length;
      if (bytes > SLICE_BYTES) {
        await nextSlice();
        bytes = part.length;
      }
      parts.push(decoder.decode(part, { stream: true }));
    }
  }
  return parts.join('') + decoder.decode();
}

/** Decodes UTF-8 with all of its characters; undefined if it is invalid. */
export async function decodeText(bytes: Uint8Array, nextSlice: NextSlice): Promise<string | undefined> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  const parts: string[] = [];
  try {
    for (let start = 0; start < bytes.length; start += SLICE_BYTES) {
      if (start > 0) await nextSlice();
      // A copy, because decoders refuse shared memory.
      parts.push(decoder.decode(bytes.slice(start, start + SLICE_BYTES), { stream: true }));
    }
    return parts.join('') + decoder.decode();
  } catch (cause) {
    if (cause instanceof TypeError) return undefined;
    throw cause;
  }
}

export async function toBase64(bytes: Uint8Array, nextSlice: NextSlice): Promise<string> {
  const parts: string[] = [];
  for (let start = 0; start < bytes.length; start += BASE64_SLICE_BYTES) {
    if (start > 0) await nextSlice();
    parts.push(Buffer.from(bytes.subarray(start, start + BASE64_SLICE_BYTES)).toString('base64'));
  }
  return parts.join('');
}

/** The bytes of a text. Throws `invalid_argument` if the text is not valid base64 or UTF-8 cannot represent it. */
export async function encodeContent(
  content: string,
  encoding: 'utf8' | 'base64',
  nextSlice: NextSlice,
): Promise<Uint8Array> {
  const encode = encoding === 'utf8' ? encodeUtf8 : base64Decoder();
  const parts: Uint8Array[] = [];
  for (let start = 0; start < content.length; ) {
    if (start > 0) await nextSlice();
    let end = Math.min(content.length, start + SLICE_CHARS);
    // A pair of surrogates stays together.
    if (end < content.length && (content.charCodeAt(end - 1) & 0xfc00) === 0xd800) end++;
    parts.push(encode(content.slice(start, end), end === content.length));
    start = end;
  }
  return Buffer.concat(parts);
}

function encodeUtf8(text: string): Uint8Array {
  if (/\p{Surrogate}/u.test(text)) throw loneSurrogate();
  return Buffer.from(text, 'utf8');
}

function loneSurrogate(): SandboxError {
  const fact =
    'content: contains a lone surrogate (half of a UTF-16 pair, \\ud800 to \\udfff), which UTF-8 cannot represent';
  return new SandboxError('invalid_argument', `${fact}. Send the complete pair, or leave it out.`);
}

/** No character can match in two places, so long text that is not base64 is rejected in linear time. */
const BASE64 = /^[A-Za-z0-9+/\s]*(?:=[=\s]*)?$/;

/** Decodes base64 text part by part. Padding is allowed only in the last parts. */
function base64Decoder(): (text: string, isLast: boolean) => Uint8Array {
  let rest = '';
  let hasEnded = false;
  return (text, isLast) => {
    const isValid = hasEnded ? /^[=\s]*$/.test(text) : BASE64.test(text);
    if (!isValid)
      throw new SandboxError(
        'invalid_argument',
        'content: not valid base64. Send valid base64, or set encoding to "utf8".',
      );
    hasEnded ||= text.includes('=');
    const digits = rest + text.replaceAll(/[=\s]+/g, '');
    const complete = isLast ? digits.length : digits.length - (digits.length % 4);
    rest = digits.slice(complete);
    return Buffer.from(digits.slice(0, complete), 'base64');
  };
}
