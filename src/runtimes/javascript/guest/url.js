/** URL and URLSearchParams of the WHATWG standard; they come from core-js, as a part of the bundle. */
export { default as URL } from 'core-js-pure/actual/url';
export { default as URLSearchParams } from 'core-js-pure/actual/url-search-params';
