/** The module `perf_hooks` and the global `performance`. */
import { interpreterClock as origin } from '../timers.js';
import { codedError, invalidArgType } from './internal/errors.js';

let timeline = [];
const observers = new Set();

class PerformanceEntry {
  constructor(name, entryType, startTime, duration, detail = undefined) {
    this.name = name;
    this.entryType = entryType;
    this.startTime = startTime;
    this.duration = duration;
    if (entryType === 'mark' || entryType === 'measure') this.detail = detail ?? null;
  }
  toJSON() {
    return { ...this };
  }
}
class PerformanceMark extends PerformanceEntry {}
class PerformanceMeasure extends PerformanceEntry {}

function add(entry) {
  timeline.push(entry);
  for (const observer of observers) observer.add(entry);
  return entry;
}

function timeOf(mark, fallback) {
  if (mark === undefined) return fallback;
  if (typeof mark === 'number') return mark;
  const found = timeline.findLast((entry) => entry.entryType === 'mark' && entry.name === mark);
  if (found === undefined)
    throw new DOMException(`The "${mark}" performance mark has not been set`, 'SyntaxError');
  return found.startTime;
}

export const performance = {
  now: () => origin.now(),
  get timeOrigin() {
    return Date.now() - origin.now();
  },
  mark(name, options = {}) {
    return add(new PerformanceMark(`${name}`, 'mark', options.startTime ?? origin.now(), 0, options.detail));
  },
  measure(name, startOrOptions = undefined, endMark = undefined) {
    const options =
      typeof startOrOptions === 'object' && startOrOptions !== null
        ? startOrOptions
        : { start: startOrOptions, end: endMark };
    const end =
      options.end === undefined && options.duration !== undefined
        ? timeOf(options.start, 0) + options.duration
        : timeOf(options.end, origin.now());
    const from =
      options.start === undefined && options.duration !== undefined
        ? end - options.duration
        : timeOf(options.start, 0);
    return add(new PerformanceMeasure(`${name}`, 'measure', from, end - from, options.detail));
  },
  clearMarks: (name = undefined) => {
    timeline = timeline.filter(
      (entry) => entry.entryType !== 'mark' || (name !== undefined && entry.name !== name),
    );
  },
  clearMeasures: (name = undefined) => {
    timeline = timeline.filter(
      (entry) => entry.entryType !== 'measure' || (name !== undefined && entry.name !== name),
    );
  },
  getEntries: () => [...timeline].sort((a, b) => a.startTime - b.startTime),
  getEntriesByName: (name, type = undefined) =>
    performance
      .getEntries()
      .filter((entry) => entry.name === name && (type === undefined || entry.entryType === type)),
  getEntriesByType: (type) => performance.getEntries().filter((entry) => entry.entryType === type),
  timerify(action) {
    if (typeof action !== 'function') throw invalidArgType('fn', 'function', action);
    return function timerified(...args) {
      const from = origin.now();
      const value = new.target ? Reflect.construct(action, args, new.target) : action.apply(this, args);
      add(new PerformanceEntry(action.name, 'function', from, origin.now() - from));
      return value;
    };
  },
  eventLoopUtilization: () => ({ idle: 0, active: 0, utilization: 0 }),
  toJSON: () => ({ timeOrigin: performance.timeOrigin }),
};
Object.defineProperty(performance, Symbol.toStringTag, { value: 'Performance', configurable: true });

class PerformanceObserver {
  #callback;
  #types = [];
  #entries = [];
  constructor(callback) {
    if (typeof callback !== 'function') throw invalidArgType('callback', 'function', callback);
    this.#callback = callback;
  }
  static get supportedEntryTypes() {
    return ['function', 'mark', 'measure'];
  }
  observe({ entryTypes, type }) {
    this.#types = entryTypes ?? [type];
    observers.add(this);
  }
  disconnect() {
    observers.delete(this);
  }
  takeRecords() {
    return this.#entries.splice(0);
  }
  add(entry) {
    if (!this.#types.includes(entry.entryType)) return;
    this.#entries.push(entry);
    if (this.#entries.length > 1) return;
    globalThis.setImmediate(() => {
      const entries = this.takeRecords();
      const list = {
        getEntries: () => entries,
        getEntriesByName: (name) => entries.filter((one) => one.name === name),
        getEntriesByType: (type) => entries.filter((one) => one.entryType === type),
      };
      if (entries.length > 0) this.#callback(list, this);
    });
  }
}

const refused = (name) => () => {
  throw codedError(
    Error,
    'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM',
    `perf_hooks.${name} is not available in the sandbox. Use an array of the values of performance.now().`,
  );
};

export default {
  performance,
  PerformanceEntry,
  PerformanceMark,
  PerformanceMeasure,
  PerformanceObserver,
  createHistogram: refused('createHistogram'),
  monitorEventLoopDelay: refused('monitorEventLoopDelay'),
  constants: { NODE_PERFORMANCE_GC_MAJOR: 4, NODE_PERFORMANCE_GC_MINOR: 1 },
};
