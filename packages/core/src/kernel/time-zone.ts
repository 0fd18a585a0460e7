/**
 * Time zones: the compiled files of the time zone database (RFC 9636), and the rules that the variable TZ and the ends of these files
 * contain. Times are seconds since 1970; offsets are seconds east of UTC.
 */

export interface LocalType {
  readonly offset: number;
  readonly isDst: boolean;
  readonly name: string;
}

/** The time types in effect. */
export interface TimeZone {
  at(seconds: number): LocalType;
  /** Whether daylight saving time is ever in effect. */
  readonly hasDst: boolean;
}

const DAY = 86_400;

export const fixedZone = (name: string): TimeZone => {
  const type = { offset: 0, isDst: false, name };
  return { at: () => type, hasDst: false };
};

/** A day of each year and a time of that day: when daylight saving time begins or ends. */
interface Change {
  /** Seconds from the beginning of the year. */
  at(year: number): number;
}

const NAME = '(?:[A-Za-z]{3,16}|<[A-Za-z0-9+-]{3,16}>)';
const TIME = String.raw`[+-]?\d{1,3}(?::\d{1,2}){0,2}`;
const DATE = String.raw`(?:J?\d{1,3}|M\d{1,2}\.[1-5]\.[0-6])(?:/${TIME})?`;
const RULE = new RegExp(`^(${NAME})(${TIME})(?:(${NAME})(${TIME})?(?:,(${DATE}),(${DATE}))?)?$`);
/** What the C library assumes if a rule does not say when daylight saving time begins and ends. */
const DEFAULT_CHANGES = ['M3.2.0', 'M11.1.0'] as const;
const CHANGE_TIME = 2 * 3600;
const MAX_OFFSET_HOURS = 24;

function secondsOf(text: string): number {
  const [hours = 0, minutes = 0, seconds = 0] = text.replace(/^[+-]/, '').split(':').map(Number);
  return (text.startsWith('-') ? -1 : 1) * (hours * 3600 + minutes * 60 + seconds);
}

