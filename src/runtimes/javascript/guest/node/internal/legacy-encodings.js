/** Decoders of the encodings other than UTF-8, UTF-16 and windows-1252, which the package decodes with the global TextDecoder. */
export { TextDecoder as LegacyDecoder } from '@exodus/bytes/encoding.js';
