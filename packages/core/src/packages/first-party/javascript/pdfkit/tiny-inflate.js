/** The module `tiny-inflate`, with the decompression of the host. */
module.exports = (data, output) => {
  output.set(require('node:zlib').inflateRawSync(data, { maxOutputLength: output.length }));
  return output;
};
