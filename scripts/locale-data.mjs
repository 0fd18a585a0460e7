/**
 * Writes the data of Intl.DateTimeFormat to packages/core/src/runtimes/javascript/guest/locale-data, from the ICU of the Node.js that
 * runs this script: date patterns, names and time zones. A program that is built into the guest interprets the data, so
 * the guest does not depend on the Node.js that runs it.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { LOCALES } from '../packages/core/src/runtimes/javascript/guest/node/internal/intl/locales.js';

const folder = fileURLToPath(
  new URL('../packages/core/src/runtimes/javascript/guest/locale-data/', import.meta.url),
);
mkdirSync(folder, { recursive: true });
const write = (name, data) => writeFileSync(`${folder}${name}.json`, `${JSON.stringify(data)}\n`);

const PROBE = Date.UTC(2024, 0, 5, 9, 7, 3, 45);
const UTC = { timeZone: 'UTC' };
const WIDTHS = [undefined, 'numeric', '2-digit'];
const CODES = { numeric: 'n', '2-digit': '2', long: 'l', short: 's', narrow: 'w' };
const code = (value) => (value === undefined ? '-' : CODES[value]);
const CYCLES = ['', 'T', 'F', 'h11', 'h12', 'h23', 'h24'];
const cycleOptions = (cycle) =>
  cycle === '' ? {} : cycle.length === 1 ? { hour12: cycle === 'T' } : { hourCycle: cycle };

class LocaleData {
  lists = [];
  constructor(locale) {
    this.locale = locale;
  }

  list(values) {
    const text = JSON.stringify(values);
    let index = this.lists.findIndex((list) => JSON.stringify(list) === text);
    if (index < 0) index = this.lists.push(values) - 1;
    return index;
  }

  /** A pattern with fields in braces, from the parts of sample dates. */
  template(options) {
    const format = new Intl.DateTimeFormat(this.locale, { ...UTC, ...options });
    const value = (at, type) => format.formatToParts(at).find((part) => part.type === type)?.value;
    const values = (count, date, type) => Array.from({ length: count }, (_, i) => value(date(i), type));
    const digits = (text, plain, padded, letter) =>
      text === plain ? `{${letter}}` : text === padded ? `{${letter}${letter}}` : undefined;
    return format
      .formatToParts(PROBE)
      .map(({ type, value: text }) => {
        switch (type) {
          case 'literal':
            return text;
          case 'weekday':
            return `{E${this.list(values(7, (i) => Date.UTC(2024, 0, 7 + i), type))}}`;
          case 'month':
            return (
              digits(text, '1', '01', 'M') ??
              `{L${this.list(values(12, (i) => Date.UTC(2024, i, 5, 9, 7), type))}}`
            );
          case 'day':
            return digits(text, '5', '05', 'd') ?? fail(this.locale, options, text);
          case 'year':
            return text === '2024' ? '{y}' : text === '24' ? '{yy}' : fail(this.locale, options, text);
          case 'era':
            return `{G${this.list([value(Date.UTC(-50, 1), type), text])}}`;
          case 'hour': {
            const midnight = value(Date.UTC(2024, 0, 5), type);
            const afternoon = value(Date.UTC(2024, 0, 5, 13), type);
            const letter =
              midnight === '12' ? 'h' : midnight === '24' ? 'k' : Number(afternoon) === 13 ? 'H' : 'K';
            return digits(text, '9', '09', letter) ?? fail(this.locale, options, text);
          }
          case 'dayPeriod':
            return `{a${this.list(values(24, (i) => Date.UTC(2024, 0, 5, i, 30), type))}}`;
          case 'minute':
            return digits(text, '7', '07', 'm');
          case 'second':
            return digits(text, '3', '03', 's');
          case 'fractionalSecond':
            return '{S}';
          case 'timeZoneName':
            return '{z}';
          default:
            return fail(this.locale, options, type);
        }
      })
      .join('');
  }
}

