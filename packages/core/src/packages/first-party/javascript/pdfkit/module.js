/** The module `module` for pdfkit, which loads the metrics of each standard font with `require` on first use. */
const FONTS = {
  '#standard-fonts/Courier': () => require('pdfkit/standard-fonts/Courier'),
  '#standard-fonts/CourierBold': () => require('pdfkit/standard-fonts/CourierBold'),
  '#standard-fonts/CourierBoldOblique': () => require('pdfkit/standard-fonts/CourierBoldOblique'),
  '#standard-fonts/CourierOblique': () => require('pdfkit/standard-fonts/CourierOblique'),
  '#standard-fonts/Helvetica': () => require('pdfkit/standard-fonts/Helvetica'),
  '#standard-fonts/HelveticaBold': () => require('pdfkit/standard-fonts/HelveticaBold'),
  '#standard-fonts/HelveticaBoldOblique': () => require('pdfkit/standard-fonts/HelveticaBoldOblique'),
  '#standard-fonts/HelveticaOblique': () => require('pdfkit/standard-fonts/HelveticaOblique'),
  '#standard-fonts/TimesRoman': () => require('pdfkit/standard-fonts/TimesRoman'),
  '#standard-fonts/TimesBold': () => require('pdfkit/standard-fonts/TimesBold'),
  '#standard-fonts/TimesBoldItalic': () => require('pdfkit/standard-fonts/TimesBoldItalic'),
  '#standard-fonts/TimesItalic': () => require('pdfkit/standard-fonts/TimesItalic'),
  '#standard-fonts/Symbol': () => require('pdfkit/standard-fonts/Symbol'),
  '#standard-fonts/ZapfDingbats': () => require('pdfkit/standard-fonts/ZapfDingbats'),
};

export const createRequire = () => (name) => FONTS[name]();
