/** Times in ISO 8601, as records store them. */

const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');

/** A time, by default the current one. A clock beyond the years 1970 to 9999 gives the nearest time that records can hold. */
export function isoTime(ms: number = Date.now()): string {
  return new Date(Math.min(Math.max(ms, 0), LAST_MS)).toISOString();
}
