/** Decodes PNG images with 8 bits per channel and without interlacing, which is what charts/pixels.ts writes. */
import { inflateSync } from 'node:zlib';

export interface Pixels {
  readonly width: number;
  readonly height: number;
  /** Red, green, blue and alpha of a pixel. */
  at(x: number, y: number): [number, number, number, number];
  /** Whether a pixel is darker than half. Transparent pixels are not. */
  isDark(x: number, y: number): boolean;
}

export function decodePng(base64: string): Pixels {
  const bytes = Buffer.from(base64, 'base64');
  const [width, height, channels] = [bytes.readUInt32BE(16), bytes.readUInt32BE(20), bytes[25] === 6 ? 4 : 3];
  const data: Buffer[] = [];
  for (let at = 8; at < bytes.length; ) {
    const length = bytes.readUInt32BE(at);
    if (bytes.toString('latin1', at + 4, at + 8) === 'IDAT')
      data.push(bytes.subarray(at + 8, at + 8 + length));
    at += 12 + length;
  }
  const stride = width * channels;
  const rows = unfilter(inflateSync(Buffer.concat(data)), height, stride, channels);
  return {
    width,
    height,
    at: (x, y) => {
      const start = y * stride + x * channels;
      return [rows[start]!, rows[start + 1]!, rows[start + 2]!, channels === 3 ? 255 : rows[start + 3]!];
    },
    isDark: (x, y) => {
      const at = y * stride + x * channels;
      const isOpaque = channels === 3 || rows[at + 3]! > 127;
      return isOpaque && rows[at]! + rows[at + 1]! + rows[at + 2]! < 384;
    },
  };
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
