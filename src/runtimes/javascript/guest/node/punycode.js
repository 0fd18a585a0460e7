/** The module `punycode`, as far as URLs need it. */
import { URL } from '../url.js';

export const toASCII = (domain) => new URL(`http://${domain}`).hostname;
export const ucs2 = {
  decode: (text) => Array.from(text, (char) => char.codePointAt(0)),
  encode: (points) => String.fromCodePoint(...points),
};
export default { toASCII, ucs2, version: '2.1.0' };
