/** URL and URLSearchParams of the WHATWG standard, from core-js. */
export { default as URL } from 'core-js-pure/actual/url';
export { default as URLSearchParams } from 'core-js-pure/actual/url-search-params';
