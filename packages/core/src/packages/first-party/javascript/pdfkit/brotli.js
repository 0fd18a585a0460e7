/** The decompression of Brotli for fontkit, which does not get fonts that need it. */
export default undefined;
