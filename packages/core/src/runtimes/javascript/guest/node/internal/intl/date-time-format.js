/**
 * Intl.DateTimeFormat for the Gregorian calendar. Patterns and names are data; options that the data does not cover throw a
 * RangeError. The default time zone is that of Date.
 */
import { defineHidden, defineTag } from '../../../define.js';
import { load } from '../../../node-modules.js';
import { option, refuseRanges, resolveLocale, supportedTags } from './locales.js';
import { canonicalTimeZone, defaultTimeZone, offsetAt, zoneIndex } from './time-zones.js';

const NAMES = ['narrow', 'short', 'long'];
const DIGITS = ['2-digit', 'numeric'];
const FIELDS = {
  weekday: NAMES,
  era: NAMES,
  year: DIGITS,
  month: [...DIGITS, ...NAMES],
  day: DIGITS,
  dayPeriod: NAMES,
  hour: DIGITS,
  minute: DIGITS,
  second: DIGITS,
};
const DATE_FIELDS = ['weekday', 'year', 'month', 'day'];
const TIME_FIELDS = ['dayPeriod', 'hour', 'minute', 'second', 'fractionalSecondDigits'];
const STYLES = ['full', 'long', 'medium', 'short'];
const CYCLES = ['h11', 'h12', 'h23', 'h24'];
const ZONE_STYLES = ['short', 'long', 'shortOffset', 'longOffset', 'shortGeneric', 'longGeneric'];
/** Letters of the styles of time zone names in the keys of patterns. */
const ZONE_LETTERS = { short: 'z', long: 'Z', shortOffset: 'o', longOffset: 'O' };
const CODES = { numeric: 'n', '2-digit': '2', long: 'l', short: 's', narrow: 'w' };
const code = (value) => (value === undefined ? '-' : CODES[value]);
/** Field types by the letter of a field in a pattern. */
const TYPES = {
  E: 'weekday',
  G: 'era',
  y: 'year',
  M: 'month',
  L: 'month',
  d: 'day',
  a: 'dayPeriod',
  h: 'hour',
  H: 'hour',
  K: 'hour',
  k: 'hour',
  m: 'minute',
  s: 'second',
  S: 'fractionalSecond',
  z: 'timeZoneName',
};
/** Times at which the data has the names of time zones: with and without daylight saving time. */
const WINTER = Date.UTC(2024, 0, 15);
const SUMMER = Date.UTC(2024, 6, 15);

const unsupported = (what) => new RangeError(`The sandbox does not support ${what} in Intl.DateTimeFormat`);

function readFields(options) {
  const fields = {};
  for (const [name, values] of Object.entries(FIELDS)) {
    const value = option(options, name, values);
    if (value !== undefined) fields[name] = value;
  }
  const digits = options.fractionalSecondDigits;
  if (digits !== undefined) {
    const count = Number(digits);
    if (!(count >= 1 && count <= 3)) throw new RangeError('fractionalSecondDigits value is out of range.');
    fields.fractionalSecondDigits = Math.floor(count);
  }
  const zone = option(options, 'timeZoneName', ZONE_STYLES);
  if (zone !== undefined) fields.timeZoneName = zone;
  if (fields.dayPeriod !== undefined) throw unsupported('the option dayPeriod');
  if (zone?.endsWith('Generic')) throw unsupported(`timeZoneName: '${zone}'`);
  return fields;
}

/** Adds the fields of a date or a time if the options contain none. */
function addDefaults(fields, required, defaults) {
  const has = (names) => names.some((name) => fields[name] !== undefined);
  const isMissing = !(required !== 'time' && has(DATE_FIELDS)) && !(required !== 'date' && has(TIME_FIELDS));
  if (!isMissing) return;
  if (defaults !== 'time') Object.assign(fields, { year: 'numeric', month: 'numeric', day: 'numeric' });
  if (defaults !== 'date') Object.assign(fields, { hour: 'numeric', minute: 'numeric', second: 'numeric' });
}

/** The keys of the date and of the time in the data. */
function keysOf(fields, cycle) {
  const { weekday, era, year, month, day, hour, minute, second, timeZoneName } = fields;
  const dateKey = [weekday, era === undefined ? era : 'short', year, month, day].map(code).join('');
  const zone = ZONE_LETTERS[timeZoneName] ?? '';
  const timeKey = [hour, minute, second].map(code).join('') + zone + (hour === undefined ? '' : cycle);
  return { dateKey, timeKey };
}

/** The pattern for the fields. */
function findPattern(data, fields, { dateKey, timeKey }) {
  const { weekday, era, second, fractionalSecondDigits } = fields;
  if (era !== undefined && weekday !== undefined) throw unsupported('an era with a weekday');
  const hasDate = dateKey !== '-----';
  const hasTime = timeKey !== '---';
  const date = data.dates[dateKey];
  const time = data.times[timeKey];
  let pattern;
  if (hasDate && hasTime) {
    pattern = data.combined[`${dateKey}|${timeKey}`];
    if (pattern === undefined && date !== undefined && data.glue[dateKey] !== null)
      pattern = date + data.glue[dateKey] + time;
  } else if (hasDate || hasTime) pattern = hasDate ? date : time;
  else if (fractionalSecondDigits !== undefined) return '{S}';
  if (pattern === undefined) throw unsupported(`the fields ${Object.keys(fields).join(', ')} together`);
  if (fractionalSecondDigits !== undefined) {
    if (second === undefined) throw unsupported('fractionalSecondDigits without second');
    pattern = pattern.replace(/\{ss?\}/, (field) => `${field}${data.fraction}{S}`);
  }
  return era === undefined ? pattern : pattern.replace(/\{G\d+\}/, `{G${data.eras[era]}}`);
}

