/** The parsers of the guest languages. The build bundles this file, so that threads load one file, and only on demand. */
exports.javascript = require('@lezer/javascript').parser;
exports.python = require('@lezer/python').parser;
