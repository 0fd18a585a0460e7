/** Time zones: canonical names and offsets from UTC. The data covers the years 1890 to 2037; later years repeat its rules. */
import { load } from '../../../node-modules.js';

const FIRST = Date.UTC(1890, 0, 1) / 1000;
const END_YEAR = 2037;
const END = Date.UTC(END_YEAR + 1, 0, 1) / 1000;

const data = () => load('node:internal/locale-data/time-zones');
let canonicalNames;

/** The canonical name of a time zone. The case of the name does not matter. */
export function canonicalTimeZone(name) {
  const text = `${name}`;
  const offset = /^([+-])(\d\d)(?::?(\d\d))?$/.exec(text);
  if (offset !== null && Number(offset[2]) < 24 && Number(offset[3] ?? 0) < 60)
    return `${offset[1]}${offset[2]}:${offset[3] ?? '00'}`.replace('-00:00', '+00:00');
  if (text.toUpperCase() === 'UTC') return 'UTC';
  const { zones, aliases } = data();
  if (canonicalNames === undefined) {
    canonicalNames = new Map();
    for (const zone of Object.keys(zones)) canonicalNames.set(zone.toLowerCase(), zone);
    for (const [alias, zone] of Object.entries(aliases)) canonicalNames.set(alias.toLowerCase(), zone);
  }
  const found = canonicalNames.get(text.toLowerCase());
  if (found === undefined) throw new RangeError(`Invalid time zone specified: ${text}`);
  return found;
}

const parsed = new Map();

/** The times of the changes and the offset after each, in seconds. */
function changesOf(zone) {
  let changes = parsed.get(zone);
  if (changes !== undefined) return changes;
  const [offsetText, changeText] = data().zones[zone].split('|');
  const offsets = offsetText.split('.').map((text) => Number.parseInt(text, 36));
  changes = { first: offsets[0], times: [], offsets: [] };
  let at = FIRST;
  for (const change of changeText === '' ? [] : changeText.split(' ')) {
    const [wait, index] = change.split('.');
    at += Number.parseInt(wait, 36);
    changes.times.push(at);
    changes.offsets.push(offsets[Number.parseInt(index, 36)]);
  }
  parsed.set(zone, changes);
  return changes;
}

/**
 * The same time in one of the last years of the data: a day of the same name, on the same weekday. The months from March on, and those
 * before, each have a year among the last eleven that begins on the same weekday.
 */
function equivalentTime(seconds) {
  const date = new Date(seconds * 1000);
  const month = date.getUTCMonth() < 2 ? 0 : 2;
  const start = Date.UTC(date.getUTCFullYear(), month, 1);
  const weekday = new Date(start).getUTCDay();
  for (let year = END_YEAR; ; year--) {
    const other = Date.UTC(year, month, 1);
    if (new Date(other).getUTCDay() === weekday) return seconds + (other - start) / 1000;
  }
}

/** The offset from UTC, in seconds, at a time in milliseconds. */
export function offsetAt(zone, milliseconds) {
  if (zone === 'UTC') return 0;
  const fixed = /^([+-])(\d\d):(\d\d)$/.exec(zone);
  if (fixed !== null) return (fixed[1] === '-' ? -1 : 1) * (Number(fixed[2]) * 3600 + Number(fixed[3]) * 60);
  let seconds = Math.floor(milliseconds / 1000);
  if (seconds >= END) seconds = equivalentTime(seconds);
  const { first, times, offsets } = changesOf(zone);
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] <= seconds) low = middle + 1;
    else high = middle;
  }
  return low === 0 ? first : offsets[low - 1];
}

let defaultZone = 'UTC';
/** The time zone of the variable TZ. */
export const defaultTimeZone = () => defaultZone;
export const setDefaultTimeZone = (zone) => {
  defaultZone = zone;
};

/** The position of a zone in the lists of names. */
export const zoneIndex = (zone) => Object.keys(data().zones).indexOf(zone);
export const timeZones = () => Object.keys(data().zones);