const slots = new WeakMap();
const slotsOf = (format, method) => {
  const found = slots.get(format);
  if (found === undefined)
    throw new TypeError(
      `Method Intl.DateTimeFormat.prototype.${method} called on incompatible receiver ${format}`,
    );
  return found;
};

/** Reads the options and finds the pattern. `required` and `defaults` are those of ECMA-402. */
function initialize(locales, given, required, defaults) {
  const options = given === undefined ? {} : Object(given);
  if (given === null) throw new TypeError('Cannot convert undefined or null to object');
  const { tag, name, keywords } = resolveLocale(locales, { hc: CYCLES, ca: ['gregory'], nu: ['latn'] });
  for (const [key, only] of [
    ['calendar', ['gregory', 'gregorian']],
    ['numberingSystem', ['latn']],
  ]) {
    const value = option(options, key);
    if (value !== undefined && !only.includes(value)) throw unsupported(`${key}: '${value}'`);
  }
  const hour12 = options.hour12 === undefined ? undefined : Boolean(options.hour12);
  const hourCycle = option(options, 'hourCycle', CYCLES);
  const zone = options.timeZone === undefined ? defaultTimeZone() : canonicalTimeZone(options.timeZone);
  const fields = readFields(options);
  const dateStyle = option(options, 'dateStyle', STYLES);
  const timeStyle = option(options, 'timeStyle', STYLES);
  const hasStyle = dateStyle !== undefined || timeStyle !== undefined;
  if (hasStyle && Object.keys(fields).length > 0)
    throw new TypeError(
      `Can't set option ${Object.keys(fields)[0]} when ${dateStyle === undefined ? 'timeStyle' : 'dateStyle'} is used`,
    );
  if (hasStyle && dateStyle !== undefined && required === 'time')
    throw new TypeError('Invalid option : dateStyle');
  if (hasStyle && timeStyle !== undefined && required === 'date')
    throw new TypeError('Invalid option : timeStyle');
  const data = load(`node:internal/locale-data/date-${name.toLowerCase()}`);
  const requestedCycle = hourCycle ?? keywords.hc;
  const cycle = hour12 === undefined ? (requestedCycle ?? '') : hour12 ? 'T' : 'F';
  if (!hasStyle) addDefaults(fields, required, defaults);
  const hasHour = hasStyle ? timeStyle !== undefined : fields.hour !== undefined;
  const pattern = hasStyle
    ? data.styles[`${dateStyle ?? ''}|${timeStyle ?? ''}|${timeStyle === undefined ? '' : cycle}`]
    : findPattern(data, fields, keysOf(fields, cycle));
  return {
    tag,
    data,
    zone,
    fields,
    dateStyle,
    timeStyle,
    hourCycle: hasHour ? data.cycles[cycle] : undefined,
    parts: pattern.split(FIELD).filter((part) => part !== ''),
  };
}

const pad = (value, field) => (field.length === 2 ? String(value).padStart(2, '0') : String(value));

/** The name of a zone at a time in the text of a date: in English, also before 1970. */
export function localZoneName(zone, time) {
  const data = load('node:internal/locale-data/date-en');
  const state = { data, zone, fields: { timeZoneName: 'long' } };
  return zoneText(state, Math.max(time, 0), offsetAt(zone, time));
}

/** The name of the time zone, or its offset if it has none at this time. Names are known from 1970 on. */
function zoneText({ data, zone, fields, timeStyle }, time, offset) {
  const style = fields.timeZoneName ?? (timeStyle === 'full' ? 'long' : 'short');
  const index = /^[+-]/.test(zone) ? -1 : zoneIndex(zone);
  if (!style.endsWith('Offset') && index >= 0 && (time >= 0 || zone === 'UTC')) {
    const names = (style === 'long' ? data.zoneLong : data.zoneShort).split(' ')[index].split(',');
    if (offset === offsetAt(zone, WINTER)) return data.zoneNames[names[0]];
    if (offset === offsetAt(zone, SUMMER)) return data.zoneNames[names[1]];
  }
  const { zero, zeroLong, prefix, minus, plus } = data.gmt;
  const isLong = style === 'long' || style === 'longOffset';
  const minutes = Math.round(Math.abs(offset) / 60);
  if (minutes === 0) return isLong ? zeroLong : zero;
  const [hours, rest] = [Math.floor(minutes / 60), minutes % 60];
  const sign = prefix + (offset < 0 ? minus : plus);
  const two = (value) => String(value).padStart(2, '0');
  return isLong ? `${sign}${two(hours)}:${two(rest)}` : `${sign}${hours}${rest === 0 ? '' : `:${two(rest)}`}`;
}

