/** The decoder of all encodings, with the tables of those of East Asia, which are large. */
export { TextDecoder } from '@exodus/bytes/encoding.js';