const isLeap = (year: number) => (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;

/** The days from 1970 to the first day of a month, which counts from 0. */
function daysTo(year: number, month: number): number {
  // Date.UTC takes years from 0 to 99 as those of the twentieth century.
  return new Date(0).setUTCFullYear(year, month, 1) / (DAY * 1000);
}

function dayOf(text: string): (year: number) => number {
  const number = Number(text.replace('J', ''));
  if (text.startsWith('J')) return (year) => number - 1 + (isLeap(year) && number >= 60 ? 1 : 0);
  if (!text.startsWith('M')) return () => number;
  const [month = 1, week = 1, weekday = 0] = text.slice(1).split('.').map(Number);
  return (year) => {
    const first = daysTo(year, month - 1);
    const days = daysTo(year, month) - first;
    // 1 January 1970 was a Thursday.
    let day = (((weekday - first - 4) % 7) + 7) % 7;
    for (let count = 1; count < week && day + 7 < days; count++) day += 7;
    return first - daysTo(year, 0) + day;
  };
}

function changeOf(text: string): Change {
  const [date = '', time] = text.split('/');
  const day = dayOf(date);
  const seconds = time === undefined ? CHANGE_TIME : secondsOf(time);
  return { at: (year) => day(year) * DAY + seconds };
}

/** The zone that a rule such as `EST5EDT,M3.2.0,M11.1.0` describes; undefined if it is not a rule. */
export function parseRule(text: string): TimeZone | undefined {
  const parts = RULE.exec(text);
  if (parts === null) return undefined;
  const [, name = '', west = '', dstName, dstWest, start, end] = parts;
  const type = (quoted: string, isDst: boolean, offset: number): LocalType => ({
    name: quoted.replace(/[<>]/g, ''),
    isDst,
    offset,
  });
  const standard = type(name, false, 0 - secondsOf(west));
  if (Math.abs(standard.offset) > MAX_OFFSET_HOURS * 3600) return undefined;
  if (dstName === undefined) return { at: () => standard, hasDst: false };
  const summer = type(dstName, true, dstWest === undefined ? standard.offset + 3600 : 0 - secondsOf(dstWest));
  const begins = changeOf(start ?? DEFAULT_CHANGES[0]);
  const ends = changeOf(end ?? DEFAULT_CHANGES[1]);
  return {
    hasDst: true,
    at(seconds) {
      const year = new Date((seconds + standard.offset) * 1000).getUTCFullYear();
      if (Number.isNaN(year)) return standard;
      const since = seconds - daysTo(year, 0) * DAY;
      const from = begins.at(year) - standard.offset;
      const to = ends.at(year) - summer.offset;
      const isDst = from < to ? since >= from && since < to : since >= from || since < to;
      return isDst ? summer : standard;
    },
  };
}

const HEADER_BYTES = 44;
/** Where the header has its counts. */
const COUNTS = { isUt: 20, isStandard: 24, leap: 28, time: 32, type: 36, char: 40 };
const TYPE_BYTES = 6;

/** The zone in a compiled file; undefined if the file is damaged or has only the first version of the format. */
export function parseZoneFile(bytes: Uint8Array): TimeZone | undefined {
  try {
    return readZoneFile(bytes);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** Throws a RangeError if the file ends too early. */
function readZoneFile(bytes: Uint8Array): TimeZone | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const text = (from: number, to: number) => String.fromCharCode(...bytes.subarray(from, to));
  if (text(0, 4) !== 'TZif' || view.getUint8(4) < '2'.charCodeAt(0)) return undefined;
  /** The size of the data after the header at `at`, whose times have `width` bytes. */
  const dataBytes = (at: number, width: number) => {
    const count = (of: keyof typeof COUNTS) => view.getUint32(at + COUNTS[of]);
    const perTime = count('time') * (width + 1) + count('leap') * (width + 4);
    return perTime + count('type') * TYPE_BYTES + count('char') + count('isStandard') + count('isUt');
  };
  // The second version follows the first.
  const header = HEADER_BYTES + dataBytes(0, 4);
  const [timeCount, typeCount] = [view.getUint32(header + COUNTS.time), view.getUint32(header + COUNTS.type)];
  const timesAt = header + HEADER_BYTES;
  const indexesAt = timesAt + timeCount * 8;
  const typesAt = indexesAt + timeCount;
  const namesAt = typesAt + typeCount * TYPE_BYTES;
  const end = header + HEADER_BYTES + dataBytes(header, 8);
  if (end > bytes.length) return undefined;
  const types = Array.from({ length: typeCount }, (_, i): LocalType => {
    const at = typesAt + i * TYPE_BYTES;
    const nameAt = namesAt + view.getUint8(at + 5);
    return {
      offset: view.getInt32(at),
      isDst: view.getUint8(at + 4) !== 0,
      name: text(nameAt, bytes.indexOf(0, nameAt)),
    };
  });
  const times = Array.from({ length: timeCount }, (_, i) => Number(view.getBigInt64(timesAt + i * 8)));
  const after = Array.from({ length: timeCount }, (_, i) => types[view.getUint8(indexesAt + i)]!);
  const rule = parseRule(text(end + 1, bytes.indexOf(10, end + 1)));
  const first = types.find(({ isDst }) => !isDst) ?? types[0];
  return first && zoneOfChanges({ first, times, after }, rule);
}

interface Changes {
  /** The type before the first change. */
  readonly first: LocalType;
  readonly times: readonly number[];
  /** The type after each change. */
  readonly after: readonly LocalType[];
}

/** A zone with changes at known times. The rule continues them. */
function zoneOfChanges({ first, times, after }: Changes, rule: TimeZone | undefined): TimeZone {
  return {
    hasDst: after.some(({ isDst }) => isDst) || (rule?.hasDst ?? false),
    at(seconds) {
      let [low, high] = [0, times.length];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (times[middle]! <= seconds) low = middle + 1;
        else high = middle;
      }
      if (low === times.length && rule !== undefined) return rule.at(seconds);
      return low === 0 ? first : after[low - 1]!;
    },
  };
}

/** How far glibc looks for a time with the requested kind of time, and in which steps. */
const SEARCH_STEP = 601_200;
const SEARCH_LIMIT = 536_454_000 / 2 + SEARCH_STEP;

/**
 * The time at which a clock in the zone shows `local`, which is seconds since 1970 as if the clock showed UTC. `isDst` is what mktime
 * gets in tm_isdst: negative if it is not known. Follows glibc; of two times, it is the first.
 */
export function timeOfLocal(zone: TimeZone, local: number, isDst: number): number {
  const [before, later] = [local - zone.at(local - DAY).offset, local - zone.at(local + DAY).offset];
  const matching = [Math.min(before, later), Math.max(before, later)].filter(
    (time) => time + zone.at(time).offset === local,
  );
  const first = matching[0];
  const hasKind = (time: number) => zone.at(time).isDst === isDst > 0;
  if (first === undefined) {
    // Clocks skip this time. glibc prefers the result whose kind is not the requested one, and daylight saving time.
    const isPreferred = (time: number) => (isDst < 0 ? zone.at(time).isDst : !hasKind(time));
    return isPreferred(later) && !isPreferred(before) ? later : before;
  }
  return isDst < 0 ? first : (matching.find(hasKind) ?? timeOfKind(zone, first, isDst > 0));
}

/** The time with the same local time as `time` if the other kind of time were in effect: as it is nearby, or an hour apart. */
function timeOfKind(zone: TimeZone, time: number, wanted: boolean): number {
  const reach = zone.hasDst ? SEARCH_LIMIT : 0;
  for (let distance = SEARCH_STEP; distance < reach; distance += SEARCH_STEP) {
    for (const other of [time - distance, time + distance]) {
      const type = zone.at(other);
      if (type.isDst === wanted) return time + zone.at(time).offset - type.offset;
    }
  }
  return time + (wanted ? -3600 : 3600);
}
