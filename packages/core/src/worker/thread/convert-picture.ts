/**
 * Converts an image or SVG that a program has created to PNG, which clients and terminals show. The rasteriser, which is
 * a guest, decodes it after its size has been checked.
 */
import { sharedRasteriser } from '../../charts/artifacts.ts';
import { type DrawingLimits, PICTURE_LIMITS, svgProblem } from '../../charts/chart-limits.ts';
import type { Pixels } from '../../charts/indexed-pixels.ts';
import { type Drawable, rasterise } from '../../charts/rasteriser.ts';
import { isTransparent, type PictureLimits, toPng } from '../../charts/shrink-pixels.ts';
import { IMAGE_TIME_MS } from '../../engine/image-identity.ts';
import type { RunContext } from '../../engine/run-context.ts';
import { formatBytes, formatCount, formatItems } from '../../quantities.ts';
import { canHoldPixels, isDecodable, readImageHeader } from '../../results/image-header.ts';
import type { DrawnPicture, PictureJob } from '../protocol/messages.ts';
import { DrawingError, drawingFailure } from './drawing-failure.ts';

const ADVICE = 'Make the image smaller or simpler';
/** Formats that the rasteriser decodes. */
const DECODED: readonly string[] = ['image/png', 'image/jpeg', 'image/gif'];

export function convertPicture(
  { source, limits }: PictureJob,
  control: Pick<RunContext, 'cancel' | 'cancelValue' | 'onSlice'>,
  { fuel, timeMs, memoryBytes }: DrawingLimits = PICTURE_LIMITS,
): DrawnPicture {
  try {
    const drawable = typeof source === 'string' ? fromSvg(source) : fromImage(source, limits);
    const context: RunContext = {
      ...control,
      fuelBudget: fuel,
      deadlineMs: performance.now() + timeMs,
      deterministic: { startMs: IMAGE_TIME_MS, seed: 0 },
      output: () => {},
      result: () => {},
    };
    const pixels = rasterise(sharedRasteriser(), drawable, memoryBytes, context, (used) => {
      control.onSlice?.(used);
    });
    if ('image' in drawable && isTransparent(pixels))
      throw new DrawingError('it is damaged, or all its pixels are transparent');
    return encode(pixels, limits);
  } catch (cause) {
    return { problem: drawingFailure(cause, ADVICE) };
  }
}

function encode(pixels: Pixels, limits: PictureLimits): DrawnPicture {
  const picture = toPng(pixels, limits);
  if (picture === undefined) throw new DrawingError('it is too large');
  const { png, width, height } = picture;
  return { image: png, width, height };
}

function fromSvg(svg: string): Drawable {
  const problem = svgProblem(svg);
  if (problem !== undefined) throw new DrawingError(problem);
  return { svg };
}

/** Throws if decoding the image could take too much memory. */
function fromImage(image: Uint8Array, { maxEdge, maxBytes }: PictureLimits): Drawable {
  const header = readImageHeader(image);
  if (header === undefined) throw new DrawingError('it is not a PNG, JPEG, GIF or WebP image');
  const { mime, width, height } = header;
  if (!DECODED.includes(mime))
    throw new DrawingError(
      `it is too large, and images of the type ${mime} cannot be scaled down. Save it as PNG or JPEG, or make it smaller: at most ${formatBytes(maxBytes)}, and at most ${formatCount(maxEdge)} pixels in each direction`,
    );
  if (!(isDecodable(header) && width * height <= PICTURE_LIMITS.pixels))
    throw new DrawingError(
      `it has ${width} × ${height} pixels, and the limit is ${formatCount(PICTURE_LIMITS.pixels)}`,
    );
  if (image.length > PICTURE_LIMITS.bytes)
    throw new DrawingError(
      `it has ${formatItems(image.length, 'byte')}, and the limit is ${formatBytes(PICTURE_LIMITS.bytes)}`,
    );
  if (!canHoldPixels(image, header))
    throw new DrawingError(
      `it is damaged: its header promises ${width} × ${height} pixels, which do not fit into its ${formatItems(image.length, 'byte')}`,
    );
  return { image, mime, size: { width, height } };
}