function fail(locale, options, text) {
  throw new Error(`${locale} ${JSON.stringify(options)}: ${text}`);
}

const defined = (options) => Object.fromEntries(Object.entries(options).filter(([, value]) => value));

/** Node.js 20 crashes for an era with a weekday in de-CH. An era without a year is not supported. */
function dateCombinations(locale) {
  const found = [];
  for (const weekday of [undefined, 'long', 'short', 'narrow'])
    for (const era of [undefined, 'short'])
      for (const year of WIDTHS)
        for (const month of [...WIDTHS, 'long', 'short', 'narrow'])
          for (const day of WIDTHS)
            if (
              (weekday ?? year ?? month ?? day) &&
              !(era && (year === undefined || (weekday && locale === 'de-CH')))
            )
              found.push({
                key: [weekday, era, year, month, day].map(code).join(''),
                options: defined({ weekday, era, year, month, day }),
              });
  return found;
}

/** Letters of the styles in keys. */
const ZONE_STYLES = { none: '', short: 'z', long: 'Z', shortOffset: 'o', longOffset: 'O' };

function timeCombinations() {
  const found = [];
  for (const hour of WIDTHS)
    for (const minute of WIDTHS)
      for (const second of WIDTHS)
        for (const [zone, letter] of Object.entries(ZONE_STYLES))
          for (const cycle of hour === undefined ? [''] : CYCLES)
            if (hour ?? minute ?? second ?? (letter || undefined))
              found.push({
                key: `${[hour, minute, second].map(code).join('')}${letter}${cycle}`,
                options: {
                  ...defined({ hour, minute, second, timeZoneName: letter && zone }),
                  ...cycleOptions(cycle),
                },
              });
  return found;
}

function dateData(locale, zones) {
  const data = new LocaleData(locale);
  const dates = {};
  const times = {};
  for (const { key, options } of dateCombinations(locale)) dates[key] = data.template(options);
  for (const { key, options } of timeCombinations())
    times[key] = /^---[zZoO]$/.test(key) ? '{z}' : data.template(options);
  const glue = {};
  const combined = {};
  const simple = { hour: '2-digit', minute: '2-digit', hour12: false };
  const simpleKey = '22-F';
  for (const { key, options } of dateCombinations(locale)) {
    const whole = data.template({ ...options, ...simple });
    const [date, time] = [dates[key], times[simpleKey]];
    if (whole.startsWith(date) && whole.endsWith(time) && whole.length >= date.length + time.length)
      glue[key] = whole.slice(date.length, whole.length - time.length);
    else glue[key] = null;
  }
  // Dates whose patterns differ when a time follows.
  for (const { key, options } of dateCombinations(locale)) {
    const isWeekday = /^[lsw]----$/.test(key);
    if (glue[key] !== null && !isWeekday) continue;
    for (const time of timeCombinations()) {
      const whole = data.template({ ...options, ...time.options });
      if (glue[key] === null || whole !== dates[key] + glue[key] + times[time.key])
        combined[`${key}|${time.key}`] = whole;
    }
  }
  const styles = {};
  const names = ['full', 'long', 'medium', 'short'];
  for (const dateStyle of [undefined, ...names])
    for (const timeStyle of [undefined, ...names])
      for (const cycle of timeStyle === undefined ? [''] : CYCLES)
        if (dateStyle ?? timeStyle)
          styles[`${dateStyle ?? ''}|${timeStyle ?? ''}|${cycle}`] = data.template({
            ...defined({ dateStyle, timeStyle }),
            ...cycleOptions(cycle),
          });
  const eras = {};
  for (const era of ['long', 'short', 'narrow']) {
    const template = data.template({ era, year: 'numeric' });
    eras[era] = Number(/\{G(\d+)\}/.exec(template)[1]);
  }
  const fraction = new Intl.DateTimeFormat(locale, { ...UTC, second: 'numeric', fractionalSecondDigits: 1 })
    .formatToParts(PROBE)
    .find((part) => part.type === 'literal').value;
  const cycles = Object.fromEntries(
    CYCLES.map((cycle) => [
      cycle,
      new Intl.DateTimeFormat(locale, { hour: 'numeric', ...cycleOptions(cycle) }).resolvedOptions()
        .hourCycle,
    ]),
  );
  const zoneParts = zoneNames(locale, zones);
  return { lists: data.lists, dates, times, glue, combined, styles, eras, fraction, cycles, ...zoneParts };
}

