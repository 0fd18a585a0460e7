/** The patterns of ranges of dates. scripts/date-range-data.mjs describes their form. */

const SOURCES = { '<': 'startRange', '>': 'endRange', '=': 'shared' };
const [DAY, AM_PM, EQUAL] = [2, 3, 7];

/** Index of the largest field in which two local times differ: year, month, day, am/pm, hour, minute, second, none. */
function differenceOf(start, end) {
  const fieldsOf = (date) => [
    date.getUTCFullYear(),
    date.getUTCMonth(),
    date.getUTCDate(),
    date.getUTCHours() < 12,
    date.getUTCHours(),
    date.getUTCMinutes(),
    date.getUTCSeconds(),
  ];
  const other = fieldsOf(end);
  const index = fieldsOf(start).findIndex((value, i) => value !== other[i]);
  return index < 0 ? EQUAL : index;
}

/** The sections of a pattern and the dates that they belong to. */
export const sections = (pattern) =>
  pattern.match(/[<>=][^<>=]*/g).map((text) => ({ source: SOURCES[text[0]], text: text.slice(1) }));

/**
 * The pattern for a range. Undefined if there is none for the options, and empty if the range is written like its start.
 * `ranges` loads the patterns of the locale; `single` has those of one date.
 */
export function rangePattern(ranges, single, { dateKey, timeKey, styleKey }, start, end) {
  if (start.getUTCFullYear() > 0 !== end.getUTCFullYear() > 0) return undefined;
  const difference = differenceOf(start, end);
  const isDate = styleKey === undefined ? timeKey === '---' : styleKey.endsWith('||');
  if (isDate && difference >= AM_PM) return '';
  const { patterns, dates, times, places, styles } = ranges();
  const read = (row, index) => patterns[row?.split(',')[index]];
  if (styleKey !== undefined) return read(styles[styleKey], difference);
  if (isDate) return read(dates[dateKey], difference);
  const hasDate = dateKey !== '-----';
  // Before a time with seconds, dates have other patterns.
  if (hasDate && timeKey[2] !== '-') return undefined;
  const time = read(times[timeKey], difference);
  const place = read(places[hasDate ? dateKey : '--nnn'], Math.min(difference, AM_PM));
  if (time === undefined || place === undefined) return undefined;
  if (difference <= DAY) return time.replaceAll('~', place);
  if (!hasDate) return time;
  if (time.includes('<')) return `=${place}${time}`;
  const glue = single.glue[dateKey];
  return glue === null ? undefined : `=${single.dates[dateKey]}${glue}${time.slice(1)}`;
}
