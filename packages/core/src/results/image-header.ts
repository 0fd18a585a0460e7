/**
 * Recognises PNG, JPEG, GIF and WebP images by their first bytes and reads their dimensions, without decoding anything. The
 * bytes come from programs; reading a header takes bounded time.
 */
import { RESULT_LIMITS } from './result-limits.ts';

export type ImageMime = 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp';

interface ImageHeader {
  readonly mime: ImageMime;
  readonly width: number;
  readonly height: number;
}

/** Maximum number of segments of a JPEG file that are searched for its dimensions. */
const MAX_JPEG_SEGMENTS = 256;

const ascii = (bytes: Uint8Array, at: number, text: string) =>
  [...text].every((character, i) => bytes[at + i] === character.charCodeAt(0));

/** The header of an image; undefined if the bytes are not one of the four formats or have no dimensions. */
export function readImageHeader(bytes: Uint8Array): ImageHeader | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const size =
    bytes[0] === 0x89 && ascii(bytes, 1, 'PNG\r\n\x1a\n')
      ? png(bytes, view)
      : ascii(bytes, 0, 'GIF87a') || ascii(bytes, 0, 'GIF89a')
        ? gif(view)
        : bytes[0] === 0xff && bytes[1] === 0xd8 && bytes[2] === 0xff
          ? jpeg(view)
          : ascii(bytes, 0, 'RIFF') && ascii(bytes, 8, 'WEBP')
            ? webp(bytes, view)
            : undefined;
  return size !== undefined && size.width > 0 && size.height > 0 ? size : undefined;
}

/** Whether the dimensions of an image are small enough to decode it. */
export const isDecodable = ({ width, height }: ImageHeader) =>
  Math.max(width, height) <= RESULT_LIMITS.imageEdge && width * height <= RESULT_LIMITS.imagePixels;

/** Deflate expands a byte to at most this many. */
const DEFLATE_RATIO = 1032;
/** A block of 64 pixels of a JPEG takes at least one bit. */
const JPEG_PIXELS_PER_BYTE = 8 * 64;
/** A code of 12 bits of a GIF stands for at most 4096 pixels. */
const GIF_PIXELS_PER_BYTE = (4096 * 8) / 12;
/** Channels of a pixel by the colour type of a PNG. */
const PNG_CHANNELS: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 };

/**
 * Whether an image has enough data for the pixels that its header promises. Decoders allocate memory for the pixels before
 * they read the data.
 */
export function canHoldPixels(bytes: Uint8Array, { mime, width, height }: ImageHeader): boolean {
  if (mime === 'image/gif') return width * height <= bytes.length * GIF_PIXELS_PER_BYTE;
  if (mime === 'image/jpeg') return width * height <= bytes.length * JPEG_PIXELS_PER_BYTE;
  if (mime !== 'image/png') return true;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const bitsPerPixel = view.getUint8(24) * (PNG_CHANNELS[view.getUint8(25)] ?? 1);
  return (width * height * bitsPerPixel) / 8 <= pngDataBytes(bytes, view) * DEFLATE_RATIO;
}

/** Bytes of compressed pixels. */
function pngDataBytes(bytes: Uint8Array, view: DataView): number {
  let total = 0;
  for (let at = 8; at + 12 <= bytes.length; ) {
    const length = view.getUint32(at);
    if (ascii(bytes, at + 4, 'IDAT')) total += Math.min(length, bytes.length - at - 12);
    at += 12 + length;
  }
  return total;
}

function png(bytes: Uint8Array, view: DataView): ImageHeader | undefined {
  if (view.byteLength < 33 || !ascii(bytes, 12, 'IHDR')) return undefined;
  return { mime: 'image/png', width: view.getUint32(16), height: view.getUint32(20) };
}

/** Frames can be larger than the screen, and decoders allocate memory for both. */
function gif(view: DataView): ImageHeader | undefined {
  if (view.byteLength < 13) return undefined;
  let width = view.getUint16(6, true);
  let height = view.getUint16(8, true);
  const end = view.byteLength;
  const colours = (flags: number) => ((flags & 0x80) === 0 ? 0 : 3 * 2 ** ((flags & 7) + 1));
  let at = 13 + colours(view.getUint8(10));
  while (at + 10 <= end) {
    const kind = view.getUint8(at);
    if (kind === 0x2c) {
      width = Math.max(width, view.getUint16(at + 1, true) + view.getUint16(at + 5, true));
      height = Math.max(height, view.getUint16(at + 3, true) + view.getUint16(at + 7, true));
      at += 11 + colours(view.getUint8(at + 9));
    } else if (kind === 0x21) at += 2;
    else break;
    // The data of a block: parts that each start with their length in one byte, up to an empty part.
    while (at < end && view.getUint8(at) > 0) at += 1 + view.getUint8(at);
    at++;
  }
  return { mime: 'image/gif', width, height };
}

function jpeg(view: DataView): ImageHeader | undefined {
  let at = 2;
  for (let i = 0; i < MAX_JPEG_SEGMENTS && at + 9 <= view.byteLength; i++) {
    if (view.getUint8(at) !== 0xff) return undefined;
    const marker = view.getUint8(at + 1);
    // The markers of frame headers: all in this range except DHT, JPG and DAC.
    if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker))
      return { mime: 'image/jpeg', width: view.getUint16(at + 7), height: view.getUint16(at + 5) };
    // Decoders skip TEM, RST and SOI, which have no length.
    const hasLength = marker !== 0x01 && (marker < 0xd0 || marker > 0xd8);
    at += marker === 0xff ? 1 : hasLength ? 2 + view.getUint16(at + 2) : 2;
  }
  return undefined;
}

function webp(bytes: Uint8Array, view: DataView): ImageHeader | undefined {
  if (view.byteLength < 30) return undefined;
  const mime = 'image/webp';
  if (ascii(bytes, 12, 'VP8X')) {
    const uint24 = (at: number) => view.getUint16(at, true) | (view.getUint8(at + 2) << 16);
    return { mime, width: uint24(24) + 1, height: uint24(27) + 1 };
  }
  if (ascii(bytes, 12, 'VP8L')) {
    const bits = view.getUint32(21, true);
    return { mime, width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
  }
  if (!ascii(bytes, 12, 'VP8 ')) return undefined;
  return { mime, width: view.getUint16(26, true) & 0x3fff, height: view.getUint16(28, true) & 0x3fff };
}
