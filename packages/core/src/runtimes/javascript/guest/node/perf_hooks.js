/** The module `perf_hooks` and the global `performance`. */
import { defineTag } from '../define.js';
import { interpreterClock as origin } from '../timers.js';
import { unavailable } from './internal/errors.js';

let timeline = [];

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
  return entry;
}

function clear(type, name) {
  timeline = timeline.filter(
    (entry) => entry.entryType !== type || (name !== undefined && entry.name !== name),
  );
}

function timeOf(mark, fallback) {
  if (mark === undefined) return fallback;
  if (typeof mark === 'number') return mark;
  const found = timeline.findLast((entry) => entry.entryType === 'mark' && entry.name === mark);
  if (found === undefined)
    throw new DOMException(`The "${mark}" performance mark has not been set`, 'SyntaxError');
  return found.startTime;
}

const refused = (name, instead) => () => {
  throw unavailable(`perf_hooks.${name} is not available in the sandbox. Use ${instead}.`);
};
const TIMES = 'an array of the values of performance.now()';

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
  clearMarks: (name) => clear('mark', name),
  clearMeasures: (name) => clear('measure', name),
  getEntries: () => [...timeline].sort((a, b) => a.startTime - b.startTime),
  getEntriesByName: (name, type = undefined) =>
    performance
      .getEntries()
      .filter((entry) => entry.name === name && (type === undefined || entry.entryType === type)),
  getEntriesByType: (type) => performance.getEntries().filter((entry) => entry.entryType === type),
  timerify: refused('performance.timerify', TIMES),
  eventLoopUtilization: () => ({ idle: 0, active: 0, utilization: 0 }),
  toJSON: () => ({ timeOrigin: performance.timeOrigin }),
};
defineTag(performance, 'Performance');

export default {
  performance,
  PerformanceEntry,
  PerformanceMark,
  PerformanceMeasure,
  PerformanceObserver: refused('PerformanceObserver', 'performance.getEntriesByType()'),
  createHistogram: refused('createHistogram', TIMES),
  monitorEventLoopDelay: refused('monitorEventLoopDelay', TIMES),
  constants: { NODE_PERFORMANCE_GC_MAJOR: 4, NODE_PERFORMANCE_GC_MINOR: 1 },
};
