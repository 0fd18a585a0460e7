/** The module `path/win32`. */
export { win32 as default } from '../path.js';
