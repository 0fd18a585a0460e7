/** Limits of rendering. Specifications and SVG come from programs, so everything that they can enlarge is bounded here. */

export const CHART_LIMITS = {
  /** Fuel of one chart: of Vega, and of the rasteriser. Neither is charged to the program. */
  fuel: 20_000_000_000,
  /** Fuel of all charts of a call. */
  totalFuel: 40_000_000_000,
  /** Time of all charts of a call, in milliseconds. */
  totalMs: 60_000,
  /** Memory of the guest that runs Vega, and of the rasteriser. */
  memoryBytes: 256 * 1024 * 1024,
  /** Characters of an SVG. */
  svgChars: 3_000_000,
  /** Elements of an SVG. */
  svgElements: 100_000,
  /** `use` elements of an SVG, which can multiply the number of shapes. */
  svgUses: 200,
  /** Pixels of a PNG in each direction; clients downscale larger images. */
  edge: 1568,
  /** Pixels of a PNG per unit of the SVG, unless the image becomes too large. */
  scale: 2,
} as const;
