/**
 * Draws SVG and decodes images. resvg runs as a guest: its module is metered like that of an interpreter, so fuel, time and memory bound
 * what hostile input can cost. Every image starts from the same memory.
 */
import { type CompiledModule, Guest } from '../engine/guest.ts';
import type { Linkage } from '../engine/host-imports.ts';
import { type Image, writeImage } from '../engine/image.ts';
import { PAGE_BYTES } from '../engine/image-identity.ts';
import type { RunContext } from '../engine/run-context.ts';
import { Volume } from '../fs/volume.ts';
import { CHART_LIMITS } from './chart-limits.ts';
import type { Pixels } from './indexed-pixels.ts';
import { copyIn, HostValues, rasteriserImports } from './rasteriser-imports.ts';

/** The functions of resvg that are used. */
export const RASTERISER_EXPORTS = [
  '__wbindgen_add_to_stack_pointer',
  '__wbindgen_exn_store',
  '__wbindgen_malloc',
  'renderedimage_height',
  'renderedimage_pixels',
  'renderedimage_width',
  'resvg_height',
  'resvg_new',
  'resvg_render',
  'resvg_width',
] as const;

export const RASTERISER_LINKAGE: Linkage<Guest> = {
  imports: (guest) => ({ wbg: rasteriserImports(guest) }),
  overrides: [],
  // It cannot be interrupted: it is stopped when its grace period is over.
  interrupt: () => {},
};

const NO_FILES = new Volume({ maxBytes: 0, maxFiles: 0 }, () => 0);

export interface Rasteriser {
  readonly compiled: CompiledModule;
  readonly image: Image;
  /** TrueType files. The first one is used for text without a known family. */
  readonly fonts: readonly Uint8Array[];
  readonly fontFamily: string;
}

interface Size {
  readonly width: number;
  readonly height: number;
}

/** What to draw: an SVG, whose size is given if it is known, or an image whose header says that it has this size. */
export type Drawable =
  | { readonly svg: string; readonly size?: Size | undefined }
  | { readonly image: Uint8Array; readonly mime: string; readonly size: Size };

/**
 * Draws an SVG, or decodes an image. An SVG whose size is not known is parsed twice. Throws `GuestStopped` if a limit is
 * reached, and an Error if the SVG is invalid; an image that cannot be decoded is transparent. `charge` receives the fuel that
 * was used, even if drawing fails.
 */
export function rasterise(
  rasteriser: Rasteriser,
  drawable: Drawable,
  memoryBytes: number,
  context: RunContext,
  charge: (fuel: number) => void,
): Pixels {
  const { compiled, image } = rasteriser;
  const size = { pages: image.header.pages, maxPages: memoryBytes / PAGE_BYTES };
  const guest = new Guest(compiled, RASTERISER_LINKAGE, size, NO_FILES);
  writeImage(guest, image);
  guest.beginRun(context);
  try {
    const drawn = call(guest, 'resvg_render', openDrawable(guest, rasteriser, drawable));
    const [width, height] = [
      guest.call('renderedimage_width', drawn),
      guest.call('renderedimage_height', drawn),
    ];
    const rgba = HostValues.of(guest).get(guest.call('renderedimage_pixels', drawn), 'bytes').bytes;
    if (!(width > 0 && height > 0) || rgba.length !== width * height * 4)
      throw new Error('the rasteriser returned no image');
    return { width, height, rgba };
  } finally {
    charge(guest.fuelConsumed);
  }
}

function openDrawable(guest: Guest, rasteriser: Rasteriser, drawable: Drawable): number {
  if ('image' in drawable) {
    const { width } = drawable.size;
    return open(guest, rasteriser, { kind: 'text', text: svgOfImage(drawable) }, width);
  }
  const source = { kind: 'text', text: drawable.svg } as const;
  const size = drawable.size ?? sizeOf(guest, open(guest, rasteriser, source, undefined));
  return open(guest, rasteriser, source, widthFor(size));
}

/** An SVG that shows an image in its own size. */
function svgOfImage({
  image,
  mime,
  size: { width, height },
}: Extract<Drawable, { image: Uint8Array }>): string {
  const box = `width="${width}" height="${height}"`;
  const data = Buffer.from(image.buffer, image.byteOffset, image.byteLength).toString('base64');
  const href = `xlink:href="data:${mime};base64,${data}"`;
  const names = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"';
  return `<svg ${names} ${box}><image ${box} image-rendering="optimizeSpeed" ${href}/></svg>`;
}

/** The width of the image, such that neither edge is above the limit. */
function widthFor({ width, height }: Size): number {
  const { scale, edge } = CHART_LIMITS;
  if (!(width > 0 && height > 0)) throw new Error('it has no size');
  return Math.max(1, Math.floor(width * Math.min(scale, edge / width, edge / height)));
}

function open(
  guest: Guest,
  { fonts, fontFamily }: Rasteriser,
  svg: { readonly kind: 'text'; readonly text: string },
  width: number | undefined,
): number {
  const values = HostValues.of(guest);
  const options = {
    font: {
      loadSystemFonts: false,
      defaultFontFamily: fontFamily,
      sansSerifFamily: fontFamily,
      serifFamily: fontFamily,
      monospaceFamily: fontFamily,
      cursiveFamily: fontFamily,
      fantasyFamily: fontFamily,
    },
    ...(width !== undefined && { fitTo: { mode: 'width', value: width } }),
  };
  const text = new TextEncoder().encode(JSON.stringify(options));
  const items = fonts.map((bytes) => values.add({ kind: 'bytes', bytes }));
  const list = values.add({ kind: 'list', items });
  return call(guest, 'resvg_new', values.add(svg), copyIn(guest, text), text.length, list);
}

/** Calls a function that returns a value or an error through memory. */
function call(guest: Guest, name: string, ...args: number[]): number {
  const out = guest.call('__wbindgen_add_to_stack_pointer', -16) >>> 0;
  guest.call(name, out, ...args);
  const [value, error, isError] = [0, 4, 8].map((offset) => guest.view.u32(out + offset)) as [
    number,
    number,
    number,
  ];
  guest.call('__wbindgen_add_to_stack_pointer', 16);
  if (isError === 0) return value;
  const reason = HostValues.of(guest).peek(error);
  throw new Error(reason?.kind === 'text' ? reason.text.slice(0, 300) : 'the SVG is invalid');
}

const sizeOf = (guest: Guest, handle: number): Size => ({
  width: guest.call('resvg_width', handle),
  height: guest.call('resvg_height', handle),
});
