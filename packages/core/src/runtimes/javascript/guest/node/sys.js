/** The module `sys`, an old name of `util`. */
export { default } from './util.js';
