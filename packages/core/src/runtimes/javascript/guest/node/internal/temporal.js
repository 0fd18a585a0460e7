/**
 * The global `Temporal`. The package formats dates in the calendar "iso8601" to find the rules of a time zone; it gets a
 * DateTimeFormat that uses the Gregorian calendar instead, which has the same days.
 */
import { load } from '../../node-modules.js';

const { Intl } = load('node:internal/intl');
const { DateTimeFormat } = Intl;

class GregorianDateTimeFormat extends DateTimeFormat {
  constructor(locales, options = undefined) {
    super(locales, options?.calendar === 'iso8601' ? { ...options, calendar: 'gregory' } : options);
  }
}

const ownIntl = Object.getOwnPropertyDescriptor(globalThis, 'Intl');
let temporal;
try {
  Object.defineProperty(globalThis, 'Intl', {
    value: { __proto__: Intl, DateTimeFormat: GregorianDateTimeFormat },
    configurable: true,
  });
  temporal = load('node:internal/temporal-polyfill').Temporal;
} finally {
  if (ownIntl === undefined) delete globalThis.Intl;
  else Object.defineProperty(globalThis, 'Intl', ownIntl);
}
export const Temporal = temporal;
