/**
 * The patterns of Intl.DateTimeFormat.prototype.formatRange of one locale, read from the ICU of the Node.js that runs this
 * script. Every pattern is checked on a series of ranges; combinations of options that have no single pattern are left out.
 *
 * In a pattern, "<" starts a section that belongs to the start of the range, ">" one that belongs to its end, and "=" one
 * that both share. Fields have the form of the other patterns. In the patterns of times, "~" is the place of a date.
 */
/** Fields of the largest difference between the two dates, in order; "=": no difference. */
export const DIFFERENCES = ['y', 'M', 'd', 'a', 'h', 'm', 's', '='];
const SECTIONS = { startRange: '<', endRange: '>', shared: '=' };
const CYCLES = ['', 'T', 'F'];
const TIME_WIDTHS = [undefined, 'numeric', '2-digit'];

const count = (length) => Array.from({ length }, (_, i) => i);
const at = (year, month, day, hour = 9, minute = 7, second = 3) =>
  Date.UTC(year, month, day, hour, minute, second);

/** Ranges by difference. Together they show every name, every hour, and numbers with one digit and with two. */
const minutes = (i) =>
  [
    [7, 40],
    [40, 7],
    [3, 8],
    [50, 55],
  ][i % 4];
const days = (i, start, end) => {
  const [first, last] = minutes(i);
  return [at(...start, i % 24, first, first), at(...end, (i * 7 + 5) % 24, last, last)];
};
const hours = (i, start, end) => {
  const [first, last] = minutes(i);
  return [at(2024, i % 12, 5 + i, start, first, first), at(2024, i % 12, 5 + i, end, last, last)];
};
const SAMPLES = {
  y: count(24).map((i) => days(i, [2024, i % 12, 2 + i], [2025 + i, (i + 5) % 12, 1 + ((i * 5) % 28)])),
  M: count(22).map((i) => days(i, [2024, i % 11, 2 + i], [2024, (i % 11) + 1, 1 + ((i * 5) % 28)])),
  d: count(24).map((i) => days(i, [2024, i % 12, 1 + (i % 9)], [2024, i % 12, 2 + (i % 9) + (i % 2) * 10])),
  a: count(12).map((i) => hours(i, i, ((i * 5) % 12) + 12)),
  h: count(11).flatMap((i) => [hours(2 * i, i, i + 1), hours(2 * i + 1, i + 12, i + 13)]),
  m: count(24).map((i) => [
    at(2024, i % 12, 5 + i, i, (i % 2) * 10 + 3),
    at(2024, i % 12, 5 + i, i, (i % 3) * 20 + 4 + (i % 2) * 10),
  ]),
  s: count(24).map((i) => [
    at(2024, i % 12, 5 + i, i, i * 2, (i % 2) * 10 + 3),
    at(2024, i % 12, 5 + i, i, i * 2, (i % 3) * 20 + 4 + (i % 2) * 10),
  ]),
  '=': count(24).map((i) => Array(2).fill(at(2024, i % 12, 2 + i, i, i * 2, i * 2 + 1))),
};

/** How each kind of field may be written: the field of a pattern and its text for a date. */
function spellings(lists) {
  const two = (value) => String(value).padStart(2, '0');
  const numbers = (letter, value) => [
    [`{${letter}}`, (date) => String(value(date))],
    [`{${letter}${letter}}`, (date) => two(value(date))],
  ];
  const named = (letter, length, value) =>
    lists.flatMap((list, i) =>
      list.length === length ? [[`{${letter}${i}}`, (date) => list[value(date)]]] : [],
    );
  const hour = (date) => date.getUTCHours();
  return {
    year: [
      ['{y}', (date) => String(date.getUTCFullYear())],
      ['{yy}', (date) => two(date.getUTCFullYear() % 100)],
    ],
    month: [
      ...numbers('M', (date) => date.getUTCMonth() + 1),
      ...named('L', 12, (date) => date.getUTCMonth()),
    ],
    weekday: named('E', 7, (date) => date.getUTCDay()),
    day: numbers('d', (date) => date.getUTCDate()),
    hour: [
      ...numbers('h', (date) => hour(date) % 12 || 12),
      ...numbers('H', hour),
      ...numbers('K', (date) => hour(date) % 12),
      ...numbers('k', (date) => hour(date) || 24),
    ],
    dayPeriod: named('a', 24, hour),
    minute: numbers('m', (date) => date.getUTCMinutes()),
    second: numbers('s', (date) => date.getUTCSeconds()),
    timeZoneName: [['{z}', undefined]],
  };
}

