/** The module `timers`. */
import * as timers from '../timers.js';
import promises from './timers/promises.js';

const { setTimeout, setInterval, setImmediate, clearTimeout } = timers;

export default {
  setTimeout,
  clearTimeout,
  setImmediate,
  clearImmediate: clearTimeout,
  setInterval,
  clearInterval: clearTimeout,
  promises,
};
