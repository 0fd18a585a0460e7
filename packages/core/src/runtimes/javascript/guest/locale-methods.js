/** The methods of numbers, dates and strings that depend on a locale. They load `Intl` on first use. */
import { defineHidden } from './define.js';
import { load } from './node-modules.js';

const intl = () => load('node:internal/intl').methods;
const { toLocaleUpperCase: upper, toLocaleLowerCase: lower } = String.prototype;
const { prototype: typedArray } = Object.getPrototypeOf(Uint8Array);

/** A number as in English with at most three digits after the point, or undefined if Intl is needed. */
function simpleText(value, locales, options) {
  if (options !== undefined || (locales !== undefined && locales !== 'en-US' && locales !== 'en'))
    return undefined;
  if (typeof value !== 'number' || !(Math.abs(value) < 1e21)) return undefined;
  const [integer, fraction] = Math.abs(value).toFixed(3).split('.');
  const digits = fraction.replace(/0+$/, '');
  const sign = value < 0 || Object.is(value, -0) ? '-' : '';
  return `${sign}${integer.replace(/\B(?=(?:\d{3})+$)/g, ',')}${digits === '' ? '' : `.${digits}`}`;
}

const dateMethod = (required, defaults) =>
  function (locales, options) {
    return intl().dateToLocaleString(this, locales, options, required, defaults);
  };

/** The engine does not know the name of the time zone, which is always UTC. */
const withZoneName = (base) =>
  function () {
    const text = base.call(this);
    return text === 'Invalid Date' ? text : `${text} (Coordinated Universal Time)`;
  };

function listToLocaleString(locales, options) {
  return Array.from(this, (item) => (item == null ? '' : item.toLocaleString(locales, options))).join(',');
}

const METHODS = [
  [
    Number.prototype,
    {
      toLocaleString(locales, options) {
        const value = Number.prototype.valueOf.call(this);
        return simpleText(value, locales, options) ?? intl().numberToLocaleString(value, locales, options);
      },
    },
  ],
  [
    BigInt.prototype,
    {
      toLocaleString(locales, options) {
        return intl().numberToLocaleString(BigInt.prototype.valueOf.call(this), locales, options);
      },
    },
  ],
  [
    Date.prototype,
    {
      toLocaleString: dateMethod('any', 'all'),
      toLocaleDateString: dateMethod('date', 'date'),
      toLocaleTimeString: dateMethod('time', 'time'),
      toString: withZoneName(Date.prototype.toString),
      toTimeString: withZoneName(Date.prototype.toTimeString),
    },
  ],
  [
    String.prototype,
    {
      localeCompare(that, locales, options) {
        return intl().localeCompare(`${this}`, `${that}`, locales, options);
      },
      toLocaleUpperCase(locales) {
        return locales === undefined ? upper.call(this) : intl().toLocaleCase(this, locales, upper);
      },
      toLocaleLowerCase(locales) {
        return locales === undefined ? lower.call(this) : intl().toLocaleCase(this, locales, lower);
      },
    },
  ],
  [Array.prototype, { toLocaleString: listToLocaleString }],
  [typedArray, { toLocaleString: listToLocaleString }],
];

export function defineLocaleMethods() {
  for (const [prototype, methods] of METHODS) {
    for (const [name, value] of Object.entries(methods)) {
      Object.defineProperty(value, 'name', { value: name, configurable: true });
      Object.defineProperty(value, 'length', { value: name === 'localeCompare' ? 1 : 0, configurable: true });
    }
    defineHidden(prototype, methods);
  }
}
