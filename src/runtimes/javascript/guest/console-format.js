/** Formats the arguments of console calls: a format string and its values, or only values. */
import { functionText, inspect, primitive } from './inspect.js';

const SPECIFIER = /%[sdifjoOc%]/g;
const CONVERSIONS = {
  s: (value) =>
    typeof value === 'object' && value !== null
      ? inspect(value, 0)
      : typeof value === 'string'
        ? value
        : typeof value === 'function'
          ? functionText(value)
          : primitive(value),
  d: (value) =>
    typeof value === 'bigint' ? `${value}n` : typeof value === 'object' ? 'NaN' : String(Number(value)),
  i: (value) =>
    typeof value === 'bigint'
      ? `${value}n`
      : typeof value === 'object'
        ? 'NaN'
        : String(Number.parseInt(value, 10)),
  f: (value) => (typeof value === 'symbol' ? 'NaN' : String(Number.parseFloat(value))),
  j: (value) => JSON.stringify(value),
  o: (value) => inspect(value, 4),
  O: (value) => inspect(value),
  c: () => '',
};

export function format(args) {
  let rest = args;
  const parts = [];
  if (typeof args[0] === 'string' && args.length > 1) {
    let next = 1;
    parts.push(
      args[0].replace(SPECIFIER, (specifier) => {
        const conversion = specifier[1];
        if (conversion === '%') return '%';
        return next < args.length ? CONVERSIONS[conversion](args[next++]) : specifier;
      }),
    );
    rest = args.slice(next);
  }
  for (const value of rest) parts.push(typeof value === 'string' ? value : inspect(value));
  return parts.join(' ');
}
