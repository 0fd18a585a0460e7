/** Limits of rendering. Specifications and SVG come from programs, so everything that they can enlarge is bounded here. */

import { formatCount, formatItems } from '../quantities.ts';
import { RESULT_LIMITS } from '../results/result-limits.ts';

export const CHART_LIMITS = {
  /** Fuel of one chart: of Vega, and of the rasteriser. It counts towards the tenant's fuel per minute, not the program's budget. */
  fuel: 20_000_000_000,
  /** Fuel of all charts of a call. */
  totalFuel: 40_000_000_000,
  /** Memory of the guest that runs Vega, and of the rasteriser. */
  memoryBytes: 256 * 1024 * 1024,
  /** Characters of an SVG. */
  svgChars: 3_000_000,
  /** Elements of an SVG. */
  svgElements: 100_000,
  /** `use` elements of an SVG, which can multiply the number of shapes. */
  svgUses: 200,
  /** Pixels of a PNG in each direction. */
  edge: RESULT_LIMITS.shownEdge,
  /** Pixels of a PNG per unit of the SVG, unless the image becomes too large. */
  scale: 2,
} as const;

/** What drawing or decoding one picture may use. */
export interface DrawingLimits {
  readonly fuel: number;
  readonly timeMs: number;
  readonly memoryBytes: number;
}

/** Limits of showing an image or SVG that a program has created. */
export const PICTURE_LIMITS = {
  fuel: 40_000_000_000,
  timeMs: 20_000,
  memoryBytes: 384 * 1024 * 1024,
  /** Pixels of an image that is decoded. */
  pixels: 24_000_000,
  /** Bytes of an image that is decoded. */
  bytes: 16 * 1024 * 1024,
} as const;

const ELEMENT = /</g;
const USE = /<(?:[\w.-]{1,64}:)?use[\s/>]/g;

/** Why an SVG is not parsed, or undefined: its size, and what multiplies it. Fuel and memory limits bound the rest. */
export function svgProblem(svg: string): string | undefined {
  const { svgChars, svgElements, svgUses } = CHART_LIMITS;
  if (svg.length > svgChars)
    return `its SVG has ${formatItems(svg.length, 'character')}, and the limit is ${formatCount(svgChars)}`;
  if (svg.includes('<!ENTITY')) return 'its SVG declares entities';
  if (count(svg, ELEMENT, svgElements * 2) > svgElements * 2)
    return `its SVG has more than ${svgElements} elements`;
  if (count(svg, USE, svgUses) > svgUses) return `its SVG has more than ${svgUses} use elements`;
  return undefined;
}

/** Occurrences of a pattern; stops counting after `max`. */
function count(text: string, pattern: RegExp, max: number): number {
  let found = 0;
  for (const _ of text.matchAll(pattern)) if (++found > max) break;
  return found;
}

const REFERENCE = /\s(?:xlink:)?href="(?!#|data:image\/(?:png|jpeg|gif|webp);)[^"]*"/g;

/** Removes references to anything outside the SVG that Vega has written: the rasteriser loads none, but viewers of the SVG would. */
export const withoutReferences = (svg: string) => svg.replaceAll(REFERENCE, '');
