/** The module `punycode` (RFC 3492). */
const [BASE, T_MIN, T_MAX, SKEW, DAMP, INITIAL_BIAS, INITIAL_N] = [36, 1, 26, 38, 700, 72, 128];
const MAX_INT = 2 ** 31 - 1;
const SEPARATORS = /[\u3002\uff0e\uff61]/g;
const MESSAGES = {
  overflow: 'Overflow: input needs wider integers to process',
  'not-basic': 'Illegal input >= 0x80 (not a basic code point)',
  'invalid-input': 'Invalid input',
};
const fail = (kind) => {
  throw new RangeError(MESSAGES[kind]);
};

const ucs2decode = (text) => Array.from(`${text}`, (char) => char.codePointAt(0));
const ucs2encode = (points) => points.map((point) => String.fromCodePoint(point)).join('');

function adapt(delta, count, isFirst) {
  let rest = isFirst ? Math.floor(delta / DAMP) : delta >> 1;
  rest += Math.floor(rest / count);
  let k = 0;
  for (; rest > ((BASE - T_MIN) * T_MAX) >> 1; k += BASE) rest = Math.floor(rest / (BASE - T_MIN));
  return Math.floor(k + ((BASE - T_MIN + 1) * rest) / (rest + SKEW));
}

const threshold = (k, bias) => Math.min(T_MAX, Math.max(T_MIN, k - bias));

function digitOf(code) {
  if (code >= 0x30 && code < 0x3a) return 26 + code - 0x30;
  if (code >= 0x41 && code < 0x5b) return code - 0x41;
  if (code >= 0x61 && code < 0x7b) return code - 0x61;
  return BASE;
}
const digit = (value) => String.fromCharCode(value < 26 ? value + 97 : value + 22);

export function decode(input) {
  const output = [];
  const basic = Math.max(0, input.lastIndexOf('-'));
  for (let j = 0; j < basic; j++) {
    if (input.charCodeAt(j) >= 0x80) fail('not-basic');
    output.push(input.charCodeAt(j));
  }
  let [n, i, bias] = [INITIAL_N, 0, INITIAL_BIAS];
  for (let index = basic > 0 ? basic + 1 : 0; index < input.length; ) {
    const previous = i;
    for (let [w, k] = [1, BASE]; ; k += BASE) {
      if (index >= input.length) fail('invalid-input');
      const value = digitOf(input.charCodeAt(index++));
      if (value >= BASE) fail('invalid-input');
      if (value > Math.floor((MAX_INT - i) / w)) fail('overflow');
      i += value * w;
      const t = threshold(k, bias);
      if (value < t) break;
      if (w > Math.floor(MAX_INT / (BASE - t))) fail('overflow');
      w *= BASE - t;
    }
    const count = output.length + 1;
    bias = adapt(i - previous, count, previous === 0);
    if (Math.floor(i / count) > MAX_INT - n) fail('overflow');
    n += Math.floor(i / count);
    i %= count;
    output.splice(i++, 0, n);
  }
  return String.fromCodePoint(...output);
}

export function encode(text) {
  const input = ucs2decode(text);
  const basic = input.filter((point) => point < 0x80);
  let output = String.fromCharCode(...basic);
  let handled = basic.length;
  if (handled > 0) output += '-';
  let [n, delta, bias] = [INITIAL_N, 0, INITIAL_BIAS];
  while (handled < input.length) {
    const next = input.reduce((least, point) => (point >= n && point < least ? point : least), MAX_INT);
    if (next - n > Math.floor((MAX_INT - delta) / (handled + 1))) fail('overflow');
    delta += (next - n) * (handled + 1);
    n = next;
    for (const point of input) {
      if (point < n && ++delta > MAX_INT) fail('overflow');
      if (point !== n) continue;
      let q = delta;
      for (let k = BASE; ; k += BASE) {
        const t = threshold(k, bias);
        if (q < t) break;
        output += digit(t + ((q - t) % (BASE - t)));
        q = Math.floor((q - t) / (BASE - t));
      }
      output += digit(q);
      bias = adapt(delta, handled + 1, handled === basic.length);
      delta = 0;
      handled++;
    }
    delta++;
    n++;
  }
  return output;
}

/** Converts each label of a domain, or of the domain of an email address. */
function mapDomain(domain, convert) {
  const parts = domain.split('@');
  const [user, labels] = parts.length > 1 ? [`${parts[0]}@`, parts[1]] : ['', domain];
  return user + labels.replace(SEPARATORS, '.').split('.').map(convert).join('.');
}

export const toASCII = (domain) =>
  mapDomain(domain, (label) => (/[^\0-\x7f]/.test(label) ? `xn--${encode(label)}` : label));
export const toUnicode = (domain) =>
  mapDomain(domain, (label) => (/^xn--/.test(label) ? decode(label.slice(4).toLowerCase()) : label));
export const ucs2 = { decode: ucs2decode, encode: ucs2encode };
export const version = '2.1.0';
export default { version, ucs2, decode, encode, toASCII, toUnicode };
