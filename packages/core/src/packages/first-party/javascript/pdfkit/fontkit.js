/** The module `fontkit` for pdfkit, loaded on first use. WOFF2 fonts need the dictionary of Brotli, which has 120 KB. */
const WOFF2_TAG = 'wOF2';

export function create(data, name) {
  if (String.fromCharCode(...data.subarray(0, 4)) === WOFF2_TAG)
    throw new Error(
      'WOFF2 fonts are not supported: convert the font to TTF, OTF or WOFF outside the sandbox',
    );
  return require('fontkit').create(data, name);
}