const zoneName = (locale, timeZone, timeZoneName, at) =>
  new Intl.DateTimeFormat(locale, { timeZone, timeZoneName })
    .formatToParts(at)
    .find((part) => part.type === 'timeZoneName').value;

const WINTER = Date.UTC(2024, 0, 15);
const SUMMER = Date.UTC(2024, 6, 15);

/** Names of time zones: one per zone, or two if it has daylight saving time. */
function zoneNames(locale, zones) {
  const offset = (timeZone, style) => zoneName(locale, timeZone, style, WINTER);
  const west = offset('America/New_York', 'shortOffset');
  const east = offset('Asia/Kolkata', 'shortOffset');
  const long = offset('America/New_York', 'longOffset');
  const gmt = {
    zero: offset('UTC', 'shortOffset'),
    zeroLong: offset('UTC', 'longOffset'),
    prefix: west.slice(0, -2),
    minus: west.at(-2),
    plus: east.at(-5),
    short: east.slice(-4),
    long: long.slice(west.length - 2),
  };
  const names = { short: [], long: [] };
  const unique = [];
  const indexOf = (text) => {
    const index = unique.indexOf(text);
    return index < 0 ? unique.push(text) - 1 : index;
  };
  for (const style of ['short', 'long'])
    for (const zone of zones)
      names[style].push([WINTER, SUMMER].map((at) => indexOf(zoneName(locale, zone, style, at))).join());
  return { gmt, zoneNames: unique, zoneShort: names.short.join(' '), zoneLong: names.long.join(' ') };
}

/** Offset from UTC in seconds. */
function offsetFunction(timeZone) {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  return (seconds) => {
    const [month, day, year, hour, minute, second] = format
      .format(seconds * 1000)
      .match(/\d+/g)
      .map(Number);
    return Date.UTC(year, month - 1, day, hour, minute, second) / 1000 - seconds;
  };
}

const FIRST = Date.UTC(1890, 0, 1) / 1000;
const LAST = Date.UTC(2038, 0, 1) / 1000;
const STEP = 12 * 86_400;

/** The offsets of a zone and, alternating, the time since the previous change and the number of the offset that follows. */
function transitions(timeZone) {
  const offsetAt = offsetFunction(timeZone);
  const offsets = [offsetAt(FIRST)];
  const changes = [];
  let previous = FIRST;
  let current = offsets[0];
  let before = FIRST;
  for (let at = FIRST; at < LAST; at += STEP) {
    let next = offsetAt(at);
    while (next !== current) {
      let [low, high] = [before, at];
      while (high - low > 1) {
        const middle = Math.floor((low + high) / 2);
        if (offsetAt(middle) === current) low = middle;
        else high = middle;
      }
      current = offsetAt(high);
      if (!offsets.includes(current)) offsets.push(current);
      changes.push(`${(high - previous).toString(36)}.${offsets.indexOf(current).toString(36)}`);
      previous = high;
      before = high;
      next = offsetAt(at);
    }
    before = at;
  }
  return `${offsets.map((offset) => offset.toString(36)).join('.')}|${changes.join(' ')}`;
}

