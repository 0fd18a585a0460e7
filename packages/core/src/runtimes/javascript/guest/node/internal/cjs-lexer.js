/** Finds the names that a CommonJS module exports. Loaded on first use, because the package compiles large regular expressions. */
// This package exports WebAssembly for `import` and JavaScript for `require`.
const { parse } = require('cjs-module-lexer');

export { parse };
