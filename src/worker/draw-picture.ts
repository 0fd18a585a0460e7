/**
 * Converts an image or SVG that a program has created to a PNG that clients and terminals can show. It is decoded by the
 * rasteriser, which is a guest; its size is checked before that.
 */
import { sharedRasteriser } from '../charts/artifacts.ts';
import { type DrawingLimits, PICTURE_LIMITS } from '../charts/limits.ts';
import { isTransparent, toPng } from '../charts/pixels.ts';
import { type Drawable, rasterise } from '../charts/rasteriser.ts';
import { svgProblem } from '../charts/svg-check.ts';
import { IMAGE_TIME_MS } from '../engine/image-identity.ts';
import type { RunContext } from '../engine/run-context.ts';
import { formatBytes, formatCount, formatItems } from '../quantities.ts';
import { isDecodable, readImageHeader } from '../results/image-header.ts';
import { DrawingError, drawingFailure } from './drawing-failure.ts';
import type { DrawnPicture, PictureJob } from './protocol.ts';

const ADVICE = 'Make the image smaller or simpler';
/** Formats that the rasteriser decodes. */
const DECODED: readonly string[] = ['image/png', 'image/jpeg', 'image/gif'];

export function drawPicture(
  { source, limits }: PictureJob,
  control: Pick<RunContext, 'cancel' | 'cancelValue' | 'onSlice'>,
  { fuel, timeMs, memoryBytes }: DrawingLimits = PICTURE_LIMITS,
): DrawnPicture {
  try {
    const drawable = typeof source === 'string' ? fromSvg(source) : fromImage(source);
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
    const picture = toPng(pixels, limits);
    if (picture === undefined) throw new DrawingError('it is too large');
    return picture;
  } catch (cause) {
    return { problem: drawingFailure(cause, ADVICE) };
  }
}

function fromSvg(svg: string): Drawable {
  const problem = svgProblem(svg);
  if (problem !== undefined) throw new DrawingError(problem);
  return { svg };
}

/** Throws if decoding the image could take too much memory. */
function fromImage(image: Uint8Array): Drawable {
  const header = readImageHeader(image);
  if (header === undefined) throw new DrawingError('it is not a PNG, JPEG, GIF or WebP image');
  const { mime, width, height } = header;
  if (!DECODED.includes(mime))
    throw new DrawingError(`images of the type ${mime} are not converted. Save it as PNG or JPEG`);
  if (!(isDecodable(header) && width * height <= PICTURE_LIMITS.pixels))
    throw new DrawingError(
      `it has ${width} × ${height} pixels, and at most ${formatCount(PICTURE_LIMITS.pixels)} are decoded`,
    );
  if (image.length > PICTURE_LIMITS.bytes)
    throw new DrawingError(
      `it has ${formatItems(image.length, 'byte')}, and at most ${formatBytes(PICTURE_LIMITS.bytes)} are decoded`,
    );
  return { image, mime, size: { width, height } };
}
