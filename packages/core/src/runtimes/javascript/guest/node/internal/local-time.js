/**
 * The local time of `Date` in the time zone of the variable TZ. Loaded when a program sets TZ: in the engine, the local time is UTC.
 * A method calls the engine's method for UTC with a date that is shifted by the offset of the zone, its shadow.
 */

import { defineHidden } from '../../define.js';
import { localZoneName } from './intl/date-time-format.js';
import { canonicalTimeZone, defaultTimeZone, offsetAt, setDefaultTimeZone } from './intl/time-zones.js';

const DAY = 86_400_000;
const EngineDate = globalThis.Date;
const { prototype } = EngineDate;
const { apply, construct } = Reflect;
const { getTime, setTime, toString, toDateString, toTimeString, getUTCFullYear, setUTCFullYear } = prototype;
const engineParse = EngineDate.parse;
const { UTC } = EngineDate;

/** The zone that a value of TZ names. As in Node.js, an unknown zone is UTC. A number after a name counts hours west of UTC. */
function zoneOf(value) {
  const name = value.replace(/^:/, '').replace(/^(?:\/usr\/share\/zoneinfo\/)?(?:posix\/)?/, '');
  try {
    if (/^[A-Z]/.test(name)) return canonicalTimeZone(name);
  } catch {
    const fixed = /^[A-Za-z]{3,}([+-]?)(\d{1,2})$/.exec(name);
    if (fixed !== null && Number(fixed[2]) < 24)
      return canonicalTimeZone(`${fixed[1] === '-' ? '+' : '-'}${fixed[2].padStart(2, '0')}`);
  }
  return 'UTC';
}

const offset = (time) => offsetAt(defaultTimeZone(), time) * 1000;

/** The time at which clocks show `local`. Of two times, it is the first; skipped times count on with the offset before the change. */
function toUtc(local) {
  if (Number.isNaN(local)) return local;
  const [before, after] = [local - offset(local - DAY), local - offset(local + DAY)];
  const isRight = (time) => time + offset(time) === local;
  return isRight(before) || !isRight(after) ? before : after;
}

function shadowOf(date) {
  const time = apply(getTime, date, []);
  return new EngineDate(Number.isNaN(time) ? time : time + offset(time));
}

const setLocal = (date, shadow) => apply(setTime, date, [toUtc(apply(getTime, shadow, []))]);

const ISO_DATE = /^[+-]?\d{4,6}(?:-\d\d){0,2}$/;
/** The name of a zone, or an offset after a time. */
const EXPLICIT_ZONE =
  /(?:^|[^a-z])(?:z|utc?|gmt|[ecmp][sd]t)(?![a-z])|:\d\d(?:[.,]\d+)?\s*(?:[ap]m\s*)?[+-]\d/i;

function parse(text) {
  const string = `${text}`;
  const time = engineParse(string);
  if (ISO_DATE.test(string.trim()) || EXPLICIT_ZONE.test(string.replace(/\([^)]*\)/g, ' '))) return time;
  return toUtc(time);
}

/** The argument of `Date` as a primitive value. */
function primitiveOf(value) {
  if (typeof value !== 'function' && (typeof value !== 'object' || value === null)) return value;
  try {
    return apply(getTime, value, []);
  } catch {
    const convert = value[Symbol.toPrimitive];
    if (convert != null) return apply(convert, value, ['default']);
    const first = value.valueOf();
    return typeof first === 'object' ? `${value}` : first;
  }
}

function timeOf(values) {
  if (values.length > 1) return toUtc(apply(UTC, undefined, values));
  const value = primitiveOf(values[0]);
  return typeof value === 'string' ? parse(value) : value;
}

function LocalDate(...values) {
  if (new.target === undefined) return new LocalDate().toString();
  return construct(EngineDate, values.length === 0 ? [] : [timeOf(values)], new.target);
}

const two = (number) => String(number).padStart(2, '0');

/** The text of the engine with the name of the zone in place of that of UTC. */
const withZone = (base) =>
  function () {
    const time = apply(getTime, this, []);
    const text = apply(base, shadowOf(this), []);
    if (Number.isNaN(time)) return text;
    const seconds = offset(time) / 1000;
    const minutes = Math.floor(Math.abs(seconds) / 60);
    const sign = `${seconds < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}${two(minutes % 60)}`;
    return text.replace(/GMT\+0000 \(.*\)$/, () => `GMT${sign} (${localZoneName(defaultTimeZone(), time)})`);
  };

const methods = {
  toString: withZone(toString),
  toTimeString: withZone(toTimeString),
  toDateString() {
    return apply(toDateString, shadowOf(this), []);
  },
  getTimezoneOffset() {
    const time = apply(getTime, this, []);
    return Number.isNaN(time) ? time : 0 - Math.trunc(offset(time) / 60_000);
  },
  getYear() {
    return apply(getUTCFullYear, shadowOf(this), []) - 1900;
  },
  setYear(value) {
    const year = Math.trunc(Number(value));
    const shadow = shadowOf(this);
    apply(setUTCFullYear, shadow, [year >= 0 && year <= 99 ? 1900 + year : year]);
    return setLocal(this, shadow);
  },
};
for (const field of ['FullYear', 'Month', 'Date', 'Day', 'Hours', 'Minutes', 'Seconds', 'Milliseconds']) {
  const { [`getUTC${field}`]: get, [`setUTC${field}`]: set } = prototype;
  methods[`get${field}`] = function () {
    return apply(get, shadowOf(this), []);
  };
  if (set === undefined) continue;
  methods[`set${field}`] = function (...values) {
    const shadow = shadowOf(this);
    apply(set, shadow, values);
    return setLocal(this, shadow);
  };
}

let isInstalled = false;

function install() {
  isInstalled = true;
  for (const [name, value] of Object.entries(methods)) {
    const { length } = prototype[name];
    Object.defineProperty(value, 'name', { value: name, configurable: true });
    Object.defineProperty(value, 'length', { value: length, configurable: true });
  }
  Object.defineProperty(LocalDate, 'name', { value: 'Date', configurable: true });
  Object.defineProperty(LocalDate, 'length', { value: 7, configurable: true });
  Object.defineProperty(LocalDate, 'prototype', { value: prototype, writable: false });
  Object.defineProperty(parse, 'name', { value: 'parse', configurable: true });
  defineHidden(LocalDate, { now: EngineDate.now, UTC, parse });
  defineHidden(prototype, { ...methods, constructor: LocalDate });
  defineHidden(globalThis, { Date: LocalDate });
}

/** Sets the time zone to a value of TZ. */
export function setLocalZone(value) {
  const zone = zoneOf(value);
  setDefaultTimeZone(zone);
  if (zone !== 'UTC' && !isInstalled) install();
}
