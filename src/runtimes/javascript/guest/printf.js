/** The printf of C with the conversions that QuickJS supports: d i u o x X c s f e g a %. */

const SPEC = /%([-+ #0]*)(\*|\d+)?(?:\.(\*|\d+)?)?(?:hh|h|ll|l|q|j|z|t)?([diuoxXcsfFeEgGaA%])/g;
/** Limit for width and precision, which bounds the work of a conversion. */
const MAX_WIDTH = 10_000;
const RADIX = { o: 8, x: 16, X: 16 };

function integer(value, conversion, precision, alternate) {
  const number = typeof value === 'bigint' ? value : Math.trunc(Number(value)) || 0;
  const radix = RADIX[conversion] ?? 10;
  let digits = (number < 0 ? -number : number).toString(radix);
  if (precision !== undefined) digits = digits.padStart(precision, '0');
  if (alternate && radix === 16 && digits !== '0') digits = `0x${digits}`;
  if (alternate && radix === 8) digits = `0${digits}`;
  return [number < 0, conversion === 'X' ? digits.toUpperCase() : digits];
}

function exponent(text) {
  return text.replace(/e([+-])(\d)$/, 'e$10$2');
}

function general(number, precision, alternate) {
  const digits = precision === 0 ? 1 : precision;
  const power = number === 0 ? 0 : Number(number.toExponential(digits - 1).split('e')[1]);
  const isPlain = power >= -4 && power < digits;
  const text = isPlain ? number.toFixed(digits - 1 - power) : number.toExponential(digits - 1);
  return exponent(alternate || !text.includes('.') ? text : text.replace(/\.?0+(?=e|$)/, ''));
}

function real(value, conversion, precision = 6, alternate = false) {
  const number = Number(value);
  const isNegative = number < 0 || Object.is(number, -0);
  const size = Math.abs(number);
  const fraction = Math.min(precision, 100);
  const kind = conversion.toLowerCase();
  let text;
  if (Number.isNaN(size)) text = 'nan';
  else if (size === Number.POSITIVE_INFINITY) text = 'inf';
  else if (kind === 'f') text = size < 1e21 ? size.toFixed(fraction) : BigInt(size).toString();
  else if (kind === 'e') text = exponent(size.toExponential(fraction));
  else if (kind === 'a') text = `0x${size.toString(16)}`;
  else text = general(size, fraction, alternate);
  return [isNegative, conversion === kind ? text : text.toUpperCase()];
}

function pad(text, sign, flags, width) {
  const length = sign.length + text.length;
  if (length >= width) return sign + text;
  if (flags.includes('-')) return (sign + text).padEnd(width);
  if (flags.includes('0')) return sign + text.padStart(width - sign.length, '0');
  return (sign + text).padStart(width);
}

export function sprintf(format, ...args) {
  let next = 0;
  const take = () => args[next++];
  return `${format}`.replace(SPEC, (spec, givenFlags, givenWidth, givenPrecision, conversion) => {
    if (conversion === '%') return '%';
    let flags = givenFlags;
    let width = Number(givenWidth === '*' ? take() : (givenWidth ?? 0)) || 0;
    if (width < 0) flags += '-';
    width = Math.min(Math.abs(width), MAX_WIDTH);
    const hasPrecision = spec.includes('.');
    const asked = Number(givenPrecision === '*' ? take() : (givenPrecision ?? 0)) || 0;
    const precision = hasPrecision && asked >= 0 ? Math.min(asked, MAX_WIDTH) : undefined;
    const value = take();
    if (conversion === 's') return pad(`${value}`.slice(0, precision), '', flags.replace('0', ''), width);
    if (conversion === 'c') {
      const character =
        typeof value === 'number' ? String.fromCodePoint(value & 0x1fffff) : `${value}`.slice(0, 1);
      return pad(character, '', flags.replace('0', ''), width);
    }
    const isInteger = 'diuoxX'.includes(conversion);
    const [isNegative, text] = (isInteger ? integer : real)(
      value,
      conversion,
      precision,
      flags.includes('#'),
    );
    const sign = isNegative ? '-' : flags.includes('+') ? '+' : flags.includes(' ') ? ' ' : '';
    const zeros = isInteger && precision !== undefined ? flags.replace('0', '') : flags;
    return pad(text, sign, zeros, width);
  });
}
