/** Decoders of the encodings other than UTF-8, UTF-16 and windows-1252, which the package decodes with the global TextDecoder. */
import { normalizeEncoding, TextDecoder } from '@exodus/bytes/encoding-lite.js';
import { load } from '../../node-modules.js';

const EAST_ASIAN = ['big5', 'euc-jp', 'euc-kr', 'gb18030', 'gbk', 'iso-2022-jp', 'shift_jis'];

export function createDecoder(label, options) {
  const isEastAsian = EAST_ASIAN.includes(normalizeEncoding(label));
  const Decoder = isEastAsian ? load('node:internal/east-asian-encodings').TextDecoder : TextDecoder;
  return new Decoder(label, options);
}
