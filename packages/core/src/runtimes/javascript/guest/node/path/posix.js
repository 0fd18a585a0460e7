/** The module `path/posix`. */
export { default } from '../path.js';