/** The one pattern that describes all samples, or undefined. */
function patternOf(format, difference, known) {
  const ranges = SAMPLES[difference].map(([start, end]) => ({
    startRange: new Date(start),
    shared: new Date(start),
    endRange: new Date(end),
    parts: format.formatRangeToParts(start, end),
  }));
  let pattern = '';
  let section = '';
  for (const [i, { type, value, source }] of ranges[0].parts.entries()) {
    if (section !== source) pattern += SECTIONS[source];
    section = source;
    const fits = ([, text]) =>
      ranges.every(
        ({ parts, ...dates }) =>
          parts[i]?.type === type &&
          parts[i].source === source &&
          (text === undefined ? parts[i].value === value : parts[i].value === text(dates[source])),
      );
    if (type === 'literal' && /[<>=~{}]/.test(value)) return undefined;
    const found = type === 'literal' ? (fits([]) ? [value] : undefined) : known[type]?.find(fits);
    if (found === undefined) return undefined;
    pattern += found[0];
  }
  return ranges.every(({ parts }) => parts.length === ranges[0].parts.length) ? pattern : undefined;
}

/** The patterns of a locale. `lists` are the lists of names of its other patterns. */
export function dateRangeData(locale, lists, dateCombinations, cycleOptions) {
  const known = spellings(lists);
  const patterns = [];
  const indexOf = (pattern) => {
    if (pattern === undefined) return -1;
    const index = patterns.indexOf(pattern);
    return index < 0 ? patterns.push(pattern) - 1 : index;
  };
  const all = (options, differences = DIFFERENCES) => {
    const format = new Intl.DateTimeFormat(locale, { timeZone: 'UTC', ...options });
    return differences.map((difference) => patternOf(format, difference, known));
  };
  const simple = { hour: '2-digit', minute: '2-digit', hour12: false };
  const simpleTime = all(simple);
  const defaults = all({ year: 'numeric', month: 'numeric', day: 'numeric', ...simple })[0];
  /** The date in a pattern of a date and a time: what precedes the time that it ends with. */
  const start = (pattern) => /^<([^=]*)=/.exec(pattern ?? '')?.[1];
  const timeOnly = start(simpleTime[0]);
  const defaultDate = start(defaults);
  if (timeOnly === undefined || timeOnly !== defaultDate) throw new Error(`${locale}: ${timeOnly}`);
  const timeText = timeOnly.slice(timeOnly.search(/\{[Hk]+\}/));
  const datePart = timeOnly.slice(0, -timeText.length);
  const withPlace = (pattern) => pattern?.replaceAll(datePart, '~');

  const times = {};
  for (const hour of TIME_WIDTHS)
    for (const minute of TIME_WIDTHS)
      for (const second of TIME_WIDTHS)
        for (const cycle of hour === undefined ? [''] : CYCLES) {
          const options = Object.fromEntries(
            Object.entries({ hour, minute, second }).filter(([, value]) => value !== undefined),
          );
          if (Object.keys(options).length === 0) continue;
          const code = (value) => (value === undefined ? '-' : value === 'numeric' ? 'n' : '2');
          const found = all({ ...options, ...cycleOptions(cycle) });
          times[`${[hour, minute, second].map(code).join('')}${cycle}`] = found
            .map((pattern, i) => indexOf(i < 3 ? withPlace(pattern) : pattern))
            .join();
        }

  const dates = {};
  /** How a date is written before a time, if the years, the months, the days or only the times differ. */
  const places = {};
  for (const { key, options } of dateCombinations) {
    dates[key] = all(options, ['y', 'M', 'd']).map(indexOf).join();
    const combined = all({ ...options, ...simple });
    const before = [0, 1, 2].map((i) => {
      const whole = start(combined[i]);
      const place = whole?.endsWith(timeText) ? whole.slice(0, -timeText.length) : undefined;
      return combined[i] === withPlace(simpleTime[i])?.replaceAll('~', place) ? place : undefined;
    });
    const shared = combined[4]?.slice(1).split('<')[0];
    const isSame = [3, 4, 5].every((i) => combined[i] === `=${shared}${simpleTime[i]}`);
    places[key] = [...before, isSame ? shared : undefined].map(indexOf).join();
  }

  const styles = {};
  const names = ['full', 'long', 'medium', 'short'];
  for (const dateStyle of [undefined, ...names])
    for (const timeStyle of [undefined, ...names])
      for (const cycle of timeStyle === undefined ? [''] : CYCLES) {
        if ((dateStyle ?? timeStyle) === undefined) continue;
        const options = { ...(dateStyle && { dateStyle }), ...(timeStyle && { timeStyle }) };
        styles[`${dateStyle ?? ''}|${timeStyle ?? ''}|${cycle}`] = all({ ...options, ...cycleOptions(cycle) })
          .map(indexOf)
          .join();
      }
  return { patterns, dates, times, places, styles };
}
