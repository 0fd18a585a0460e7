/** The module `module`. */
export { Module as default } from './internal/commonjs.js';
