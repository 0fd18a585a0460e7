/** The package temporal-polyfill, which temporal.js loads. */
export { Temporal } from 'temporal-polyfill/implementation';
