/** Times in ISO 8601, as records store them. */

const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');

/** A time of a clock. One outside the years 1970 to 9999 becomes the nearest time that records can hold. */
export function isoTime(ms: number): string {
  return new Date(Math.min(Math.max(ms, 0), LAST_MS)).toISOString();
}
