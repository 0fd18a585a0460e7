/**
 * Images with a palette. Charts have few colours: an index per pixel makes them smaller and faster to encode. The loop over the
 * pixels does little, because the first image of a process is encoded before V8 has optimised it.
 */

/** RGBA with premultiplied alpha, row by row from the top. */
export interface Pixels {
  readonly width: number;
  readonly height: number;
  readonly rgba: Uint8Array;
}

export interface IndexedPixels {
  readonly width: number;
  readonly height: number;
  /** RGBA of each colour, with premultiplied alpha. */
  readonly palette: Uint8Array;
  /** The number of the colour of each pixel. */
  readonly indices: Uint8Array;
}

const MAX_COLORS = 256;

/** The image with a palette, or undefined if it has more than 256 colours. */
export function toIndexed({ width, height, rgba: given }: Pixels): IndexedPixels | undefined {
  const rgba = given.byteOffset % 4 === 0 ? given : Uint8Array.from(given);
  const words = new Uint32Array(rgba.buffer, rgba.byteOffset, width * height);
  const indices = new Uint8Array(width * height);
  const known = new Map<number, number>();
  const palette = new Uint8Array(MAX_COLORS * 4);
  for (let start = 0; start < indices.length; start += width) {
    if (start > 0 && isRepeated(rgba, start * 4, width * 4)) {
      indices.copyWithin(start, start - width, start);
      continue;
    }
    let last = -1;
    let index = 0;
    for (let at = start; at < start + width; at++) {
      const word = words[at]!;
      if (word !== last) {
        last = word;
        const found = known.get(word);
        if (found === undefined && known.size === MAX_COLORS) return undefined;
        index = found ?? known.size;
        if (found === undefined) {
          known.set(word, index);
          palette.set(rgba.subarray(at * 4, at * 4 + 4), index * 4);
        }
      }
      indices[at] = index;
    }
  }
  return { width, height, palette: palette.subarray(0, known.size * 4), indices };
}

/** Whether the row at an offset is the same as the one above it. */
export const isRepeated = (bytes: Uint8Array, at: number, stride: number) =>
  Buffer.compare(bytes.subarray(at, at + stride), bytes.subarray(at - stride, at)) === 0;