const ALIASES =
  `UTC GMT Etc/UTC Etc/GMT Etc/UCT Etc/Zulu Zulu UCT Universal Etc/Universal Greenwich GMT0 Etc/GMT0 US/Eastern US/Central US/Mountain US/Pacific
US/Alaska US/Hawaii US/Arizona US/Michigan US/East-Indiana US/Samoa EST MST HST EST5EDT CST6CDT MST7MDT PST8PDT CET MET EET WET
Canada/Atlantic Canada/Central Canada/Eastern Canada/Mountain Canada/Newfoundland Canada/Pacific Canada/Saskatchewan Canada/Yukon
Asia/Kolkata Asia/Calcutta Asia/Katmandu Asia/Kathmandu Asia/Saigon Asia/Ho_Chi_Minh Asia/Rangoon Asia/Yangon Asia/Dacca Asia/Dhaka
Asia/Macao Asia/Macau Asia/Ulan_Bator Asia/Thimbu Asia/Tel_Aviv Asia/Chongqing Asia/Chungking Asia/Harbin Asia/Kashgar Asia/Istanbul
Europe/Kiev Europe/Kyiv Europe/Belfast Europe/Nicosia Europe/Tiraspol Europe/Uzhgorod Europe/Zaporozhye
America/Buenos_Aires America/Argentina/Buenos_Aires America/Indianapolis America/Indiana/Indianapolis America/Louisville America/Fort_Wayne
America/Catamarca America/Cordoba America/Jujuy America/Mendoza America/Godthab America/Nuuk America/Montreal America/Santa_Isabel
America/Shiprock America/Virgin America/Atka America/Ensenada America/Porto_Acre America/Rosario America/Knox_IN America/Coral_Harbour America/Atikokan
Atlantic/Faeroe Atlantic/Faroe Atlantic/Jan_Mayen Pacific/Enderbury Pacific/Kanton Pacific/Ponape Pacific/Pohnpei Pacific/Truk Pacific/Chuuk Pacific/Yap Pacific/Samoa Pacific/Johnston
Africa/Asmera Africa/Asmara Africa/Timbuktu Antarctica/South_Pole Arctic/Longyearbyen
Australia/ACT Australia/Canberra Australia/LHI Australia/NSW Australia/North Australia/Queensland Australia/South Australia/Tasmania Australia/Victoria Australia/West Australia/Yancowinna
Brazil/Acre Brazil/DeNoronha Brazil/East Brazil/West Chile/Continental Chile/EasterIsland Cuba Egypt Eire GB GB-Eire Hongkong Iceland Iran Israel Jamaica Japan Kwajalein Libya
Mexico/BajaNorte Mexico/BajaSur Mexico/General NZ NZ-CHAT Navajo PRC Poland Portugal ROC ROK Singapore Turkey W-SU
Etc/GMT+1 Etc/GMT+2 Etc/GMT+3 Etc/GMT+4 Etc/GMT+5 Etc/GMT+6 Etc/GMT+7 Etc/GMT+8 Etc/GMT+9 Etc/GMT+10 Etc/GMT+11 Etc/GMT+12
Etc/GMT-1 Etc/GMT-2 Etc/GMT-3 Etc/GMT-4 Etc/GMT-5 Etc/GMT-6 Etc/GMT-7 Etc/GMT-8 Etc/GMT-9 Etc/GMT-10 Etc/GMT-11 Etc/GMT-12 Etc/GMT-13 Etc/GMT-14`.split(
    /\s+/,
  );

function timeZoneData() {
  const canonical = (timeZone) => new Intl.DateTimeFormat('en', { timeZone }).resolvedOptions().timeZone;
  const aliases = {};
  const zones = new Set(Intl.supportedValuesOf('timeZone').map(canonical));
  for (const name of ALIASES) {
    const target = canonical(name);
    zones.add(target);
    if (target !== name) aliases[name] = target;
  }
  const names = [...zones].sort();
  return { zones: Object.fromEntries(names.map((name) => [name, transitions(name)])), aliases };
}

const timeZones = timeZoneData();
write('time-zones', { tz: process.versions.tz, ...timeZones });
const zones = Object.keys(timeZones.zones);
for (const { name } of LOCALES) {
  write(`date-${name.toLowerCase()}`, dateData(name, zones));
}
