/** Decodes PNG images with 8 bits per channel and without interlacing, which is what charts/shrink-pixels.ts writes. */
import { inflateSync } from 'node:zlib';

export interface Pixels {
  readonly width: number;
  readonly height: number;
  readonly hasPalette: boolean;
  /** Red, green, blue and alpha of a pixel. */
  at(x: number, y: number): [number, number, number, number];
  /** Whether a pixel is darker than half. Transparent pixels are not. */
  isDark(x: number, y: number): boolean;
}

/** Bytes per pixel of a colour type. */
const CHANNELS: Readonly<Record<number, number>> = { 2: 3, 3: 1, 6: 4 };

export function decodePng(base64: string): Pixels {
  const bytes = Buffer.from(base64, 'base64');
  const [width, height, colorType] = [bytes.readUInt32BE(16), bytes.readUInt32BE(20), bytes[25]!];
  const channels = CHANNELS[colorType]!;
  const chunks = new Map<string, Buffer>();
  for (let at = 8; at < bytes.length; ) {
    const length = bytes.readUInt32BE(at);
    const name = bytes.toString('latin1', at + 4, at + 8);
    const data = bytes.subarray(at + 8, at + 8 + length);
    chunks.set(name, Buffer.concat([chunks.get(name) ?? Buffer.alloc(0), data]));
    at += 12 + length;
  }
  const stride = width * channels;
  const rows = unfilter(inflateSync(chunks.get('IDAT')!), height, stride, channels);
  const [palette, alpha] = [chunks.get('PLTE'), chunks.get('tRNS')];
  const at: Pixels['at'] = (x, y) => {
    const pixel = rows.subarray(y * stride + x * channels);
    const index = pixel[0]!;
    const [r, g, b] = palette?.subarray(index * 3) ?? pixel;
    return [r!, g!, b!, palette ? (alpha?.[index] ?? 255) : channels === 4 ? pixel[3]! : 255];
  };
  const isDark: Pixels['isDark'] = (x, y) => {
    const [r, g, b, a] = at(x, y);
    return a > 127 && r + g + b < 384;
  };
  return { width, height, hasPalette: palette !== undefined, at, isDark };
}

function unfilter(raw: Uint8Array, height: number, stride: number, channels: number): Uint8Array {
  const rows = new Uint8Array(height * stride);
  for (let y = 0; y < height; y++) {
    const filter = raw[y * (stride + 1)]!;
    for (let i = 0; i < stride; i++) {
      const at = y * stride + i;
      const left = i < channels ? 0 : rows[at - channels]!;
      const up = y === 0 ? 0 : rows[at - stride]!;
      const corner = y === 0 || i < channels ? 0 : rows[at - stride - channels]!;
      const predicted = predict(filter, left, up, corner);
      rows[at] = raw[y * (stride + 1) + 1 + i]! + predicted;
    }
  }
  return rows;
}

function predict(filter: number, left: number, up: number, corner: number): number {
  if (filter === 1) return left;
  if (filter === 2) return up;
  if (filter === 3) return (left + up) >> 1;
  if (filter === 0) return 0;
  const estimate = left + up - corner;
  const a = Math.abs(estimate - left);
  const b = Math.abs(estimate - up);
  const c = Math.abs(estimate - corner);
  return a <= b && a <= c ? left : b <= c ? up : corner;
}