/** The value of a field by its letter. */
const NUMBERS = {
  M: (date) => date.getUTCMonth() + 1,
  d: (date) => date.getUTCDate(),
  h: (date) => date.getUTCHours() % 12 || 12,
  H: (date) => date.getUTCHours(),
  K: (date) => date.getUTCHours() % 12,
  k: (date) => date.getUTCHours() || 24,
  m: (date) => date.getUTCMinutes(),
  s: (date) => date.getUTCSeconds(),
};
/** The position of a name in its list. */
const POSITIONS = {
  E: (date) => date.getUTCDay(),
  G: (date) => (date.getUTCFullYear() > 0 ? 1 : 0),
  L: (date) => date.getUTCMonth(),
  a: (date) => date.getUTCHours(),
};

function fieldText(state, field, date, offset) {
  const letter = field[0];
  if (Object.hasOwn(NUMBERS, letter)) return pad(NUMBERS[letter](date), field);
  if (Object.hasOwn(POSITIONS, letter))
    return state.data.lists[Number(field.slice(1))][POSITIONS[letter](date)];
  if (letter === 'y') {
    const year = date.getUTCFullYear();
    const yearOfEra = year > 0 ? year : 1 - year;
    return field === 'yy' ? String(yearOfEra % 100).padStart(2, '0') : String(yearOfEra);
  }
  if (letter === 'S')
    return String(date.getUTCMilliseconds()).padStart(3, '0').slice(0, state.fields.fractionalSecondDigits);
  return zoneText(state, date.getTime() - offset * 1000, offset);
}

function timeOf(value) {
  const time = value === undefined ? Date.now() : Number(value);
  if (!(Math.abs(time) <= 8.64e15)) throw new RangeError('Invalid time value');
  return Math.trunc(time);
}

const FIELD = /(\{\w+\})/;
const partOf = (state, part, date, offset) =>
  part[0] === '{'
    ? { type: TYPES[part[1]], value: fieldText(state, part.slice(1, -1), date, offset) }
    : { type: 'literal', value: part };

function toParts(state, value) {
  const time = timeOf(value);
  const offset = offsetAt(state.zone, time);
  // Its UTC fields are the local time.
  const date = new Date(time + offset * 1000);
  return state.parts.map((part) => partOf(state, part, date, offset));
}

const textOf = (parts) => parts.map((part) => part.value).join('');
/** As in V8, the text of one date contains ordinary spaces where its parts contain narrow ones. */
const withSpaces = (text) => text.replaceAll('\u202f', ' ');
const formatWith = (state, value) => withSpaces(textOf(toParts(state, value)));

export function DateTimeFormat(locales = undefined, options = undefined) {
  const format = new.target === undefined ? Object.create(DateTimeFormat.prototype) : this;
  slots.set(format, initialize(locales, options, 'any', 'date'));
  return format;
}

const methods = {
  get format() {
    const state = slotsOf(this, 'format');
    state.format ??= (date) => formatWith(state, date);
    return state.format;
  },
  formatToParts(date) {
    return toParts(slotsOf(this, 'formatToParts'), date);
  },
  resolvedOptions() {
    const { tag, zone, hourCycle, fields, dateStyle, timeStyle, parts } = slotsOf(this, 'resolvedOptions');
    const resolved = { locale: tag, calendar: 'gregory', numberingSystem: 'latn', timeZone: zone };
    if (hourCycle !== undefined)
      Object.assign(resolved, { hourCycle, hour12: hourCycle === 'h11' || hourCycle === 'h12' });
    for (const name of [...Object.keys(FIELDS), 'fractionalSecondDigits', 'timeZoneName']) {
      if (fields[name] === undefined) continue;
      const part = parts.find((one) => one[0] === '{' && TYPES[one[1]] === name);
      const isNumber = part !== undefined && /^\{[yMdhHKkms]/.test(part);
      resolved[name] = isNumber ? (part.length === 4 ? '2-digit' : 'numeric') : fields[name];
    }
    if (dateStyle !== undefined) resolved.dateStyle = dateStyle;
    if (timeStyle !== undefined) resolved.timeStyle = timeStyle;
    return resolved;
  },
};
defineHidden(DateTimeFormat.prototype, methods);
defineTag(DateTimeFormat.prototype, 'Intl.DateTimeFormat');
DateTimeFormat.supportedLocalesOf = supportedTags;
refuseRanges(DateTimeFormat, ['formatRange', 'formatRangeToParts']);

const cache = new Map();

/** The date as text, for the methods of Date. */
export function dateToLocaleString(date, locales, options, required, defaults) {
  const time = date.getTime();
  if (Number.isNaN(time)) return 'Invalid Date';
  const key =
    options === undefined && (locales === undefined || typeof locales === 'string')
      ? `${locales}|${defaults}|${defaultTimeZone()}`
      : undefined;
  let state = key === undefined ? undefined : cache.get(key);
  if (state === undefined) {
    state = initialize(locales, options, required, defaults);
    if (key !== undefined) cache.set(key, state);
  }
  return formatWith(state, time);
}
